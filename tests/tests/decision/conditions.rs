//! Conditions that the host itself raises: argument checks, questions back, policies.

use retort::report::Report;
use retort::strings;

use super::{assert_lines, evaluate};

#[test]
fn argument_violations_are_listed_by_their_published_names() {
    let verdict = evaluate(
        r#"{"error": {"condition": "INVALID_ARGUMENT"}, "operation": {"phase": "validate"},
            "violations": [{"argument": "limit", "rule": "maximum"}, {"argument": "filter.from[0]", "rule": "format"}, {"argument": "order"}],
            "context": {"trace_id": "t-1"}}"#,
    );
    assert_eq!(
        strings::evaluate(
            r#"{"error": {"condition": "INVALID_ARGUMENT"}, "operation": {"phase": "validate"},
            "violations": [{"argument": "limit", "rule": "maximum"}, {"argument": "filter.from[0]", "rule": "format"}, {"argument": "order"}],
            "context": {"trace_id": "t-1"}}"#
        )
        .split_once(r#","decision""#)
        .map(|(envelope, _)| envelope),
        Some(
            r#"{"envelope":{"code":"INVALID_ARGUMENT","category":"validation","retryable":false,"outcome":"not_started","trace_id":"t-1","message":"An argument is not valid. Correct the arguments and call again.","next":"fix","arguments":[{"argument":"limit","rule":"maximum"},{"argument":"filter.from[0]","rule":"format"},{"argument":"order","rule":""}]}"#
        )
    );
    assert_eq!(verdict.envelope.arguments().len(), 3);
}

#[test]
fn what_is_no_argument_name_is_not_listed() {
    let verdict = evaluate(
        r#"{"error": {"condition": "OUT_OF_RANGE"}, "operation": {"phase": "validate"},
            "violations": [{"argument": "SELECT secret FROM users", "rule": "maximum"}, {"argument": 7}, {"argument": "size", "rule": "must not be 'x'"}, 3]}"#,
    );
    let listed: Vec<_> = verdict
        .envelope
        .arguments()
        .iter()
        .map(|argument| (argument.argument.as_str(), argument.rule.as_str()))
        .collect();
    assert_eq!(listed, [("size", "")]);
}

#[test]
fn arguments_are_listed_only_where_they_are_at_fault() {
    let listed = |condition: &str| {
        let report = format!(
            r#"{{"error": {{"condition": "{condition}"}}, "operation": {{"phase": "validate"}}, "violations": [{{"argument": "limit", "rule": "maximum"}}]}}"#
        );
        retort::evaluate(&Report::read(&report)).envelope.arguments().len()
    };
    assert_eq!(
        ["MISSING_ARGUMENT", "QUERY_TOO_BROAD", "POOL_BUSY", "NOT_AUTHORIZED", "UNIQUE_VIOLATION"]
            .map(listed),
        [1, 1, 0, 0, 0]
    );
}

#[test]
fn clarifications_ask_the_user_and_leave_nothing_behind() {
    assert_lines(&[
        (
            r#"{"error": {"condition": "AMBIGUOUS_SCOPE"}, "operation": {"phase": "validate"}}"#,
            "AMBIGUOUS_SCOPE clarification not_started final clarify | operation none not_transient",
        ),
        (
            r#"{"error": {"condition": "APPROVAL_NEEDED"}, "operation": {"phase": "authorize"}}"#,
            "APPROVAL_NEEDED clarification not_started final clarify | operation none not_transient",
        ),
        (
            r#"{"error": {"condition": "QUERY_TOO_BROAD"}, "operation": {"effect": "read", "phase": "execute"}}"#,
            "QUERY_TOO_BROAD clarification not_committed final clarify | operation rollback not_transient",
        ),
    ]);
}

#[test]
fn a_policy_is_named_by_its_reference_unless_that_would_be_a_hint() {
    let reference = |condition: &str, authorized: bool| {
        let report = format!(
            r#"{{"error": {{"condition": "{condition}"}}, "operation": {{"phase": "authorize"}}, "context": {{"reference": "POL-17", "authorized": {authorized}}}}}"#
        );
        retort::evaluate(&Report::read(&report)).envelope.reference().map(String::from)
    };
    assert_eq!(reference("APPROVAL_NEEDED", false).as_deref(), Some("POL-17"));
    assert_eq!(reference("NOT_AUTHORIZED", true).as_deref(), Some("POL-17"));
    assert_eq!(reference("NOT_AUTHORIZED", false), None);
}

#[test]
fn a_commit_that_came_back_as_rollback_is_retried_as_a_whole() {
    assert_lines(&[
        (
            r#"{"error": {"condition": "COMMIT_ROLLED_BACK"}, "operation": {"phase": "commit", "transaction": "failed"}}"#,
            "COMMIT_ROLLED_BACK transient not_committed retryable retry | transaction rollback no_effect",
        ),
        (
            r#"{"error": {"condition": "COMMIT_ROLLED_BACK"}, "operation": {"phase": "done", "transaction": "rolled_back"}}"#,
            "COMMIT_ROLLED_BACK transient not_committed retryable retry | operation none no_effect",
        ),
    ]);
}
