//! MongrelDB: the body decides, `committed` is tri-state, and its clients' exceptions prove no more than they hold.

use retort::evaluate;
use retort::report::Report;

/// Code, outcome and whether a retry is offered, for a plain write in autocommit while executing.
fn judged(error: &str) -> (&'static str, &'static str, bool) {
    let report = format!(
        r#"{{"system":"mongreldb","error":{error},"operation":{{"phase":"execute","transaction":"none"}},
            "context":{{"authorized":true}}}}"#
    );
    let envelope = evaluate(&Report::read(&report)).envelope;
    (envelope.code().as_str(), envelope.outcome().as_str(), envelope.retryable())
}

/// What a sent write with an unknown fate is told.
const UNKNOWN: (&str, &str, bool) = ("OUTCOME_UNKNOWN", "unknown", false);

#[test]
fn the_body_decides_a_409() {
    for (body, expected) in [
        (
            r#"{"status":"aborted","error":{"code":"UNIQUE_VIOLATION","message":"x","op_index":2}}"#,
            ("UNIQUE_VIOLATION", "not_committed", false),
        ),
        (
            r#"{"status":"committed","committed":true,"error":{"code":"COMMIT_OUTCOME"}}"#,
            ("RESULT_LOST", "committed", false),
        ),
        (
            r#"{"status":"outcome_unknown","committed":null,"error":{"code":"QUERY_OUTCOME_UNKNOWN"}}"#,
            UNKNOWN,
        ),
        (
            r#"{"status":"aborted","committed":false,"error":{"code":"SERIALIZATION_FAILURE"}}"#,
            ("SERIALIZATION_FAILURE", "not_committed", true),
        ),
        (
            r#"{"status":"aborted","committed":false,"error":{"code":"IDEMPOTENCY_KEY_REUSE_MISMATCH"}}"#,
            ("KEY_REUSED", "not_committed", false),
        ),
        (r#"{}"#, UNKNOWN),
        (r#""""#, UNKNOWN),
    ] {
        assert_eq!(judged(&format!(r#"{{"status":409,"body":{body}}}"#)), expected, "{body}");
    }
}

#[test]
fn a_body_in_a_string_reads_like_one_that_is_an_object() {
    let body = r#"{\"status\":\"aborted\",\"error\":{\"code\":\"FK_VIOLATION\"}}"#;
    let error = format!(r#"{{"status":409,"body":"{body}"}}"#);
    assert_eq!(judged(&error), ("FK_VIOLATION", "not_committed", false));
}

#[test]
fn only_an_explicit_false_proves_no_commit() {
    let deadline = |committed: &str| {
        judged(&format!(
            r#"{{"status":504,"body":{{"committed":{committed},"error":{{"code":"DEADLINE_EXCEEDED"}}}}}}"#
        ))
    };
    assert_eq!(deadline("false"), ("DB_TIMEOUT", "not_committed", true));
    assert_eq!(deadline("true"), ("RESULT_LOST", "committed", false));
    assert_eq!(deadline("null"), UNKNOWN);
    assert_eq!(judged(r#"{"status":504,"body":{"error":{"code":"DEADLINE_EXCEEDED"}}}"#), UNKNOWN);
}

#[test]
fn words_that_contradict_each_other_prove_nothing() {
    for body in [
        r#"{"committed":false,"status":"committed"}"#,
        r#"{"committed":false,"outcome":{"committed":true}}"#,
        r#"{"committed":false,"committed_statements":2}"#,
        r#"{"committed":true,"status":"failed_before_commit"}"#,
    ] {
        assert_eq!(judged(&format!(r#"{{"status":409,"body":{body}}}"#)).1, "unknown", "{body}");
    }
}

#[test]
fn a_category_never_makes_an_error_retryable() {
    let body = r#"{"committed":false,"status":"failed_before_commit",
        "error":{"code":"QUERY_FAILED","category":"replica unavailable","category_code":4,"retryable":true,"message":"x"}}"#;
    let (_, outcome, retryable) = judged(&format!(r#"{{"status":500,"body":{body}}}"#));
    assert_eq!((outcome, retryable), ("not_committed", false));
}

#[test]
fn a_failed_query_is_worth_its_text() {
    let failed = |committed: &str, message: &str| {
        let message = serde_json::Value::from(message);
        judged(&format!(
            r#"{{"status":500,"body":{{"committed":{committed},"error":{{"code":"QUERY_FAILED","message":{message}}}}}}}"#
        ))
    };
    for (message, code) in [
        ("mongreldb error: permission denied: x", "NOT_AUTHORIZED"),
        ("mongreldb error: not found: table \"x\" not found", "CONTRACT_BROKEN"),
        ("mongreldb error: invalid argument: column 'n' (2) is NOT NULL but was omitted", "NULL_NOT_ALLOWED"),
        ("datafusion error: Error during planning: table 'datafusion.public.x' not found", "CONTRACT_BROKEN"),
        ("schema error: value Int64(2) cannot be stored in Bytes", "INVALID_FORMAT"),
        ("something new", "DATABASE_ERROR"),
    ] {
        assert_eq!(failed("false", message), (code, "not_committed", false), "{message}");
        assert_eq!(failed("null", message), UNKNOWN, "{message}");
    }
}

#[test]
fn a_conflict_exception_of_a_client_is_worth_its_error_code() {
    for name in [
        "ConflictException",
        "MongrelDB.ConflictException",
        "com.visorcraft.mongreldb.ConflictException",
        "Visorcraft\\MongrelDB\\ConflictException",
        "mongreldb.ConflictError",
        "ConflictError",
    ] {
        for field in ["ErrorCode", "errorCode", "error_code", "code", "getErrorCode"] {
            let error = format!(r#"{{"name":{name:?},"{field}":"FK_VIOLATION","OpIndex":3}}"#);
            assert_eq!(judged(&error), ("FK_VIOLATION", "not_committed", false), "{error}");
        }
        let empty = format!(r#"{{"name":{name:?},"ErrorCode":"","OpIndex":null}}"#);
        assert_eq!(judged(&empty), UNKNOWN, "{empty}");
    }
}

#[test]
fn a_query_exception_is_worth_its_cause() {
    for (cause, expected) in [
        (
            r#"{"name":"System.Net.Http.HttpRequestException","InnerException":{"name":"System.Net.Sockets.SocketException","message":"Connection refused","SocketErrorCode":"ConnectionRefused"}}"#,
            ("CONNECTION_FAILED", "not_started", true),
        ),
        (
            r#"{"name":"System.Net.Http.HttpRequestException","message":"An error occurred while sending the request."}"#,
            UNKNOWN,
        ),
        (r#"{"name":"System.Threading.Tasks.TaskCanceledException"}"#, UNKNOWN),
        (
            r#"{"name":"System.Text.Json.JsonException","message":"'<' is an invalid start of a value."}"#,
            UNKNOWN,
        ),
    ] {
        let error = format!(r#"{{"name":"MongrelDB.QueryException","InnerException":{cause}}}"#);
        assert_eq!(judged(&error), expected, "{error}");
    }
}

#[test]
fn a_value_that_json_cannot_hold_was_never_sent() {
    for text in [
        ".NET number values such as positive and negative infinity cannot be written as valid JSON.",
        "Out of range float values are not JSON compliant",
        "json: unsupported value: NaN",
        "Inf and NaN cannot be JSON encoded",
        "JSON does not allow non-finite numbers.",
    ] {
        let error = format!(r#"{{"name":"QueryException","cause":{{"message":"{text}"}}}}"#);
        assert_eq!(judged(&error), ("INVALID_ARGUMENT", "not_started", false), "{text}");
    }
}

#[test]
fn an_empty_401_is_the_credentials() {
    assert_eq!(judged(r#"{"status":401,"body":""}"#).0, "CREDENTIALS_REJECTED");
    for name in ["AuthException", "AuthError"] {
        assert_eq!(judged(&format!(r#"{{"name":"{name}"}}"#)).0, "CREDENTIALS_REJECTED", "{name}");
    }
}

#[test]
fn the_failed_operation_of_a_batch_is_carried() {
    let report = Report::read(
        r#"{"system":"mongreldb","error":{"status":409,"body":{"status":"aborted",
            "error":{"code":"CHECK_VIOLATION","op_index":4}}},"operation":{"phase":"execute"}}"#,
    );
    let verdict = evaluate(&report);
    assert_eq!(verdict.envelope.op_index(), Some(4));
}
