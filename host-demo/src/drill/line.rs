//! One connection of a host without keys: statements in, the driver's error out.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::Connection;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, MySqlConnection, PgConnection};
use tokio::task::block_in_place;
use tokio::time::timeout;

use super::faults::{Fault, Faults};
use super::mongreldb::writes::HttpLine;
use crate::adapters;

/// A connection.
#[async_trait]
pub trait Line: Send {
    /// Runs one statement. Its error is the driver's, as JSON; the condition where the client gave up.
    async fn run(&mut self, sql: &str) -> Result<(), Value>;
}

/// Where lines lead to.
#[derive(Clone, Debug)]
pub enum Lines {
    /// A server, by its URL through the proxy.
    Postgres(String),
    /// A server, by its URL through the proxy.
    MySql(String),
    /// A daemon, by its URL through the proxy.
    Mongreldb(String),
    /// A file; the faults are between the caller and the library, in process.
    Sqlite(PathBuf, Faults),
}

impl Lines {
    /// A new connection of a client that waits so long for an answer.
    pub async fn connect(&self, patience: Duration) -> Result<Box<dyn Line>, Value> {
        match self {
            Lines::Postgres(url) => {
                let options: sqlx::postgres::PgConnectOptions = url.parse().map_err(failed)?;
                Ok(Box::new(PostgresLine(answered(patience, options.connect()).await?, patience)))
            }
            Lines::MySql(url) => {
                let options: sqlx::mysql::MySqlConnectOptions = url.parse().map_err(failed)?;
                Ok(Box::new(MySqlLine(answered(patience, options.connect()).await?, patience)))
            }
            Lines::Mongreldb(url) => Ok(Box::new(HttpLine::new(url, patience)?)),
            Lines::Sqlite(file, faults) => {
                Ok(Box::new(SqliteLine { connection: open(file)?, faults: faults.clone() }))
            }
        }
    }
}

struct PostgresLine(PgConnection, Duration);
struct MySqlLine(MySqlConnection, Duration);
struct SqliteLine {
    connection: Connection,
    faults: Faults,
}

#[async_trait]
impl Line for PostgresLine {
    async fn run(&mut self, sql: &str) -> Result<(), Value> {
        answered(self.1, self.0.execute(AssertSqlSafe(sql))).await.map(drop)
    }
}

#[async_trait]
impl Line for MySqlLine {
    async fn run(&mut self, sql: &str) -> Result<(), Value> {
        answered(self.1, self.0.execute(AssertSqlSafe(sql))).await.map(drop)
    }
}

#[async_trait]
impl Line for SqliteLine {
    async fn run(&mut self, sql: &str) -> Result<(), Value> {
        let fault = self.faults.judge(sql.as_bytes()).fault;
        let lost = || json!({ "name": "Error", "code": "ECONNRESET", "message": "read ECONNRESET" });
        if fault == Some(Fault::CutBefore) {
            return Err(lost());
        }
        let result = block_in_place(|| self.connection.execute_batch(sql));
        match (fault, result) {
            (Some(_), _) => Err(lost()),
            (None, Ok(())) => Ok(()),
            (None, Err(error)) => Err(adapters::rusqlite(&error)),
        }
    }
}

fn open(file: &Path) -> Result<Connection, Value> {
    let raw = |error: rusqlite::Error| adapters::rusqlite(&error);
    let connection = Connection::open(file).map_err(raw)?;
    connection.busy_timeout(Duration::from_millis(20)).map_err(raw)?;
    // What the kernel has is safe: no machine is lost here.
    connection.execute_batch("PRAGMA synchronous = OFF").map_err(raw)?;
    Ok(connection)
}

/// The answer, unless the client's patience ends first.
async fn answered<T>(patience: Duration, answer: impl Future<Output = sqlx::Result<T>>) -> Result<T, Value> {
    match timeout(patience, answer).await {
        Ok(result) => result.map_err(failed),
        Err(_) => Err(json!({ "condition": "DB_TIMEOUT" })),
    }
}

fn failed(error: sqlx::Error) -> Value {
    adapters::sqlx(&error)
}
