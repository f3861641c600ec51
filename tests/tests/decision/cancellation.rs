//! Who cancels does not want a repetition; what became of the write depends on when the cancel came, and on whether
//! the server confirmed it.

use super::assert_lines;

#[test]
fn a_cancel_before_execution_leaves_nothing_behind() {
    assert_lines(&[
        (
            r#"{"error": {"condition": "CANCELLED"}, "cancel": "confirmed", "operation": {"phase": "acquire"}}"#,
            "CANCELLED permanent not_started final stop | operation none not_transient",
        ),
        (
            r#"{"error": {"condition": "CANCELLED"}, "cancel": "requested", "operation": {"effect": "read", "phase": "validate"}}"#,
            "CANCELLED permanent not_started final stop | operation none not_transient",
        ),
        (
            r#"{"error": {"condition": "POOL_BUSY"}, "cancel": "requested", "operation": {"phase": "acquire"}}"#,
            "CANCELLED permanent not_started final stop | operation none not_transient",
        ),
        (
            r#"{"error": {"condition": "CANCELLED"}, "cancel": "failed", "operation": {"phase": "connect"}}"#,
            "CANCELLED permanent not_started final stop | operation none not_transient",
        ),
    ]);
}

#[test]
fn a_confirmed_cancel_undoes_what_one_statement_did() {
    let cancelled = |operation: &str| {
        format!(
            r#"{{"error": {{"code": "57014", "severity": "ERROR", "message": "canceling statement due to user request"}}, "system": "postgresql", "cancel": "confirmed", "operation": {operation}}}"#
        )
    };
    let rows = [
        (
            r#"{"phase": "execute", "transaction": "none"}"#,
            "CANCELLED permanent not_committed final stop | operation none not_transient",
        ),
        (
            r#"{"phase": "execute", "transaction": "open"}"#,
            "CANCELLED permanent not_committed final stop | operation rollback not_transient",
        ),
        (
            r#"{"phase": "execute", "transaction": "none", "unit": "batch"}"#,
            "PARTIAL_OUTCOME unknown_outcome unknown final escalate | operation none outcome_unknown",
        ),
        (
            r#"{"effect": "read", "phase": "fetch", "transaction": "none"}"#,
            "CANCELLED permanent not_committed final stop | operation none not_transient",
        ),
    ];
    let reports: Vec<String> = rows.iter().map(|(operation, _)| cancelled(operation)).collect();
    let rows: Vec<(&str, &str)> =
        reports.iter().zip(&rows).map(|(report, (_, line))| (report.as_str(), *line)).collect();
    assert_lines(&rows);
}

#[test]
fn a_confirmed_cancel_says_nothing_about_commit() {
    assert_lines(&[
        (
            r#"{"error": {"condition": "CANCELLED"}, "cancel": "confirmed", "operation": {"phase": "commit", "transaction": "committing"}}"#,
            "OUTCOME_UNKNOWN unknown_outcome unknown final escalate | operation discard_connection outcome_unknown",
        ),
        (
            r#"{"error": {"condition": "CANCELLED"}, "cancel": "confirmed", "operation": {"phase": "commit", "transaction": "committing", "operation_key": "k-1"}}"#,
            "OUTCOME_UNKNOWN unknown_outcome unknown final reconcile | operation discard_connection outcome_unknown",
        ),
    ]);
}

#[test]
fn an_unconfirmed_cancel_leaves_a_write_in_doubt_and_its_statement_running() {
    assert_lines(&[
        (
            r#"{"error": {"condition": "CANCELLED"}, "cancel": "requested", "operation": {"phase": "execute", "transaction": "none"}}"#,
            "OUTCOME_UNKNOWN unknown_outcome unknown final escalate | operation cancel_then_discard outcome_unknown",
        ),
        (
            r#"{"error": {"condition": "CANCELLED"}, "cancel": "requested", "operation": {"phase": "execute", "transaction": "none", "operation_key": "k-1", "dedupe": "receipt"}}"#,
            "OUTCOME_UNKNOWN unknown_outcome unknown final reconcile | operation cancel_then_discard outcome_unknown",
        ),
        (
            r#"{"error": {"condition": "CANCELLED"}, "cancel": "requested", "operation": {"phase": "execute", "transaction": "open"}}"#,
            "CANCELLED permanent not_committed final stop | operation cancel_then_discard not_transient",
        ),
        (
            r#"{"error": {"condition": "DB_TIMEOUT"}, "cancel": "requested", "operation": {"effect": "read", "phase": "execute"}}"#,
            "CANCELLED permanent not_committed final stop | operation cancel_then_discard not_transient",
        ),
        (
            r#"{"error": {"condition": "CANCELLED"}, "cancel": "perhaps", "operation": {"phase": "execute", "transaction": "none"}}"#,
            "OUTCOME_UNKNOWN unknown_outcome unknown final escalate | operation cancel_then_discard outcome_unknown",
        ),
    ]);
}

#[test]
fn a_failed_cancel_is_as_doubtful_as_an_unconfirmed_one() {
    assert_lines(&[
        (
            r#"{"error": {"condition": "CANCELLED"}, "cancel": "failed", "operation": {"phase": "execute", "transaction": "none"}}"#,
            "OUTCOME_UNKNOWN unknown_outcome unknown final escalate | operation cancel_then_discard outcome_unknown",
        ),
        (
            r#"{"error": {"condition": "CANCELLED"}, "cancel": "failed", "operation": {"effect": "idempotent_write", "phase": "execute", "transaction": "none"}}"#,
            "OUTCOME_UNKNOWN unknown_outcome unknown final escalate | operation cancel_then_discard outcome_unknown",
        ),
        (
            r#"{"error": {"condition": "CANCELLED"}, "cancel": "failed", "operation": {"effect": "read", "phase": "execute"}}"#,
            "CANCELLED permanent not_committed final stop | operation cancel_then_discard not_transient",
        ),
    ]);
}

// A cancel that comes late may hit whoever uses the connection next, so it is not used again.
#[test]
fn a_cancel_during_delivery_does_not_undo_the_write() {
    assert_lines(&[
        (
            r#"{"error": {"condition": "CANCELLED"}, "cancel": "requested", "operation": {"phase": "done", "transaction": "committed"}}"#,
            "RESULT_LOST permanent committed final done | operation cancel_then_discard committed",
        ),
        (
            r#"{"error": {"condition": "CANCELLED"}, "cancel": "confirmed", "operation": {"phase": "fetch", "transaction": "committed"}}"#,
            "RESULT_LOST permanent committed final done | operation discard_connection committed",
        ),
        (
            r#"{"error": {"condition": "CANCELLED"}, "cancel": "requested", "operation": {"effect": "read", "phase": "done"}}"#,
            "CANCELLED permanent not_committed final stop | operation cancel_then_discard not_transient",
        ),
    ]);
}
