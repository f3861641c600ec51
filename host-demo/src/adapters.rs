//! Errors of Rust drivers as the JSON that a report's `error` takes: every field by the driver's own name, and no thought.

use rusqlite::Error as Sqlite;
use serde_json::{Value, json};

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
