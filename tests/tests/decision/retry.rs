//! Whether to try again: every reason, the server's hints, the limits, and how much is repeated.

use retort::decide::budget;
use retort::words::Reason;

use super::{assert_lines, evaluate, line};

/// A report of a condition that passes: a read that met a lock.
fn read_with(attempt: &str) -> String {
    format!(
        r#"{{"error": {{"condition": "LOCK_TIMEOUT"}}, "operation": {{"effect": "read", "phase": "execute", "transaction": "none"}}, "attempt": {attempt}, "seed": 5}}"#
    )
}

const RETRIED: &str = "LOCK_TIMEOUT transient not_committed retryable retry | operation none no_effect";

fn refused(reason: Reason) -> String {
    format!("LOCK_TIMEOUT transient not_committed final stop | operation none {}", reason.as_str())
}

#[test]
fn every_reason_has_its_case() {
    let cases = [
        (Reason::NoEffect, r#"{"error": {"condition": "POOL_BUSY"}, "operation": {"phase": "acquire"}}"#),
        (
            Reason::Repeatable,
            r#"{"error": {"condition": "CONNECTION_LOST"}, "operation": {"effect": "idempotent_write", "phase": "execute", "transaction": "none"}}"#,
        ),
        (
            Reason::NotTransient,
            r#"{"error": {"condition": "UNIQUE_VIOLATION"}, "operation": {"phase": "execute", "transaction": "none"}}"#,
        ),
        (
            Reason::OutcomeUnknown,
            r#"{"error": {"condition": "CONNECTION_LOST"}, "operation": {"phase": "execute", "transaction": "none"}}"#,
        ),
        (Reason::Committed, r#"{"error": {"condition": "CONNECTION_LOST"}, "operation": {"phase": "done"}}"#),
        (
            Reason::InFlight,
            r#"{"error": {"condition": "CONNECTION_LOST"}, "operation": {"phase": "execute", "operation_key": "k-1", "receipt": "pending"}}"#,
        ),
        (
            Reason::Attempts,
            r#"{"error": {"condition": "POOL_BUSY"}, "operation": {"phase": "acquire"}, "attempt": {"number": 3}}"#,
        ),
        (
            Reason::Deadline,
            r#"{"error": {"condition": "POOL_BUSY"}, "operation": {"phase": "acquire"}, "attempt": {"elapsed_ms": 950, "deadline_ms": 1000}}"#,
        ),
        (
            Reason::KeyExpired,
            r#"{"error": {"condition": "CONNECTION_LOST"}, "operation": {"phase": "execute", "operation_key": "k-1", "dedupe": "enforced", "key_expires_ms": 10}}"#,
        ),
        (
            Reason::Budget,
            r#"{"error": {"condition": "POOL_BUSY"}, "operation": {"phase": "acquire"}, "attempt": {"tokens": 4}}"#,
        ),
        (
            Reason::Unrecognised,
            r#"{"error": {"message": "what is this"}, "operation": {"effect": "read", "phase": "execute"}}"#,
        ),
        (Reason::ToolFault, "[]"),
    ];
    assert_eq!(cases.map(|(reason, _)| reason), Reason::ALL, "every word of the closed set, in its order");
    for (reason, report) in cases {
        let verdict = retort::evaluate(&retort::report::Report::read(report));
        assert_eq!(verdict.decision.reason, reason, "{report}");
    }
}

#[test]
fn attempts_end() {
    let left = |attempt: &str| {
        let verdict = evaluate(&read_with(attempt));
        (line(&verdict), verdict.decision.attempts_left)
    };
    assert_eq!(left(r#"{}"#), (RETRIED.into(), 2));
    assert_eq!(left(r#"{"number": 2}"#), (RETRIED.into(), 1));
    assert_eq!(left(r#"{"number": 3}"#), (refused(Reason::Attempts), 0));
    assert_eq!(left(r#"{"number": 3, "max": 5}"#), (RETRIED.into(), 2));
    assert_eq!(left(r#"{"number": 1, "max": 1}"#), (refused(Reason::Attempts), 0));
    assert_eq!(left(r#"{"number": 4294967295}"#), (refused(Reason::Attempts), 0));
}

#[test]
fn a_retry_that_cannot_finish_before_the_deadline_is_refused() {
    let came = |attempt: &str| line(&evaluate(&read_with(attempt)));
    assert_eq!(came(r#"{"elapsed_ms": 0, "deadline_ms": 10000}"#), RETRIED);
    assert_eq!(came(r#"{"elapsed_ms": 9950, "deadline_ms": 10000}"#), refused(Reason::Deadline));
    assert_eq!(
        came(r#"{"elapsed_ms": 0, "deadline_ms": 10000, "expected_ms": 9900}"#),
        refused(Reason::Deadline)
    );
    assert_eq!(came(r#"{"elapsed_ms": 0, "deadline_ms": 10000, "expected_ms": 9000}"#), RETRIED);
    assert_eq!(
        came(r#"{"elapsed_ms": 0, "deadline_ms": 1000, "server_retry_after_ms": 1000}"#),
        refused(Reason::Deadline)
    );
    assert_eq!(came(r#"{"elapsed_ms": "late", "deadline_ms": 10000}"#), refused(Reason::Deadline));
}

#[test]
fn retry_tokens_are_paid_and_run_out() {
    let paid = |report: &str| {
        let verdict = evaluate(report);
        (verdict.envelope.retryable(), verdict.decision.tokens_left)
    };
    assert_eq!(paid(&read_with(r#"{"tokens": 500}"#)), (true, Some(495)));
    assert_eq!(paid(&read_with(r#"{"tokens": 5}"#)), (true, Some(0)));
    assert_eq!(paid(&read_with(r#"{"tokens": 4}"#)), (false, Some(4)));
    assert_eq!(paid(&read_with(r#"{}"#)), (true, None));
    let timeout = |tokens| {
        format!(
            r#"{{"error": {{"condition": "DB_TIMEOUT"}}, "operation": {{"effect": "read"}}, "attempt": {{"tokens": {tokens}}}}}"#
        )
    };
    assert_eq!(paid(&timeout(10)), (true, Some(0)));
    assert_eq!(paid(&timeout(9)), (false, Some(9)));
    assert_eq!(line(&evaluate(&read_with(r#"{"tokens": 4}"#))), refused(Reason::Budget));
}

#[test]
fn the_budget_counts_as_the_contract_says() {
    let events = ["retry", "retry_after_timeout", "success", "holiday"];
    assert_eq!(events.map(|event| budget(250, event, 500)), [245, 240, 251, 250]);
    assert_eq!(events.map(|event| budget(0, event, 500)), [0, 0, 1, 0]);
    assert_eq!(events.map(|event| budget(500, event, 500)), [495, 490, 500, 500]);
    assert_eq!(events.map(|event| budget(900, event, 500)), [500, 500, 500, 500]);
}

#[test]
fn what_outlives_its_retries_is_an_unknown_outcome() {
    for attempt in [r#"{"number": 3}"#, r#"{"tokens": 0}"#, r#"{"elapsed_ms": 990, "deadline_ms": 1000}"#] {
        let report = format!(
            r#"{{"error": {{"condition": "CONNECTION_LOST"}}, "operation": {{"effect": "idempotent_write", "phase": "execute", "transaction": "none"}}, "attempt": {attempt}}}"#
        );
        let came = line(&evaluate(&report));
        assert!(
            came.starts_with("OUTCOME_UNKNOWN unknown_outcome unknown final escalate |"),
            "{attempt}: {came}"
        );
    }
}

#[test]
fn a_servers_own_wait_is_the_least_and_beats_the_cap() {
    let delay = |report: &str| evaluate(report).envelope.retry_after_ms();
    assert_eq!(delay(&read_with(r#"{"server_retry_after_ms": 60000}"#)), Some(60_000));
    assert_eq!(delay(&read_with(r#"{"server_retry_after_ms": 1}"#)), delay(&read_with("{}")));
    for (error, wait) in [
        (r#"{"status": 429, "headers": {"Retry-After": "7"}}"#, 7_000),
        (
            r#"{"error": {"code": 503, "status": "UNAVAILABLE", "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "45.5s"}]}}"#,
            45_500,
        ),
    ] {
        let report = format!(
            r#"{{"error": {error}, "operation": {{"effect": "read", "phase": "execute"}}, "policy": {{"cap_ms": 5000}}}}"#
        );
        assert_eq!(delay(&report), Some(wait), "{error}");
    }
}

#[test]
fn only_a_statement_whose_transaction_survived_is_repeated_alone() {
    assert_lines(&[
        (
            r#"{"error": {"message": "ORA-00060: deadlock detected while waiting for resource", "errorNum": 60}, "system": "oracle", "operation": {"phase": "execute", "transaction": "open"}}"#,
            "DEADLOCK transient not_committed retryable retry | statement rollback no_effect",
        ),
        (
            r#"{"error": {"number": 1205, "state": 45, "class": 13, "message": "Transaction (Process ID 52) was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction.", "code": "EREQUEST"}, "system": "mssql", "operation": {"phase": "execute", "transaction": "open"}}"#,
            "DEADLOCK transient not_committed retryable retry | transaction rollback no_effect",
        ),
        (
            r#"{"error": {"code": "ER_LOCK_WAIT_TIMEOUT", "errno": 1205, "sqlState": "HY000", "message": "Lock wait timeout exceeded; try restarting transaction"}, "system": "mysql", "operation": {"phase": "execute", "transaction": "open"}}"#,
            "LOCK_TIMEOUT transient not_committed retryable retry | statement rollback no_effect",
        ),
        (
            r#"{"error": {"code": "ER_LOCK_DEADLOCK", "errno": 1213, "sqlState": "40001", "message": "Deadlock found when trying to get lock; try restarting transaction"}, "system": "mysql", "operation": {"phase": "execute", "transaction": "open"}}"#,
            "DEADLOCK transient not_committed retryable retry | transaction rollback no_effect",
        ),
        (
            r#"{"error": {"code": "40P01", "severity": "ERROR", "message": "deadlock detected"}, "system": "postgresql", "operation": {"phase": "execute", "transaction": "failed"}}"#,
            "DEADLOCK transient not_committed retryable retry | transaction rollback no_effect",
        ),
        (
            r#"{"error": {"code": "ER_LOCK_WAIT_TIMEOUT", "errno": 1205, "sqlState": "HY000", "message": "Lock wait timeout exceeded; try restarting transaction"}, "system": "mysql", "operation": {"phase": "execute", "transaction": "none"}}"#,
            "LOCK_TIMEOUT transient not_committed retryable retry | operation none no_effect",
        ),
    ]);
}

#[test]
fn a_transaction_that_survived_is_rolled_back_before_the_envelope_leaves() {
    assert_lines(&[(
        r#"{"error": {"code": "ER_DUP_ENTRY", "errno": 1062, "sqlState": "23000", "message": "Duplicate entry 'a' for key 'stock.name'"}, "system": "mysql", "operation": {"phase": "execute", "transaction": "open"}}"#,
        "UNIQUE_VIOLATION conflict not_committed final fix | operation rollback not_transient",
    )]);
}
