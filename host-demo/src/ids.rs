//! Identifiers that a host mints.

/// A random trace id in the form of W3C trace context: 32 hex digits.
pub fn trace_id() -> String {
    let mut bytes = [0; 16];
    match getrandom::fill(&mut bytes) {
        Ok(()) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        // Without a source of randomness it is the invalid id of W3C trace context, which finds nothing.
        Err(_) => "0".repeat(32),
    }
}

/// A random number for a report's `seed`; without a source of randomness there is no jitter.
pub fn seed() -> u32 {
    getrandom::u32().unwrap_or_default()
}
