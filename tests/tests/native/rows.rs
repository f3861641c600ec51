//! Every row of the contract's table of outcomes, and of the paragraphs below it, by name.
//!
//! A row's report stands in `corpus/cases.jsonl`, its whole verdict in `corpus/golden.jsonl`; the words that the row is
//! about stand here as well, so that no update of the golden file can change them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use retort::strings;
use retort_tests::corpus;
use serde_json::{Value, json};

/// Report and whole verdict by name.
static GOLDEN: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let line = |line: &str| {
        let value: Value = serde_json::from_str(line).expect("a golden line is JSON");
        (value["name"].as_str().unwrap_or_default().to_owned(), value)
    };
    corpus::read("golden.jsonl").lines().map(line).collect()
});

/// Declares a test per row: its name, then code, category, retryable, outcome and next.
macro_rules! rows {
    ($($name:ident: $code:literal, $category:literal, $retryable:literal, $outcome:literal, $next:literal;)+) => {
        /// The names of all rows.
        const ROWS: &[&str] = &[$(stringify!($name)),+];

        $(#[test]
        fn $name() {
            let words = json!([$code, $category, $retryable, $outcome, $next]);
            assert_row(stringify!($name), &words);
        })+
    };
}

fn assert_row(name: &str, words: &Value) {
    let line = GOLDEN.get(name).unwrap_or_else(|| panic!("no golden line for {name}"));
    let verdict = strings::evaluate(&line["report"].to_string());
    let verdict: Value = serde_json::from_str(&verdict).expect("a verdict is JSON");
    let envelope = &verdict["envelope"];
    let came = json!([
        envelope["code"],
        envelope["category"],
        envelope["retryable"],
        envelope["outcome"],
        envelope["next"]
    ]);
    assert_eq!(&came, words, "{verdict}");
    assert_eq!(verdict, line["verdict"], "the whole verdict");
}

#[test]
fn every_case_is_a_row() {
    let cases: Vec<String> = corpus::cases().into_iter().map(|case| case.name).collect();
    assert_eq!(cases, ROWS, "corpus/cases.jsonl and the rows here, in the same order");
}

rows! {
    pool_timeout_before_acquire_is_not_started: "POOL_BUSY", "transient", true, "not_started", "retry";
    bad_argument_is_not_started: "INVALID_ARGUMENT", "validation", false, "not_started", "fix";
    denied_before_sending_looks_like_any_denial: "NOT_AUTHORIZED", "authorization", false, "not_committed", "escalate";
    refused_connection_is_not_started: "CONNECTION_FAILED", "transient", true, "not_started", "retry";
    unrecognised_error_before_sending_is_permanent: "DATABASE_ERROR", "permanent", false, "not_started", "stop";
    steps_done_before_a_pool_timeout_are_a_part: "PARTIAL_OUTCOME", "unknown_outcome", false, "unknown", "escalate";
    constraint_before_sending_contradicts_the_phase: "UNIQUE_VIOLATION", "conflict", false, "not_committed", "fix";
    lost_connection_in_an_open_transaction_is_not_committed: "CONNECTION_LOST", "transient", true, "not_committed", "retry";
    shutdown_in_an_open_transaction_is_not_committed: "CONNECTION_LOST", "transient", true, "not_committed", "retry";
    error_in_a_failed_transaction_is_not_committed: "TRANSACTION_STATE", "permanent", false, "not_committed", "stop";
    unrecognised_error_in_an_open_transaction_is_not_committed: "DATABASE_ERROR", "permanent", false, "not_committed", "stop";
    batch_in_an_open_transaction_is_not_committed: "UNIQUE_VIOLATION", "conflict", false, "not_committed", "fix";
    procedure_that_can_commit_counts_as_autocommit: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    schema_change_that_commits_counts_as_autocommit: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    script_without_rollback_counts_as_autocommit: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    schema_change_that_rolls_back_is_not_committed: "CONNECTION_LOST", "transient", true, "not_committed", "retry";
    prepared_transaction_is_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    refused_statement_in_autocommit_is_not_committed: "UNIQUE_VIOLATION", "conflict", false, "not_committed", "fix";
    deadlock_in_autocommit_is_not_committed: "DEADLOCK", "transient", true, "not_committed", "retry";
    refused_batch_in_autocommit_is_a_part: "PARTIAL_OUTCOME", "unknown_outcome", false, "unknown", "escalate";
    refused_statement_over_many_rows_is_not_committed: "UNIQUE_VIOLATION", "conflict", false, "not_committed", "fix";
    refused_statement_over_many_documents_is_a_part: "PARTIAL_OUTCOME", "unknown_outcome", false, "unknown", "escalate";
    refused_insert_without_atomicity_is_a_part: "PARTIAL_OUTCOME", "unknown_outcome", false, "unknown", "escalate";
    steps_done_before_a_refusal_are_a_part: "PARTIAL_OUTCOME", "unknown_outcome", false, "unknown", "escalate";
    never_sent_in_autocommit_is_not_started: "CONNECTION_FAILED", "transient", true, "not_started", "retry";
    never_sent_by_a_driver_that_replays_is_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    lost_connection_in_autocommit_is_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    client_timeout_in_autocommit_is_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    shutdown_in_autocommit_is_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    unrecognised_error_in_autocommit_is_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    cancel_that_is_not_confirmed_is_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    cancel_that_the_server_confirmed_is_not_committed: "CANCELLED", "permanent", false, "not_committed", "stop";
    report_without_an_operation_is_a_sent_write: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    lost_connection_during_commit_is_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "reconcile";
    serialization_failure_at_commit_is_not_committed: "SERIALIZATION_FAILURE", "transient", true, "not_committed", "retry";
    deadlock_at_commit_is_not_committed: "DEADLOCK", "transient", true, "not_committed", "retry";
    deferred_constraint_at_commit_is_not_committed: "FK_VIOLATION", "conflict", false, "not_committed", "fix";
    busy_file_at_commit_with_rollback_is_not_committed: "LOCK_TIMEOUT", "transient", true, "not_committed", "retry";
    deferred_constraint_of_a_file_at_commit_is_not_committed: "FK_VIOLATION", "conflict", false, "not_committed", "fix";
    commit_over_shards_is_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    timeout_at_commit_is_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    never_sent_at_commit_is_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    cancel_confirmed_at_commit_is_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    pipelined_commit_is_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    commit_that_was_rolled_back_silently_is_not_committed: "COMMIT_ROLLED_BACK", "transient", true, "not_committed", "retry";
    error_of_a_rollback_is_not_committed: "CONNECTION_LOST", "transient", true, "not_committed", "retry";
    error_of_a_rollback_after_commit_is_as_that_commit: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    abort_in_a_rollback_after_commit_is_not_committed: "SERIALIZATION_FAILURE", "transient", true, "not_committed", "retry";
    error_after_everything_is_a_lost_result: "RESULT_LOST", "permanent", false, "committed", "done";
    error_after_a_confirmed_commit_is_a_lost_result: "RESULT_LOST", "permanent", false, "committed", "done";
    error_of_a_read_after_everything_is_not_committed: "CONNECTION_LOST", "transient", true, "not_committed", "retry";
    server_that_says_committed_is_believed: "RESULT_LOST", "permanent", false, "committed", "done";
    server_that_says_not_committed_is_believed: "DB_TIMEOUT", "transient", true, "not_committed", "retry";
    server_that_says_unknown_is_believed: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "reconcile";
    label_that_says_no_write_was_performed_is_believed: "NOT_PRIMARY", "transient", true, "not_committed", "retry";
    attempts_hidden_in_a_driver_are_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    receipt_committed_after_a_lost_connection: "ALREADY_APPLIED", "permanent", false, "committed", "done";
    receipt_absent_after_a_lost_connection: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "reconcile";
    receipt_pending_after_a_lost_connection: "IN_PROGRESS", "unknown_outcome", false, "unknown", "reconcile";
    receipt_expired_after_a_lost_connection: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "reconcile";
    receipt_unavailable_after_a_lost_connection: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "reconcile";
    receipt_absent_and_fenced_is_not_committed: "CONNECTION_LOST", "transient", true, "not_committed", "retry";
    violation_of_the_key_itself_is_already_applied: "ALREADY_APPLIED", "permanent", false, "committed", "done";
    http_401_without_a_known_body: "CREDENTIALS_REJECTED", "authorization", false, "not_started", "escalate";
    http_403_without_a_known_body: "NOT_AUTHORIZED", "authorization", false, "not_started", "escalate";
    http_405_without_a_known_body: "UNSUPPORTED_OPERATION", "permanent", false, "not_started", "stop";
    http_413_without_a_known_body: "REQUEST_TOO_LARGE", "validation", false, "not_started", "fix";
    http_429_without_a_known_body: "RATE_LIMITED", "transient", true, "not_started", "retry";
    http_400_without_a_known_body: "INVALID_ARGUMENT", "validation", false, "not_committed", "fix";
    http_404_without_a_known_body: "CONTRACT_BROKEN", "permanent", false, "not_committed", "escalate";
    http_422_without_a_known_body: "INVALID_ARGUMENT", "validation", false, "not_committed", "fix";
    http_408_without_a_known_body: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    http_409_without_a_known_body: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    http_500_without_a_known_body: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    http_503_without_a_known_body: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    lost_connection_of_a_read_is_retryable: "CONNECTION_LOST", "transient", true, "not_committed", "retry";
    unrecognised_error_of_a_read_is_permanent: "DATABASE_ERROR", "permanent", false, "not_committed", "stop";
    read_that_writes_is_judged_as_a_write: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    lost_connection_of_an_idempotent_write_is_retryable: "CONNECTION_LOST", "transient", true, "unknown", "retry";
    lost_connection_with_an_enforced_key_is_resubmitted: "CONNECTION_LOST", "transient", true, "unknown", "resubmit";
    enforced_key_that_has_expired_is_reconciled: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "reconcile";
    enforced_key_that_expires_before_the_retry_is_reconciled: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "reconcile";
    idempotent_write_without_attempts_left_is_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    deadlock_without_attempts_left_is_not_retryable: "DEADLOCK", "transient", false, "not_committed", "stop";
    deadlock_past_the_deadline_is_not_retryable: "DEADLOCK", "transient", false, "not_committed", "stop";
    deadlock_without_tokens_is_not_retryable: "DEADLOCK", "transient", false, "not_committed", "stop";
    retry_waits_as_long_as_the_server_asked: "DEADLOCK", "transient", true, "not_committed", "retry";
    unique_violation_after_an_unknown_attempt_is_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "reconcile";
    unique_violation_after_an_unknown_attempt_with_an_enforced_key_is_not_committed: "UNIQUE_VIOLATION", "conflict", false, "not_committed", "fix";
    pool_timeout_after_an_unknown_attempt_is_unknown: "OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "escalate";
    any_error_after_a_commit_is_committed: "RESULT_LOST", "permanent", false, "committed", "done";
    missing_table_of_the_tool_breaks_the_contract: "CONTRACT_BROKEN", "permanent", false, "not_committed", "escalate";
    missing_table_of_the_tool_breaks_the_contract_for_the_unauthorized_too: "CONTRACT_BROKEN", "permanent", false, "not_committed", "escalate";
    missing_table_of_the_model_is_unknown_when_authorized: "UNKNOWN_OBJECT", "validation", false, "not_committed", "fix";
    missing_table_of_the_model_is_not_told_to_the_unauthorized: "NOT_AUTHORIZED", "authorization", false, "not_committed", "escalate";
    forbidden_table_of_the_model_is_not_told_to_the_unauthorized: "NOT_AUTHORIZED", "authorization", false, "not_committed", "escalate";
    syntax_error_of_the_model_is_invalid: "INVALID_QUERY", "validation", false, "not_committed", "fix";
    syntax_error_of_the_tool_breaks_the_contract: "CONTRACT_BROKEN", "permanent", false, "not_committed", "escalate";
    concealed_conflicts_are_one_conflict: "STATE_CONFLICT", "conflict", false, "not_committed", "refresh";
}
