//! The search for secrets in what is published.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use retort::codes::Code;
use retort::strings;
use retort::systems::System;
use serde_json::Value;

/// Pieces of a secret from this many characters on count as leaks.
const PIECE: usize = 8;

/// The public texts of a verdict: envelope and attempt record.
pub fn public_text(verdict: &Value) -> String {
    format!("{}\n{}", verdict["envelope"], verdict["attempt"])
}

/// What of the secrets is in a public text: whole, in another case, JSON-escaped, in base64, or a piece of it.
///
/// `known` is text that may be published whatever the error says: the host's own identifiers.
pub fn leaks(public: &str, secrets: &[String], known: &str) -> Vec<String> {
    let public = public.to_lowercase();
    let known = format!("{}\n{}", vocabulary(), known.to_lowercase());
    let mut found: Vec<String> = secrets
        .iter()
        .flat_map(|secret| needles(secret))
        .filter(|needle| public.contains(needle) && !known.contains(needle))
        .collect();
    found.dedup();
    found
}

/// What must not be found of one secret, in lower case.
fn needles(secret: &str) -> Vec<String> {
    let escaped = serde_json::json!(secret).to_string();
    let forms = [secret, escaped.trim_matches('"')].map(str::to_lowercase);
    let pieces = forms.iter().flat_map(|form| {
        let letters: Vec<char> = form.chars().collect();
        let size = PIECE.min(letters.len());
        letters.windows(size.max(1)).map(|piece| piece.iter().collect()).collect::<Vec<String>>()
    });
    // Base64 of three alignments; the first and last characters depend on what stands beside.
    let encoded = (0..3).flat_map(|shift| {
        let bytes = [&b"   "[..shift], secret.as_bytes()].concat();
        [STANDARD.encode(&bytes), URL_SAFE.encode(&bytes)].into_iter().filter_map(move |text| {
            let text = text.trim_end_matches('=').to_lowercase();
            let inner = text.get(4..text.len().saturating_sub(2))?;
            (inner.len() >= PIECE).then(|| String::from(inner))
        })
    });
    forms.iter().cloned().chain(pieces).chain(encoded).filter(|needle| needle.chars().count() >= 4).collect()
}

/// All that the contract itself may publish, in lower case: codes with their texts, and the systems' names.
fn vocabulary() -> String {
    let systems: Vec<&str> = System::ALL.iter().map(|system| system.as_str()).collect();
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    let words = "retryable retry_after_ms trace_id operation_key check_after_ms arguments reference outcome category \
                 not_started not_committed committed unknown_outcome db.response.status_code db.system.name retort.";
    format!("{} {} {} {words}", strings::codes(), systems.join(" "), codes.join(" ")).to_lowercase()
}
