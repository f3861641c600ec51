//! Representative rows of every table, as whole rows.

use alloc::string::{String, ToString};

use super::*;

/// A row as it should be.
fn row(code: Code, proof: Proof, marks: &[&str], rule: &str, native: Option<&str>) -> Option<Row> {
    let has = |word| marks.contains(&word);
    let marks = Marks {
        aborts_commit: has("aborts_commit"),
        executed: has("executed"),
        keeps_transaction: has("keeps_transaction"),
        client_timeout: has("client_timeout"),
        connection_lost: has("connection_lost"),
        recalled: has("recalled"),
    };
    let native = native.map(|native| KnownCode(native.to_string()));
    Some(Row { code, proof, marks, rule: String::from(rule), native })
}

#[test]
fn a_sqlstate_is_found_in_its_systems_table() {
    assert_eq!(
        by_name(System::Postgresql, "23505"),
        row(
            Code::UniqueViolation,
            Proof::Refused,
            &["aborts_commit", "executed"],
            "postgres/23505",
            Some("23505")
        )
    );
    assert_eq!(
        by_name(System::Cockroachdb, "42P01"),
        row(Code::UnknownObject, Proof::Rejected, &[], "postgres/42P01", Some("42P01"))
    );
    assert_eq!(
        by_name(System::Postgresql, "HYT00"),
        row(Code::DbTimeout, Proof::Lost, &["client_timeout"], "sqlstate/HYT00", Some("HYT00"))
    );
}

#[test]
fn a_state_that_no_table_lists_is_read_by_its_class_and_stays_unpublished() {
    assert_eq!(by_name(System::Postgresql, "23ZZ9"), None);
    assert_eq!(
        by_sqlstate_class(System::Postgresql, "23ZZ9"),
        row(Code::StateConflict, Proof::Refused, &["executed"], "sqlstate/23***", None)
    );
    for foreign in ["", "23", "23zz9", "2350é", "0000000", "99ZZZ"] {
        assert_eq!(by_sqlstate_class(System::Mysql, foreign), None, "{foreign}");
    }
}

#[test]
fn a_class_is_found_qualified_suffixed_or_in_snake_case() {
    for name in
        ["psycopg2.errors.UniqueViolation", "UniqueViolationError", "unique_violation", "UNIQUE_VIOLATION"]
    {
        let found = by_name(System::Postgresql, name).map(|row| row.rule);
        assert_eq!(found.as_deref(), Some("postgres/23505"), "{name}");
    }
    assert_eq!(
        by_name(System::Sqlite, "SQLITE_CONSTRAINT_UNIQUE"),
        row(Code::UniqueViolation, Proof::Refused, &["executed"], "sqlite/2067", Some("2067"))
    );
    assert_eq!(
        layer(Layer::Orm, "java.sql.BatchUpdateException"),
        row(
            Code::PartialOutcome,
            Proof::Partial,
            &[],
            "orm/BatchUpdateException",
            Some("BatchUpdateException")
        )
    );
}

#[test]
fn a_lock_timeout_keeps_mysqls_transaction_and_a_deadlock_does_not() {
    assert_eq!(
        by_number(System::Mysql, 1205),
        row(Code::LockTimeout, Proof::Refused, &["keeps_transaction"], "mysql/1205", Some("1205"))
    );
    assert_eq!(
        by_number(System::Mariadb, 1213),
        row(Code::Deadlock, Proof::Refused, &["aborts_commit"], "mariadb/1213", Some("1213"))
    );
}

#[test]
fn number_4025_is_a_check_on_mariadb_and_on_mysql_only_under_23000() {
    let check = |rule, native| row(Code::CheckViolation, Proof::Refused, &["executed"], rule, Some(native));
    assert_eq!(by_number(System::Mariadb, 4025), check("mariadb/4025", "4025"));
    assert_eq!(by_number_and_state(System::Mysql, 4025, Some("23000")), check("mysql/4025+23000", "4025"));
    assert_ne!(by_number(System::Mysql, 4025).map(|row| row.code), Some(Code::CheckViolation));
}

#[test]
fn a_text_is_matched_from_its_start_and_the_code_tells_what_it_tells_apart() {
    assert_eq!(
        by_text(System::Postgresql, Some("57014"), "canceling statement due to user request"),
        row(
            Code::Cancelled,
            Proof::Refused,
            &[],
            "postgres/57014+msg:canceling statement due to user request",
            Some("57014")
        )
        .map(|row| (row, TextMatch::Whole))
    );
    let text = "ERROR:  relation \"ledger\" does not exist\nLINE 1: select 1 from ledger";
    assert_eq!(
        by_text(System::Postgresql, None, text),
        row(Code::UnknownObject, Proof::Rejected, &[], "postgres/msg:relation \"%\" does not exist%", None)
            .map(|row| (row, TextMatch::Start))
    );
    let quoted = "my note: duplicate key value violates unique constraint \"x\"";
    assert_eq!(by_text(System::Postgresql, None, quoted), None, "words inside a text prove nothing");
    assert_eq!(
        by_text(Layer::Pool, None, "QueuePool limit of size 5 overflow 10 reached, connection timed out"),
        row(Code::PoolBusy, Proof::NeverSent, &[], "pool/msg:QueuePool limit of size %", None)
            .map(|row| (row, TextMatch::Start))
    );
}

#[test]
fn mariadb_speaks_mysqls_texts_but_not_its_numbers() {
    let found =
        by_text(System::Mariadb, None, "Duplicate entry '1' for key 'PRIMARY'").map(|(row, _)| row.rule);
    assert_eq!(found.as_deref(), Some("mysql/msg:Duplicate entry '%' for key '%'"));
    assert_eq!(by_number(System::Mariadb, 3819), None);
}

#[test]
fn layers_answer_numbers_and_names() {
    assert_eq!(
        layer(Layer::Http, 429),
        row(Code::RateLimited, Proof::NeverSent, &[], "http/429", Some("429"))
    );
    assert_eq!(
        layer(Layer::Grpc, "DEADLINE_EXCEEDED"),
        row(Code::DbTimeout, Proof::Lost, &[], "grpc/4", Some("4"))
    );
    assert_eq!(
        layer(Layer::Transport, "ECONNRESET"),
        row(
            Code::ConnectionLost,
            Proof::Lost,
            &["connection_lost"],
            "transport/ECONNRESET",
            Some("ECONNRESET")
        )
    );
}

#[test]
fn a_row_from_memory_is_never_transient_and_proves_nothing() {
    let read = |code, proof| Reading(code, proof, 32).row("t", "k", None);
    assert_eq!(
        Some(read(Code::LockTimeout, Proof::Refused)),
        row(Code::DatabaseError, Proof::Lost, &["recalled"], "t/k", None)
    );
    assert_eq!(
        Some(read(Code::UnknownObject, Proof::Rejected)),
        row(Code::UnknownObject, Proof::Nothing, &["recalled"], "t/k", None)
    );
}

#[test]
fn unknown_codes_have_no_row() {
    for system in System::ALL {
        assert_eq!(by_number(*system, i64::MAX), None);
        assert_eq!(by_number(*system, -987_654), None);
        assert_eq!(by_name(*system, "CANARY; drop table x"), None);
        assert_eq!(by_text(*system, None, ""), None);
    }
}

#[test]
fn drivers_are_known_by_any_spelling_of_their_name() {
    assert_eq!(
        driver("Node_Postgres"),
        Some(Driver { name: "node-postgres", system: Some(System::Postgresql), replays: false })
    );
    assert_eq!(driver("boto3").map(|driver| driver.replays), Some(true));
    assert_eq!(driver("made-up"), None);
}
