use alloc::borrow::ToOwned;
use alloc::string::ToString;

use super::*;
use crate::json::Json;

/// The evidence of an error given as JSON.
fn evidence(error: &str) -> Evidence {
    let error = Json::read(error).expect("the test's error is JSON");
    collect(&Report { error: Some(error), ..Report::default() })
}

/// The signs of all faults: depth, kind, spelling, place.
fn signs(error: &str) -> Vec<(usize, SignKind, String, Place)> {
    let evidence = evidence(error);
    let all = evidence.faults.iter().flat_map(|fault| {
        fault.signs.iter().map(|sign| (fault.depth, sign.kind, sign.text.clone(), sign.place))
    });
    all.collect()
}

/// The signs of an error that is one message.
fn in_text(text: &str) -> Vec<(SignKind, String, Place)> {
    let evidence = collect(&Report { error: Some(Json::Text(text.into())), ..Report::default() });
    let signs = evidence.faults.iter().flat_map(|fault| fault.signs.clone());
    signs.map(|sign| (sign.kind, sign.text, sign.place)).collect()
}

/// One expected sign in a trusted form.
fn form(kind: SignKind, text: &str) -> (SignKind, String, Place) {
    (kind, text.to_owned(), Place::Form)
}

#[test]
fn fields_of_any_driver_give_codes_states_and_classes() {
    use SignKind::{Class, Code, Http, SqlState};
    let field = |depth, kind, text: &str| (depth, kind, text.to_owned(), Place::Field);
    for (error, expected) in [
        (r#"{"name":"error","code":"23505"}"#, [field(0, Class, "error"), field(0, Code, "23505")].to_vec()),
        (
            r#"{"errno":1062,"sqlState":"23000"}"#,
            [field(0, Code, "1062"), field(0, SqlState, "23000")].to_vec(),
        ),
        (
            r#"{"getErrorCode":1205,"getSQLState":"40001"}"#,
            [field(0, Code, "1205"), field(0, SqlState, "40001")].to_vec(),
        ),
        (
            r#"{"__class__":"psycopg2.errors.UniqueViolation"}"#,
            [field(0, Class, "psycopg2.errors.UniqueViolation")].to_vec(),
        ),
        (
            r#"{"response":{"Error":{"Code":"ThrottlingException"}}}"#,
            [field(2, Code, "ThrottlingException")].to_vec(),
        ),
        (r#"{"$metadata":{"httpStatusCode":400}}"#, [field(1, Http, "400")].to_vec()),
        (r#"{"args":[1213,"Deadlock found"]}"#, [field(0, Code, "1213")].to_vec()),
        (r#"{"original":{"parent":{"driverError":{"code":"40P01"}}}}"#, [field(3, Code, "40P01")].to_vec()),
    ] {
        assert_eq!(signs(error), expected, "{error}");
    }
}

#[test]
fn statements_parameters_and_documents_are_never_looked_into() {
    for error in [
        r#"{"sql":"select 'SQLSTATE[40001]'","parameters":["SQLSTATE[40001]"],"code":"23505"}"#,
        r#"{"op":{"code":11000,"message":"E11000 "},"detail":"SQLSTATE[40001]: x","code":"23505"}"#,
        r#"{"Item":{"code":"40001"},"keyValue":{"code":"40001"},"errInfo":{"code":40001},"code":"23505"}"#,
    ] {
        let found = signs(error);
        assert_eq!(found, [(0, SignKind::Code, "23505".to_owned(), Place::Field)], "{error}");
    }
}

#[test]
fn fixed_forms_in_a_text_give_the_codes_that_drivers_put_there() {
    use SignKind::{Class, Code, SqlState};
    for (text, expected) in [
        ("SQLSTATE[HY000] [2002] No such file", [form(SqlState, "HY000"), form(Code, "2002")].to_vec()),
        (
            "SQLSTATE[HY000]: General error: 1205 Lock wait timeout exceeded",
            [form(SqlState, "HY000"), form(Code, "1205")].to_vec(),
        ),
        ("Error 1062 (23000): Duplicate entry 'x'", [form(Code, "1062"), form(SqlState, "23000")].to_vec()),
        (
            "ERROR 1044 (42000) at line 1: Access denied",
            [form(Code, "1044"), form(SqlState, "42000")].to_vec(),
        ),
        ("(1062, \"Duplicate entry 'x' for key 'y'\")", [form(Code, "1062")].to_vec()),
        ("ORA-00001: unique constraint (A.B) violated", [form(Code, "ORA-00001")].to_vec()),
        ("E11000 duplicate key error collection: a.b", [form(Code, "11000")].to_vec()),
        ("Code: 241. DB::Exception: Memory limit", [form(Code, "241")].to_vec()),
        ("Msg 2627, Level 14, State 1, Line 583\nViolation of", [form(Code, "2627")].to_vec()),
        ("002003 (42S02): SQL compilation error:", [form(Code, "002003"), form(SqlState, "42S02")].to_vec()),
        (
            "(psycopg2.errors.UniqueViolation) duplicate key",
            [form(Class, "psycopg2.errors.UniqueViolation")].to_vec(),
        ),
        (
            "org.postgresql.util.PSQLException: ERROR: x",
            [form(Class, "org.postgresql.util.PSQLException")].to_vec(),
        ),
        (
            "ERROR: duplicate key value violates unique constraint \"a\" (SQLSTATE 23505)",
            [form(SqlState, "23505")].to_vec(),
        ),
        (
            "[23000] [Microsoft][ODBC Driver 17 for SQL Server][SQL Server]Violation. (2627) (SQLExecDirectW)",
            [form(SqlState, "23000"), form(Code, "2627")].to_vec(),
        ),
    ] {
        assert_eq!(in_text(text), expected, "{text}");
    }
}

#[test]
fn a_form_behind_an_unknown_beginning_is_sought_behind_punctuation() {
    let sought = |kind, text: &str| (kind, text.to_owned(), Place::Sought);
    assert_eq!(
        in_text("update /x: Error 1205: Lock wait timeout exceeded"),
        [sought(SignKind::Code, "1205")]
    );
    assert_eq!(in_text("it went on with Error 1205: Lock wait timeout exceeded"), []);
}

#[test]
fn a_form_behind_a_quote_is_only_inside() {
    for text in [
        "duplicate key value \"SQLSTATE[40001]: Serialization failure\"",
        "Duplicate entry 'ORA-00060: deadlock detected' for key 'a'",
        "could not store \"x\"\nSQLSTATE[40001]: Serialization failure",
    ] {
        let found = in_text(text);
        assert!(!found.is_empty(), "{text}");
        assert!(found.iter().all(|(_, _, place)| *place == Place::Inside), "{text}: {found:?}");
    }
}

#[test]
fn json_and_python_dictionaries_in_texts_are_read_where_no_quote_stands_before_them() {
    let evidence = evidence(r#""b'{\"error\":{\"code\":\"40001\"}}'""#);
    let found: Vec<&Sign> = evidence.faults.iter().flat_map(|fault| &fault.signs).collect();
    assert_eq!(found, [&Sign { kind: SignKind::Code, text: "40001".to_owned(), place: Place::Field }]);
    let inside = in_text("value \"x\" {\"code\": \"40001\", \"committed\": false}");
    assert_eq!(inside, [(SignKind::Code, "40001".to_owned(), Place::Inside)]);
    let claimed = collect(&Report {
        error: Some(Json::Text("value \"x\" {\"committed\": false}".into())),
        ..Report::default()
    });
    assert_eq!(claimed.own_words, OwnWords::default());
}

#[test]
fn the_server_s_own_words_are_kept_apart() {
    let words = |error| evidence(error).own_words;
    let none = OwnWords::default();
    assert_eq!(words(r#"{"body":{"committed":false}}"#), OwnWords { no: true, ..none });
    assert_eq!(words(r#"{"body":{"committed":null}}"#), OwnWords { unknown: true, ..none });
    assert_eq!(words(r#"{"body":"{\"committed\":true}"}"#), OwnWords { yes: true, ..none });
    assert_eq!(
        words(r#"{"body":{"committed":false,"status":"committed"}}"#),
        OwnWords { yes: true, no: true, ..none }
    );
    assert_eq!(words(r#"{"status":"aborted"}"#), OwnWords { no: true, ..none });
    assert_eq!(words(r#"{"committed_statements":2}"#), OwnWords { yes: true, ..none });
}

#[test]
fn attempts_waits_and_indices_are_counted() {
    let found = evidence(r#"{"$metadata":{"attempts":3},"retryAfter":"1.5s","op_index":4}"#);
    assert_eq!((found.attempts, found.retry_after_ms, found.op_index), (Some(3), Some(1500), Some(4)));
    let found = evidence(r#"{"ResponseMetadata":{"RetryAttempts":0}}"#);
    assert_eq!(found.attempts, Some(1));
    let found = evidence(r#"{"headers":{"Retry-After":"7"},"x-ms-retry-after-ms":250}"#);
    assert_eq!(found.retry_after_ms, Some(7000));
    let text = "An error occurred (ThrottlingException) when calling the PutItem operation (reached max retries: 4): Rate";
    let found = collect(&Report { error: Some(Json::Text(text.into())), ..Report::default() });
    assert_eq!(found.attempts, Some(5));
}

#[test]
fn bulk_writes_count_failures_and_what_was_done() {
    let found = evidence(
        r#"{"writeErrors":[{"index":3,"code":11000},{"index":1,"code":121}],"result":{"insertedCount":2}}"#,
    );
    assert_eq!(
        found.bulk,
        Bulk { failed: 2, done: Some(2), first_failed: Some(1), is_bulk: true, is_cancelled_whole: false }
    );
    let found = evidence(
        r#"{"items":[{"index":{"status":201}},{"index":{"status":429,"error":{"type":"x_exception"}}}]}"#,
    );
    assert_eq!(
        found.bulk,
        Bulk { failed: 1, done: Some(1), first_failed: Some(1), is_bulk: true, is_cancelled_whole: false }
    );
    let found = evidence(r#"{"CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed"}]}"#);
    assert!(found.bulk.is_cancelled_whole);
    assert_eq!(found.op_index, Some(1));
}

#[test]
fn the_constraint_is_read_from_its_field_or_from_the_fixed_place_of_the_message() {
    let named = |error: &str| evidence(error).constraints;
    assert_eq!(named(r#"{"constraint":"a_key"}"#), ["a_key"]);
    assert_eq!(
        named(r#""(1062, \"Duplicate entry 'x' for key 'fake'' for key 't.op_key'\")""#),
        ["t.op_key"]
    );
    assert_eq!(named(r#"{"message":"UNIQUE constraint failed: receipts.op_key"}"#), ["receipts.op_key"]);
    assert_eq!(
        named(r#"{"message":"pq: duplicate key value violates unique constraint \"op_key\""}"#),
        ["op_key"]
    );
    assert_eq!(named(r#"{"detail":"UNIQUE constraint failed: receipts.op_key"}"#), Vec::<String>::new());
}

#[test]
fn chains_are_bounded_and_cycles_cannot_occur() {
    let mut error = "{\"code\":\"40001\"}".to_string();
    for _ in 0..60 {
        error = alloc::format!("{{\"cause\":{error}}}");
    }
    let found = evidence(&error);
    assert_eq!(found.faults.len(), 17);
    assert!(found.faults.iter().all(|fault| fault.signs.is_empty()));
    let wide = alloc::format!("{{\"errors\":[{}]}}", "{\"code\":1},".repeat(500).trim_end_matches(','));
    assert_eq!(evidence(&wide).faults.len(), 17);
}

#[test]
fn long_texts_keep_head_and_tail() {
    let long = alloc::format!("ERROR: é{} (SQLSTATE 23505)", "é".repeat(200_000));
    let found = collect(&Report { error: Some(Json::Text(long.into())), ..Report::default() });
    let text = found.texts().next().expect("the message is kept");
    assert!(text.len() <= 64 * 1024 + 1);
    assert!(text.starts_with("ERROR: é") && text.ends_with("(SQLSTATE 23505)"));
}

#[test]
fn the_shape_tells_the_system_where_the_host_does_not() {
    for (error, system) in [
        (r#"{"sqlite_errorcode":2067}"#, System::Sqlite),
        (r#"{"__class__":"psycopg2.errors.UniqueViolation"}"#, System::Postgresql),
        (r#""ORA-00001: x""#, System::Oracle),
        (r#"{"errorLabels":["NoWritesPerformed"],"code":112}"#, System::Mongodb),
        (r#"{"code":"ER_DUP_ENTRY","errno":1062}"#, System::Mysql),
        (r#""Code: 60. DB::Exception: x""#, System::Clickhouse),
        (
            r#"{"name":"ConditionalCheckFailedException","$metadata":{"httpStatusCode":400}}"#,
            System::Dynamodb,
        ),
    ] {
        assert_eq!(evidence(error).system, Some(system), "{error}");
    }
}
