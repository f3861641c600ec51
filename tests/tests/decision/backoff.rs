//! The delays: their bounds, their spread, and what they depend on.

use retort::codes::{Code, Lasting};
use retort::report::{Report, Token};

use super::evaluate;

/// The delay of a read that met a condition.
fn delay(condition: &str, number: u32, seed: u32, policy: &str) -> u32 {
    let report = format!(
        r#"{{"error": {{"condition": "{condition}"}}, "operation": {{"effect": "read", "phase": "execute"}},
            "attempt": {{"number": {number}, "max": 99}}, "policy": {policy}, "seed": {seed}, "context": {{"operation_id": "op-1"}}}}"#
    );
    evaluate(&report).envelope.retry_after_ms().expect("the condition passes")
}

/// How many of the seeds fall into each of ten equal parts of the bounds.
fn spread(condition: &str, number: u32, bounds: (u32, u32)) -> [u32; 10] {
    let mut buckets = [0; 10];
    for seed in 0..10_000 {
        let delay = delay(condition, number, seed, "{}");
        assert!(
            (bounds.0..=bounds.1).contains(&delay),
            "{condition} {number}: {delay} is outside {bounds:?}"
        );
        let width = bounds.1 - bounds.0 + 1;
        buckets[((delay - bounds.0) * 10 / width) as usize] += 1;
    }
    buckets
}

#[test]
fn half_of_every_delay_is_fixed_and_half_evenly_spread() {
    for (condition, number, bounds) in [
        ("DEADLOCK", 1, (100, 200)),
        ("DEADLOCK", 2, (200, 400)),
        ("DEADLOCK", 5, (1_600, 3_200)),
        ("CONNECTION_LOST", 1, (200, 400)),
        ("RATE_LIMITED", 1, (1_000, 2_000)),
        ("RATE_LIMITED", 4, (8_000, 16_000)),
        ("RATE_LIMITED", 9, (10_000, 20_000)),
        ("DEADLOCK", 60, (10_000, 20_000)),
    ] {
        let buckets = spread(condition, number, bounds);
        println!("{condition} attempt {number}: {bounds:?} ms, {buckets:?}");
        // A tenth of 10,000 is 1,000. The bounds' width is no multiple of ten, so a part may hold a tenth more.
        assert!(
            buckets.iter().all(|count| (850..=1_150).contains(count)),
            "{condition} {number}: {buckets:?}"
        );
    }
}

#[test]
fn conditions_that_last_longer_start_higher() {
    let first = |code: &Code| match code.lasting() {
        Lasting::Short => 100..=200,
        Lasting::Medium => 200..=400,
        Lasting::Long => 1_000..=2_000,
    };
    let mut kinds = 0;
    for code in Code::ALL.iter().filter(|code| code.is_transient()) {
        let delay = delay(code.as_str(), 1, 77, "{}");
        assert!(first(code).contains(&delay), "{}: {delay}", code.as_str());
        kinds += 1;
    }
    assert_eq!(kinds, 14, "every code that passes by itself");
    let lasting = |codes: &[Code], lasting| codes.iter().all(|code| code.lasting() == lasting);
    assert!(lasting(
        &[Code::LockTimeout, Code::Deadlock, Code::SerializationFailure, Code::PoolBusy],
        Lasting::Short
    ));
    assert!(lasting(&[Code::ConnectionFailed, Code::ConnectionLost, Code::DbTimeout], Lasting::Medium));
    assert!(lasting(
        &[Code::RateLimited, Code::NotPrimary, Code::DbUnavailable, Code::TooManyConnections],
        Lasting::Long
    ));
}

#[test]
fn the_delay_stays_between_base_and_cap() {
    for (policy, bounds) in [
        (r#"{"base_ms": 10, "cap_ms": 25}"#, 10..=25),
        (r#"{"base_ms": 1, "cap_ms": 1}"#, 1..=1),
        (r#"{"base_ms": 0, "cap_ms": 0}"#, 1..=1),
        (r#"{"base_ms": 700, "cap_ms": 1000}"#, 700..=1000),
        (r#"{"base_ms": 5000, "cap_ms": 300}"#, 300..=300),
        (r#"{"base_ms": 4294967295, "cap_ms": 4294967295}"#, 4_294_967_295..=4_294_967_295),
    ] {
        for number in [1, 2, 31, 32, 98] {
            for seed in 0..200 {
                let delay = delay("DEADLOCK", number, seed, policy);
                assert!(bounds.contains(&delay), "{policy} {number} {seed}: {delay}");
            }
        }
    }
}

#[test]
fn the_delay_is_made_of_seed_operation_and_attempt_alone() {
    let of = |seed, operation: Option<&str>, trace: &str, tool: &str| {
        let mut report =
            Report::read(r#"{"error": {"condition": "RATE_LIMITED"}, "operation": {"effect": "read"}}"#);
        report.seed = seed;
        report.context.operation_id = operation.and_then(Token::identifier);
        report.context.trace_id = Token::identifier(trace);
        report.context.tool = Token::identifier(tool);
        retort::evaluate(&report).decision.delay_ms
    };
    let one = of(1, Some("op-1"), "t-1", "orders");
    assert_eq!(one, of(1, Some("op-1"), "t-2", "stock"));
    assert_ne!(one, of(2, Some("op-1"), "t-1", "orders"));
    assert_ne!(one, of(1, Some("op-2"), "t-1", "orders"));
    assert_ne!(one, of(1, None, "t-1", "orders"));
}
