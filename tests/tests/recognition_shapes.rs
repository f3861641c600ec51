//! What recognition reads of an error's shape beyond its code: the operation key's constraint, waits, indices,
//! repetitions by the driver, and the host's own argument check.

use retort::codes::{Code, Proof};
use retort::intake;
use retort::recognise::{Finding, recognise};
use retort::report::Report;

/// The finding of a report.
fn found(report: &str) -> Finding {
    let report = Report::read(report);
    recognise(&intake::collect(&report), &report)
}

/// Is an error the violation of the operation key's own constraint, `op_key`?
fn is_key_violation(system: &str, error: &str) -> bool {
    found(&format!(r#"{{"system":"{system}","error":{error},"operation":{{"key_constraint":"op_key"}}}}"#))
        .is_key_violation
}

#[test]
fn the_operation_key_s_constraint_is_known_by_its_field_or_by_its_place_in_the_message() {
    for (system, error) in [
        ("postgresql", r#"{"code":"23505","constraint":"op_key"}"#),
        ("postgresql", r#"{"Code":"23505","ConstraintName":"op_key"}"#),
        (
            "postgresql",
            r#""ERROR: duplicate key value violates unique constraint \"op_key\" (SQLSTATE 23505)""#,
        ),
        ("mysql", r#"{"errno":1062,"sqlMessage":"Duplicate entry 'a' for key 'receipts.op_key'"}"#),
        (
            "sqlite",
            r#"{"code":"SQLITE_CONSTRAINT_UNIQUE","message":"UNIQUE constraint failed: receipts.op_key"}"#,
        ),
        (
            "mssql",
            r#"{"number":2627,"message":"Violation of UNIQUE KEY constraint 'op_key'. Cannot insert duplicate key in object 'dbo.r'."}"#,
        ),
        ("oracle", r#""ORA-00001: unique constraint (APP.op_key) violated""#),
    ] {
        assert!(is_key_violation(system, error), "{error}");
    }
}

#[test]
fn another_constraint_and_a_value_that_looks_like_one_are_no_key_violation() {
    for (system, error) in [
        ("postgresql", r#"{"code":"23505","constraint":"users_email_key"}"#),
        ("postgresql", r#"{"code":"23503","constraint":"op_key"}"#),
        (
            "mysql",
            r#"{"errno":1062,"sqlMessage":"Duplicate entry 'x' for key 'op_key'' for key 'users.email'"}"#,
        ),
        (
            "postgresql",
            r#"{"code":"23505","detail":"Key (a)=(violates unique constraint \"op_key\") already exists."}"#,
        ),
        (
            "sqlite",
            r#"{"code":"SQLITE_CONSTRAINT_UNIQUE","message":"UNIQUE constraint failed: receipts.not_op_key"}"#,
        ),
    ] {
        assert!(!is_key_violation(system, error), "{error}");
    }
}

#[test]
fn the_server_s_wait_is_read_in_its_unit() {
    for (error, expected) in [
        (r#"{"status":429,"headers":{"Retry-After":"2"}}"#, Some(2000)),
        (r#"{"status":429,"headers":{"x-ms-retry-after-ms":"350"}}"#, Some(350)),
        (
            r#"{"code":8,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]}"#,
            Some(1500),
        ),
        (r#"{"errorLabels":["SystemOverloadedError"],"baseBackoffMS":100}"#, Some(100)),
        (r#"{"status":429}"#, None),
        (r#"{"status":429,"retryAfter":-1}"#, None),
        (r#"{"status":429,"retryAfter":1e300}"#, None),
    ] {
        let report = format!(r#"{{"error":{error}}}"#);
        assert_eq!(found(&report).retry_after_ms, expected, "{error}");
    }
}

#[test]
fn the_first_failed_operation_of_a_batch_is_carried() {
    for (error, expected) in [
        (r#"{"writeErrors":[{"index":7,"code":11000},{"index":3,"code":11000}]}"#, Some(3)),
        (r#"{"writeErrors":[{"err":{"index":2,"code":11000}}]}"#, Some(2)),
        (r#"{"updateCounts":[1,1]}"#, Some(2)),
        (r#"{"items":[{"index":{}},{"index":{"error":{"type":"x_exception"}}}]}"#, Some(1)),
        (r#"{"OpIndex":5,"ErrorCode":"FK_VIOLATION"}"#, Some(5)),
        (r#"{"code":"23505"}"#, None),
    ] {
        let report = format!(r#"{{"error":{error}}}"#);
        assert_eq!(found(&report).op_index, expected, "{error}");
    }
}

#[test]
fn a_driver_s_own_count_of_attempts_counts_before_what_its_name_tells() {
    let hidden = |driver: &str, error: &str| {
        found(&format!(r#"{{"system":"dynamodb","driver":"{driver}","error":{error}}}"#)).has_hidden_attempts
    };
    let lost = |attempts: &str| format!(r#"{{"name":"TimeoutError"{attempts}}}"#);
    assert!(hidden("boto3", &lost("")));
    assert!(!hidden("boto3", &lost(r#","ResponseMetadata":{"RetryAttempts":0}"#)));
    assert!(hidden("boto3", &lost(r#","ResponseMetadata":{"RetryAttempts":1}"#)));
    assert!(!hidden("boto3", r#"{"response":{"Error":{"Code":"ConditionalCheckFailedException"}}}"#));
    assert!(!hidden("a driver of our own", &lost("")));
}

#[test]
fn the_host_s_own_condition_and_argument_check_are_believed() {
    let condition = found(r#"{"error":{"condition":"POOL_BUSY"}}"#);
    assert_eq!((condition.code, condition.proof), (Code::PoolBusy, Proof::NeverSent));
    let check = found(r#"{"violations":[{"argument":"limit","rule":"maximum"}]}"#);
    assert_eq!((check.code, check.proof), (Code::OutOfRange, Proof::NeverSent));
    let unknown = found(r#"{"error":{"condition":"NO_SUCH_CODE"}}"#);
    assert_eq!((unknown.code, unknown.proof), (Code::DatabaseError, Proof::Nothing));
}

#[test]
fn a_rule_s_id_never_holds_evidence() {
    for error in [
        r#"{"code":"canary-7","message":"canary-7"}"#,
        r#"{"name":"CanarySevenError","errno":987654}"#,
        r#"{"code":"23505","message":"canary-7","constraint":"canary-7"}"#,
    ] {
        let finding = found(&format!(r#"{{"system":"postgresql","error":{error}}}"#));
        let native = finding.native.as_ref().map_or("", |native| native.as_str()).to_owned();
        let shown = format!("{} {native}", finding.rule).to_lowercase();
        assert!(!shown.contains("canary") && !shown.contains("987654"), "{shown}");
    }
}
