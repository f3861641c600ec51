//! What fools classifiers, each as a test with its reason.

use retort::evaluate;
use retort::report::Report;

/// Code, outcome and whether a retry is offered.
type Judged = (&'static str, &'static str, bool);

/// A plain write in autocommit while executing.
const EXECUTING: &str = r#""phase":"execute","transaction":"none""#;

/// The judgement of a plain write in autocommit while executing.
fn judged(system: &str, error: &str) -> Judged {
    with(system, "", error, EXECUTING)
}

/// The judgement with a driver and an operation.
fn with(system: &str, driver: &str, error: &str, operation: &str) -> Judged {
    let report = format!(
        r#"{{"system":"{system}","driver":"{driver}","error":{error},"operation":{{{operation}}},
            "context":{{"authorized":true}}}}"#
    );
    let envelope = evaluate(&Report::read(&report)).envelope;
    (envelope.code().as_str(), envelope.outcome().as_str(), envelope.retryable())
}

/// The scope of the host's own repetition inside an open transaction.
fn scope(system: &str, error: &str) -> &'static str {
    let report = format!(
        r#"{{"system":"{system}","error":{error},"operation":{{"phase":"execute","transaction":"open"}}}}"#
    );
    evaluate(&Report::read(&report)).decision.scope.as_str()
}

/// What a sent write with an unknown fate is told.
const UNKNOWN: Judged = ("OUTCOME_UNKNOWN", "unknown", false);

/// What a bulk write with a part applied is told.
const PARTIAL: Judged = ("PARTIAL_OUTCOME", "unknown", false);

/// MySQL and MariaDB differ in 95 numbers: 4025 is a failed CHECK on MariaDB only, unless the SQLSTATE says so.
#[test]
fn a_number_is_read_by_its_engine() {
    let check = ("CHECK_VIOLATION", "not_committed", false);
    assert_eq!(judged("mariadb", r#"{"errno":4025}"#), check);
    assert_ne!(judged("mysql", r#"{"errno":4025}"#).0, "CHECK_VIOLATION");
    assert_eq!(judged("mysql", r#"{"errno":4025,"sqlState":"23000"}"#), check);
}

/// redis-py's `AuthenticationError` is a `ConnectionError`, pymongo's `ServerSelectionTimeoutError` an `AutoReconnect`.
#[test]
fn the_most_derived_class_counts() {
    assert_eq!(
        judged("redis", r#"{"name":"redis.exceptions.AuthenticationError","message":"invalid"}"#),
        ("CREDENTIALS_REJECTED", "not_started", false)
    );
    assert_eq!(
        judged("mongodb", r#"{"name":"pymongo.errors.ServerSelectionTimeoutError"}"#).1,
        "not_started"
    );
    assert_eq!(judged("mongodb", r#"{"name":"pymongo.errors.AutoReconnect"}"#), UNKNOWN);
}

/// A wrapper's class says less than the server's code beneath it.
#[test]
fn the_deepest_error_with_a_code_gives_the_kind() {
    let error = r#"{"name":"org.springframework.dao.DataIntegrityViolationException",
        "cause":{"name":"org.hibernate.exception.ConstraintViolationException",
            "cause":{"name":"org.postgresql.util.PSQLException","sqlState":"23503"}}}"#;
    assert_eq!(judged("postgresql", error), ("FK_VIOLATION", "not_committed", false));
}

/// HikariCP's timeout copies SQLSTATE and cause of an older failed connect: still nothing was sent.
#[test]
fn a_pool_timeout_counts_before_the_older_failure_it_wraps() {
    let error = r#"{"name":"java.sql.SQLTransientConnectionException","sqlState":"57P01",
        "message":"HikariPool-1 - Connection is not available, request timed out after 30000ms.",
        "cause":{"name":"org.postgresql.util.PSQLException","sqlState":"57P01"}}"#;
    assert_eq!(judged("postgresql", error), ("POOL_BUSY", "not_started", true));
}

/// With synchronous replication a COMMIT ended by 57P01 had committed; 57P02 likewise.
#[test]
fn a_terminated_session_leaves_the_write_unknown() {
    for state in ["57P01", "57P02"] {
        assert_eq!(judged("postgresql", &format!(r#"{{"code":"{state}"}}"#)), UNKNOWN, "{state}");
    }
}

/// One backend kill looks different in five drivers and is the same thing in all.
#[test]
fn one_kill_is_unknown_in_every_driver() {
    for (driver, error) in [
        (
            "psycopg2",
            r#"{"name":"psycopg2.OperationalError","pgcode":null,
                "message":"server closed the connection unexpectedly\n\tThis probably means the server terminated abnormally\n"}"#,
        ),
        ("psycopg", r#"{"name":"psycopg.errors.AdminShutdown","sqlstate":"57P01"}"#),
        (
            "asyncpg",
            r#"{"name":"asyncpg.exceptions.ConnectionDoesNotExistError","sqlstate":"08003",
                "message":"connection was closed in the middle of operation",
                "__cause__":{"name":"ConnectionResetError"}}"#,
        ),
        ("node-postgres", r#"{"name":"error","severity":"FATAL","code":"57P01"}"#),
        (
            "postgres.js",
            r#"{"name":"Error","code":"CONNECTION_CLOSED","message":"write CONNECTION_CLOSED db:5432"}"#,
        ),
    ] {
        assert_eq!(with("postgresql", driver, error, EXECUTING), UNKNOWN, "{driver}");
    }
}

/// 08007 and 40003 say so outright; CockroachDB's XXA00: data committed, schema change failed.
#[test]
fn states_that_say_unknown_are_believed() {
    for state in ["08007", "40003"] {
        assert_eq!(judged("postgresql", &format!(r#"{{"code":"{state}"}}"#)), UNKNOWN, "{state}");
    }
    assert_eq!(judged("cockroachdb", r#"{"code":"XXA00"}"#), PARTIAL);
}

/// A client timeout or a lost link of SQL Server proves nothing about the statement, nor does its failover.
#[test]
fn sql_server_s_link_errors_are_unknown() {
    for number in [-2, 10053, 10054, 121, 64, 40197, 40143, 40540, 3429, 1421] {
        assert_eq!(judged("mssql", &format!(r#"{{"number":{number}}}"#)), UNKNOWN, "{number}");
    }
    let timeout = r#"{"args":["HYT00","[HYT00] [Microsoft][ODBC Driver 17 for SQL Server]Query timeout expired (0) (SQLExecDirectW)"]}"#;
    assert_eq!(judged("mssql", timeout), UNKNOWN);
}

/// `isrecoverable` tells that the session is dead, not that the write was not applied.
#[test]
fn oracle_s_recoverable_says_nothing_about_the_outcome() {
    for error in [
        r#"{"full_code":"DPY-4011","isrecoverable":true}"#,
        r#"{"code":"ORA-25405"}"#,
        r#"{"code":"ORA-25408"}"#,
        r#"{"code":"ORA-02050"}"#,
        r#"{"code":"ORA-02054"}"#,
        r#"{"code":"ORA-03113","isRecoverable":true}"#,
    ] {
        assert_eq!(judged("oracle", error), UNKNOWN, "{error}");
    }
}

/// A ClickHouse INSERT is atomic per block only; 319 was retried by clients and duplicated rows.
#[test]
fn clickhouse_inserts_may_be_partial() {
    for code in [319, 159, 241, 242, 252, 999] {
        let (_, outcome, retryable) = judged("clickhouse", &format!(r#"{{"code":{code}}}"#));
        assert_eq!((outcome, retryable), ("unknown", false), "{code}");
    }
}

/// A write timeout may be applied later, except while the batch log is written.
#[test]
fn cassandra_write_timeouts_are_unknown_except_for_the_batch_log() {
    for kind in ["SIMPLE", "BATCH", "COUNTER", "CAS", "UNLOGGED_BATCH"] {
        let error = format!(r#"{{"code":4352,"write_type":"{kind}"}}"#);
        assert_eq!(judged("cassandra", &error).1, "unknown", "{kind}");
    }
    assert_eq!(judged("cassandra", r#"{"code":4352,"write_type":"BATCH_LOG"}"#).1, "not_committed");
    assert_eq!(judged("cassandra", r#"{"code":5888}"#).1, "unknown");
}

/// gRPC's UNAVAILABLE on a write: the server may have done it before it went.
#[test]
fn grpc_unavailable_is_unknown_for_a_write() {
    assert_eq!(judged("etcd", r#"{"code":14,"details":"transport is closing"}"#), UNKNOWN);
    let text = r#""rpc error: code = Unavailable desc = transport is closing""#;
    assert_eq!(judged("other_sql", text), UNKNOWN);
}

/// A failed write concern: the write itself was applied.
#[test]
fn a_failed_write_concern_is_no_failed_write() {
    for code in [64, 79, 100] {
        let error = format!(
            r#"{{"writeConcernError":{{"code":{code},"errmsg":"waiting for replication timed out"}}}}"#
        );
        assert_eq!(judged("mongodb", &error), UNKNOWN, "{code}");
    }
}

/// `driver.ErrBadConn` promises "not sent", but lib/pq#939 and clickhouse-go#1574 break that.
#[test]
fn a_bad_connection_of_go_proves_nothing() {
    for (system, driver) in [("postgresql", "lib/pq"), ("clickhouse", "clickhouse-go")] {
        assert_eq!(with(system, driver, r#""driver: bad connection""#, EXECUTING), UNKNOWN, "{driver}");
    }
}

/// A bulk error names the failed operations; the others stand.
#[test]
fn bulk_errors_are_partial() {
    let mongodb = r#"{"name":"MongoBulkWriteError","code":11000,"writeErrors":[{"index":2,"code":11000}],
        "result":{"insertedCount":2}}"#;
    assert_eq!(judged("mongodb", mongodb), PARTIAL);
    let jdbc = r#"{"name":"java.sql.BatchUpdateException","getErrorCode":1062,"getSQLState":"23000",
        "updateCounts":[1,1,-3]}"#;
    assert_eq!(judged("mysql", jdbc), PARTIAL);
    assert_eq!(judged("oracle", r#"{"code":"ORA-24381"}"#), PARTIAL);
}

/// One insert that fails as the first of an ordered bulk leaves nothing behind, and the error counts that.
#[test]
fn a_bulk_error_that_counts_no_effect_is_a_refusal() {
    let error = r#"{"name":"MongoBulkWriteError","code":11000,"writeErrors":[{"index":0,"code":11000}],
        "result":{"insertedCount":0,"matchedCount":0,"modifiedCount":0}}"#;
    assert_eq!(judged("mongodb", error), ("UNIQUE_VIOLATION", "not_committed", false));
}

/// One name for connect, pool and in-flight timeouts: the system call or the host's phase tells them apart.
#[test]
fn a_timeout_s_name_does_not_tell_its_phase() {
    let failed = ("CONNECTION_FAILED", "not_started", true);
    assert_eq!(judged("postgresql", r#"{"code":"ETIMEDOUT","syscall":"connect"}"#), failed);
    assert_eq!(judged("postgresql", r#"{"code":"ETIMEDOUT","syscall":"read"}"#), UNKNOWN);
    for error in [
        r#"{"code":"ETIMEDOUT"}"#,
        r#"{"name":"TimeoutError"}"#,
        r#"{"name":"java.net.SocketTimeoutException"}"#,
        r#"{"name":"java.sql.SQLTimeoutException"}"#,
    ] {
        assert_eq!(judged("postgresql", error), UNKNOWN, "{error}");
        let busy = with("postgresql", "", error, r#""phase":"acquire""#);
        assert_eq!(busy, ("POOL_BUSY", "not_started", true), "{error}");
        assert_eq!(with("postgresql", "", error, r#""phase":"connect""#), failed, "{error}");
    }
}

/// asyncpg's pool timeout and query timeout are both an empty `TimeoutError`; only the first has a cause. Where
/// the host knows that the statement was sent, the cause can only be the caller's own cancel.
#[test]
fn asyncpg_s_two_timeouts_are_told_apart_by_their_cause() {
    let acquire =
        r#"{"name":"TimeoutError","message":"","__cause__":{"name":"asyncio.exceptions.CancelledError"}}"#;
    let query = r#"{"name":"TimeoutError","message":""}"#;
    let somewhere = r#""transaction":"none""#;
    assert_eq!(with("postgresql", "asyncpg", acquire, somewhere), ("POOL_BUSY", "not_started", true));
    assert_eq!(with("postgresql", "asyncpg", query, somewhere), UNKNOWN);
    assert_eq!(with("postgresql", "asyncpg", acquire, EXECUTING), UNKNOWN);
}

/// pgbouncer gives 08P01 to all its own errors; `query_wait_timeout` means that no server was free.
#[test]
fn pgbouncer_s_catch_all_is_read_by_its_text() {
    assert_eq!(
        judged("pgbouncer", r#"{"code":"08P01","message":"query_wait_timeout"}"#),
        ("POOL_BUSY", "not_started", true)
    );
    let malformed = r#"{"code":"08P01","message":"invalid message format"}"#;
    assert_eq!(judged("postgresql", malformed).1, "unknown");
    let hidden = r#"{"name":"asyncpg.exceptions.ConnectionDoesNotExistError","sqlstate":"08003"}"#;
    assert_eq!(judged("postgresql", hidden), UNKNOWN);
}

/// MySQL's 1205 and ORA-00060 undo the statement only; a deadlock undoes the transaction.
#[test]
fn the_scope_of_the_rollback_differs() {
    assert_eq!(scope("mysql", r#"{"errno":1205}"#), "statement");
    assert_eq!(scope("oracle", r#"{"code":"ORA-00060"}"#), "statement");
    assert_eq!(scope("mysql", r#"{"errno":1213}"#), "transaction");
    assert_eq!(scope("postgresql", r#"{"code":"40P01"}"#), "transaction");
    assert_eq!(scope("mssql", r#"{"number":1205}"#), "transaction");
}

/// A refused write on a read-only server, and a plan that went stale, wrote nothing.
#[test]
fn what_looks_permanent_may_be_a_stale_writer_or_plan() {
    for (system, error) in [
        ("postgresql", r#"{"code":"25006"}"#),
        ("mysql", r#"{"errno":1290}"#),
        ("mysql", r#"{"errno":1836}"#),
    ] {
        assert_eq!(judged(system, error), ("READ_ONLY", "not_committed", false), "{error}");
    }
    assert_eq!(
        judged("postgresql", r#"{"code":"0A000","message":"cached plan must not change result type"}"#),
        ("STALE_PLAN", "not_committed", true)
    );
}

/// 57014 stands for three things; without its text it is a timeout.
#[test]
fn one_state_for_timeout_cancel_and_recovery_is_read_by_its_text() {
    let with_text =
        |message: &str| judged("postgresql", &format!(r#"{{"code":"57014","message":"{message}"}}"#));
    let timeout = ("DB_TIMEOUT", "not_committed", true);
    assert_eq!(with_text("canceling statement due to statement timeout"), timeout);
    assert_eq!(with_text("由于语句执行超时，正在取消语句"), timeout);
    assert_eq!(with_text("canceling statement due to user request"), ("CANCELLED", "not_committed", false));
}

/// A reset connection after the write was sent is no invitation to repeat it.
#[test]
fn a_reset_after_sending_is_not_retried() {
    assert_eq!(judged("postgresql", r#"{"code":"ECONNRESET","syscall":"read"}"#), UNKNOWN);
}

/// HTTP 200 hides what was not done.
#[test]
fn partial_failures_inside_a_success_are_partial() {
    for (system, error) in [
        (
            "dynamodb",
            r#"{"UnprocessedItems":{"t":[{"PutRequest":{}}]},"ResponseMetadata":{"HTTPStatusCode":200}}"#,
        ),
        (
            "elasticsearch",
            r#"{"errors":true,"items":[{"index":{"status":201}},
                {"index":{"status":429,"error":{"type":"es_rejected_execution_exception"}}}]}"#,
        ),
        ("bigquery", r#"{"insertErrors":[{"index":0,"errors":[{"reason":"invalid"}]}]}"#),
    ] {
        assert_eq!(judged(system, error), PARTIAL, "{system}");
    }
}

/// A cancelled DynamoDB transaction wrote nothing, and its reasons say why.
#[test]
fn a_transaction_cancelled_as_a_whole_wrote_nothing() {
    let error = r#"{"name":"TransactionCanceledException",
        "CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed"}]}"#;
    assert_eq!(judged("dynamodb", error), ("VERSION_CONFLICT", "not_committed", false));
}

/// Labels count before codes, and only an explicit no proves no.
#[test]
fn mongodb_s_labels_count_before_its_codes() {
    let outcome = |labels: &str| judged("mongodb", &format!(r#"{{"code":91,"errorLabels":[{labels}]}}"#)).1;
    assert_eq!(outcome(r#""RetryableWriteError","NoWritesPerformed""#), "not_committed");
    assert_eq!(outcome(r#""UnknownTransactionCommitResult""#), "unknown");
    assert_eq!(outcome(r#""RetryableWriteError""#), "unknown");
}

/// A row's value can hold any words: they prove nothing about the write.
#[test]
fn words_in_a_row_s_value_prove_nothing() {
    for error in [
        r#""could not save 'SQLSTATE[40001]: Serialization failure'""#,
        r#"{"message":"row \"deadlock detected (SQLSTATE 40P01)\" is odd"}"#,
        r#"{"message":"value 'ORA-00060: deadlock detected' is odd"}"#,
        r#"{"message":"value \"{\\\"committed\\\":false,\\\"code\\\":\\\"40001\\\"}\" is odd"}"#,
        r#"{"message":"value \"{'committed': False, 'code': '40001'}\" is odd"}"#,
        r#"{"detail":"Key (a)=(SQLSTATE[40001]: x) already exists.","message":"odd"}"#,
    ] {
        assert_eq!(judged("postgresql", error), UNKNOWN, "{error}");
    }
    let unique = r#"{"code":"23505","message":"duplicate key value violates unique constraint \"a\"",
        "detail":"Key (a)=(SQLSTATE[57P01]: ) already exists."}"#;
    assert_eq!(judged("postgresql", unique), ("UNIQUE_VIOLATION", "not_committed", false));
}

/// The driver repeated the request by itself: the last refusal says nothing about the first try.
#[test]
fn hidden_attempts_make_a_refusal_unknown() {
    let error = |attempts: u32| {
        format!(
            r#"{{"name":"ConditionalCheckFailedException","$metadata":{{"attempts":{attempts},"httpStatusCode":400}}}}"#
        )
    };
    assert_eq!(judged("dynamodb", &error(3)).1, "unknown");
    assert_eq!(judged("dynamodb", &error(1)), ("VERSION_CONFLICT", "not_committed", false));
}
