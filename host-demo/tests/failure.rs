//! Verdicts as errors of Rust: one class per kind, and nothing of the driver's text in any of them.

use std::error::Error as _;
use std::sync::LazyLock;

use retort_host::{Component, Contract, Envelope, Failure, Native, Options};
use serde_json::{Value, json};

/// A word that only the driver's error holds.
const SECRET: &str = "zanzibar";

static COMPONENT: LazyLock<Component> =
    LazyLock::new(|| Component::load(None, Options::default()).expect("the component"));

/// The failure, checked by both implementations to be the same.
fn check(error: &Value, operation: &Value) -> Failure {
    let context = json!({ "trace_id": "t-1", "authorized": true });
    let report = json!({ "error": error, "operation": operation, "context": context }).to_string();
    let failure = Native.check(&report);
    assert_eq!(COMPONENT.check(&report), failure);
    failure
}

#[test]
fn each_category_has_its_class() {
    type Class = fn(Envelope) -> Failure;
    let cases: [(&str, Value, Class); 8] = [
        ("NOT_AUTHORIZED", json!({ "phase": "execute" }), Failure::Auth),
        ("CREDENTIALS_REJECTED", json!({ "phase": "connect" }), Failure::Auth),
        ("NOT_FOUND", json!({ "phase": "execute" }), Failure::NotFound),
        ("INVALID_ARGUMENT", json!({ "phase": "validate" }), Failure::Query),
        ("DB_TIMEOUT", json!({ "phase": "execute", "effect": "read" }), Failure::Query),
        ("DB_TIMEOUT", json!({ "phase": "execute", "transaction": "none" }), Failure::UnknownOutcome),
        ("OUTCOME_UNKNOWN", json!({ "phase": "execute" }), Failure::UnknownOutcome),
        ("STORAGE_FULL", json!({ "phase": "execute", "transaction": "open" }), Failure::Query),
    ];
    for (condition, operation, class) in cases {
        let failure = check(&json!({ "condition": condition }), &operation);
        assert_eq!(class(failure.envelope().clone()), failure, "{condition}");
    }
}

#[test]
fn a_conflict_names_its_code_and_its_place_in_the_batch() {
    let error = json!({ "code": "23505", "message": format!("Key (name)=({SECRET}) already exists.") });
    let failure = check(&error, &json!({ "phase": "execute", "transaction": "open", "op_index": 3 }));
    let Failure::Conflict { code, op_index, envelope } = failure else { panic!("{failure}") };
    assert_eq!((code.as_str(), op_index), ("UNIQUE_VIOLATION", Some(3)));
    assert_eq!((envelope.outcome.as_str(), envelope.trace_id.as_str()), ("not_committed", "t-1"));
}

#[test]
fn a_failure_holds_nothing_of_the_drivers_text() {
    for code in ["23505", "28P01", "42P01", "57014", "08006", "XX999"] {
        let error =
            json!({ "code": code, "message": SECRET, "detail": SECRET, "cause": { "message": SECRET } });
        let failure = check(&error, &json!({ "statement": format!("INSERT INTO {SECRET} VALUES (1)") }));
        assert_eq!(
            failure.to_string(),
            format!("{}: {}", failure.envelope().code, failure.envelope().message)
        );
        assert!(!format!("{failure:?}").contains(SECRET), "{code}");
        assert!(failure.source().is_none());
    }
}

#[test]
fn what_is_no_verdict_is_an_unknown_outcome() {
    for text in ["", "{}", "[]", r#"{"envelope": 1}"#] {
        let failure = Failure::of_verdict(text);
        assert_eq!(failure, Failure::UnknownOutcome(Envelope::default()));
        assert!(!failure.envelope().retryable);
    }
}
