//! Errors of Rust drivers as the JSON that a report's `error` takes: every field by the driver's own name, and no thought.

use std::error::Error as _;

use rusqlite::Error as Sqlite;
use serde_json::{Value, json};
use sqlx::mysql::MySqlDatabaseError;
use sqlx::postgres::PgDatabaseError;

/// An error of rusqlite.
pub fn rusqlite(error: &Sqlite) -> Value {
    match error {
        Sqlite::SqliteFailure(code, message) => json!({
            "name": "rusqlite::Error::SqliteFailure",
            "code": format!("{:?}", code.code),
            "extended_code": code.extended_code,
            "message": message.clone().unwrap_or_else(|| error.to_string()),
        }),
        Sqlite::SqlInputError { error: code, msg, sql, offset } => json!({
            "name": "rusqlite::Error::SqlInputError",
            "code": format!("{:?}", code.code),
            "extended_code": code.extended_code,
            "message": msg,
            "sql": sql,
            "offset": offset,
        }),
        other => json!({ "name": "rusqlite::Error", "message": other.to_string() }),
    }
}

/// An error of the pool r2d2: it had no connection to give.
pub fn r2d2(error: &r2d2::Error) -> Value {
    json!({ "name": "r2d2::Error", "message": error.to_string() })
}

/// An error of reqwest. What the system said is behind several others; where it said nothing, because the other side
/// ended the connection in order or no answer came in time, reqwest's own predicates say what happened.
pub fn reqwest(error: &reqwest::Error) -> Value {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    let of_system = causes.filter_map(|cause| cause.downcast_ref::<std::io::Error>()).last();
    if let Some(cause) = of_system.filter(|cause| cause.raw_os_error().is_some()) {
        return json!({
            "name": "reqwest::Error",
            "kind": format!("{:?}", cause.kind()),
            "errno": cause.raw_os_error(),
            "cause": { "name": "std::io::Error", "message": cause.to_string() },
        });
    }
    match error {
        _ if error.is_timeout() => json!({ "condition": "DB_TIMEOUT" }),
        _ if error.is_connect() => json!({ "condition": "CONNECTION_FAILED" }),
        _ if error.is_builder() => json!({ "name": "reqwest::Error", "message": error.to_string() }),
        _ => json!({ "condition": "CONNECTION_LOST" }),
    }
}

/// An error of sqlx, over PostgreSQL or MySQL.
pub fn sqlx(error: &sqlx::Error) -> Value {
    match error {
        sqlx::Error::Database(database) => {
            if let Some(error) = database.try_downcast_ref::<PgDatabaseError>() {
                return json!({
                    "name": "sqlx::Error::Database",
                    "code": error.code(),
                    "severity": format!("{:?}", error.severity()),
                    "message": error.message(),
                    "detail": error.detail(),
                    "hint": error.hint(),
                    "constraint": error.constraint(),
                    "table": error.table(),
                });
            }
            let number = database.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number);
            json!({
                "name": "sqlx::Error::Database",
                "code": database.code(),
                "number": number,
                "message": database.message(),
            })
        }
        sqlx::Error::Io(cause) => json!({
            "name": "sqlx::Error::Io",
            "message": error.to_string(),
            "kind": format!("{:?}", cause.kind()),
            "errno": cause.raw_os_error(),
            "cause": { "name": "std::io::Error", "message": cause.to_string() },
        }),
        other => json!({
            "name": format!("sqlx::Error::{}", variant(other)),
            "message": other.to_string(),
            "cause": other.source().map(|cause| json!({ "message": cause.to_string() })),
        }),
    }
}

/// The name of the error's variant, as its debug form begins with it.
fn variant(error: &sqlx::Error) -> String {
    format!("{error:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}
