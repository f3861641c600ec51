//! Operation keys: what is a key, what repeating one means, and what looking one up proves.

use retort::words::{Next, Outcome};
use retort::{reconcile, strings};

use super::{assert_lines, evaluate, line};

#[test]
fn a_key_is_1_to_256_visible_ascii_characters() {
    let published = |key: &str| {
        let report = format!(
            r#"{{"error": {{"condition": "CONNECTION_LOST"}}, "operation": {{"phase": "execute", "transaction": "none", "operation_key": {key}}}}}"#
        );
        let verdict = evaluate(&report);
        (verdict.envelope.operation_key().map(str::len), verdict.decision.action)
    };
    let longest = format!("\"{}\"", "k".repeat(256));
    let too_long = format!("\"{}\"", "k".repeat(257));
    let every_visible: String = (b'!'..=b'~').map(char::from).filter(|c| !"\"\\".contains(*c)).collect();
    let every_visible = format!("\"{every_visible}\"");
    let kept = |length| (Some(length), Next::Reconcile);
    assert_eq!(published(r#""k""#), kept(1));
    assert_eq!(published(&longest), kept(256));
    assert_eq!(published(&every_visible), kept(92));
    let dropped = (None, Next::Escalate);
    for no_key in [&too_long, r#""""#, r#""a b""#, r#""ä""#, r#""a\nb""#, "7", "null", r#""\u007f""#] {
        assert_eq!(published(no_key), dropped, "{no_key}");
    }
}

#[test]
fn the_same_key_with_another_payload_is_refused_whatever_became_of_the_first() {
    assert_lines(&[
        (
            r#"{"error": {"condition": "KEY_REUSED"}, "operation": {"phase": "validate", "operation_key": "k-1", "dedupe": "enforced"}}"#,
            "KEY_REUSED conflict not_started final fix | operation none not_transient",
        ),
        (
            r#"{"error": {"condition": "KEY_REUSED"}, "operation": {"phase": "execute", "transaction": "none", "operation_key": "k-1", "dedupe": "enforced"}}"#,
            "KEY_REUSED conflict not_committed final fix | operation none not_transient",
        ),
    ]);
    let reconciled = reconcile_line(
        r#"{"envelope": {"code": "OUTCOME_UNKNOWN", "outcome": "unknown", "operation_key": "k-1"}, "receipt": "committed", "payload_differs": true}"#,
    );
    assert_eq!(reconciled, "KEY_REUSED conflict not_started final fix | operation none not_transient");
}

#[test]
fn a_key_in_flight_is_looked_up_later_and_not_repeated() {
    let verdict = evaluate(
        r#"{"error": {"condition": "IN_PROGRESS"}, "operation": {"phase": "execute", "transaction": "none", "operation_key": "k-1", "dedupe": "enforced"}}"#,
    );
    assert_eq!(
        line(&verdict),
        "IN_PROGRESS unknown_outcome unknown final reconcile | operation none in_flight"
    );
    assert!(verdict.envelope.check_after_ms().is_some_and(|delay| (100..=200).contains(&delay)));
    assert_eq!(verdict.envelope.retry_after_ms(), None);
}

#[test]
fn an_enforced_key_is_resubmitted_and_an_expired_one_is_not() {
    let expiring = |left: &str| {
        format!(
            r#"{{"error": {{"condition": "CONNECTION_LOST"}}, "attempt": {{"expected_ms": 50}},
                "operation": {{"phase": "execute", "transaction": "none", "operation_key": "k-1", "dedupe": "enforced", "key_expires_ms": {left}}}}}"#
        )
    };
    let resubmitted =
        "CONNECTION_LOST transient unknown retryable resubmit | operation discard_connection repeatable";
    let refused = "OUTCOME_UNKNOWN unknown_outcome unknown final reconcile | operation discard_connection";
    assert_eq!(line(&evaluate(&expiring("null"))), resubmitted);
    assert_eq!(line(&evaluate(&expiring("86400000"))), resubmitted);
    assert_eq!(line(&evaluate(&expiring("150"))), format!("{refused} key_expired"));
    assert_eq!(line(&evaluate(&expiring("0"))), format!("{refused} outcome_unknown"));
}

#[test]
fn a_key_without_enforcement_is_looked_up() {
    for dedupe in ["none", "receipt", "perhaps"] {
        let report = format!(
            r#"{{"error": {{"condition": "CONNECTION_LOST"}}, "operation": {{"phase": "execute", "transaction": "none", "operation_key": "k-1", "dedupe": "{dedupe}"}}}}"#
        );
        assert_eq!(
            line(&evaluate(&report)),
            "OUTCOME_UNKNOWN unknown_outcome unknown final reconcile | operation discard_connection outcome_unknown",
            "{dedupe}"
        );
    }
}

#[test]
fn a_server_that_does_not_know_itself_is_asked_again_instead_of_resubmitted() {
    assert_lines(&[(
        r#"{"error": {"condition": "OUTCOME_UNKNOWN"}, "operation": {"phase": "execute", "transaction": "none", "operation_key": "k-1", "dedupe": "enforced"}}"#,
        "OUTCOME_UNKNOWN unknown_outcome unknown final reconcile | operation none outcome_unknown",
    )]);
}

fn reconcile_line(reconciliation: &str) -> String {
    line(&retort::evaluate(&reconcile::read(reconciliation)))
}

/// What a look-up makes of an attempt whose outcome is unknown.
fn looked_up(receipt: &str, fenced: bool) -> String {
    reconcile_line(&format!(
        r#"{{"envelope": {{"code": "OUTCOME_UNKNOWN", "category": "unknown_outcome", "outcome": "unknown", "operation_key": "k-1", "trace_id": "t-1"}},
            "operation": {{"dedupe": "receipt"}}, "receipt": "{receipt}", "fenced": {fenced}}}"#
    ))
}

#[test]
fn a_receipt_says_that_the_write_is_there() {
    let applied = "ALREADY_APPLIED permanent committed final done | operation discard_connection committed";
    assert_eq!([looked_up("committed", false), looked_up("committed", true)], [applied, applied]);
}

#[test]
fn an_absent_receipt_counts_only_behind_a_fence() {
    assert_eq!(
        looked_up("absent", false),
        "OUTCOME_UNKNOWN unknown_outcome unknown final reconcile | operation discard_connection outcome_unknown"
    );
    assert_eq!(
        looked_up("absent", true),
        "CONNECTION_LOST transient not_committed retryable retry | operation discard_connection no_effect"
    );
}

#[test]
fn a_pending_receipt_is_looked_up_again_even_behind_a_fence() {
    let pending =
        "IN_PROGRESS unknown_outcome unknown final reconcile | operation discard_connection in_flight";
    assert_eq!([looked_up("pending", false), looked_up("pending", true)], [pending, pending]);
}

#[test]
fn an_expired_or_unavailable_receipt_proves_nothing() {
    let unknown = "OUTCOME_UNKNOWN unknown_outcome unknown final reconcile | operation discard_connection outcome_unknown";
    for receipt in ["expired", "unavailable", "none", "perhaps"] {
        assert_eq!([looked_up(receipt, false), looked_up(receipt, true)], [unknown, unknown], "{receipt}");
    }
}

#[test]
fn a_violation_of_the_keys_own_constraint_is_the_key_doing_its_work() {
    let violated = |constraint: &str, named: &str| {
        let report = format!(
            r#"{{"error": {{"name": "error", "severity": "ERROR", "code": "23505", "constraint": "{constraint}", "message": "duplicate key value violates unique constraint \"{constraint}\""}},
                "system": "postgresql", "operation": {{"phase": "execute", "transaction": "open", "operation_key": "k-1", "dedupe": "receipt", "key_constraint": "{named}"}}}}"#
        );
        line(&evaluate(&report))
    };
    assert_eq!(
        violated("receipts_pkey", "receipts_pkey"),
        "ALREADY_APPLIED permanent committed final done | operation rollback committed"
    );
    assert_eq!(
        violated("stock_name_key", "receipts_pkey"),
        "UNIQUE_VIOLATION conflict not_committed final fix | operation rollback not_transient"
    );
}

#[test]
fn what_cannot_be_read_as_an_earlier_verdict_stays_unknown() {
    for text in
        ["", "[]", "{}", r#"{"envelope": {"code": "NO_SUCH_CODE"}, "receipt": "absent", "fenced": true}"#]
    {
        let verdict = retort::evaluate(&reconcile::read(text));
        assert_eq!(
            (verdict.envelope.outcome(), verdict.envelope.retryable()),
            (Outcome::Unknown, false),
            "{text}"
        );
        assert!(strings::reconcile(text).contains(r#""outcome":"unknown""#), "{text}");
    }
}
