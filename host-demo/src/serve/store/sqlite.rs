//! The embedded default: SQLite in a file, by rusqlite and r2d2.

use std::path::Path;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use r2d2::{Pool, PooledConnection};
use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::hooks::{AuthAction, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, Row, params};
use serde_json::{Map, Value, json};
use tokio::task::block_in_place;

use super::{Limits, MOST_ROWS, REPORT, Raw, Session, Store};
use crate::adapters;
use crate::receipts::sqlite as receipts;
use crate::receipts::{Claim, Error, Key, Lifetimes, LookUp, Scope, Ticket};

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS orders (
        id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, email TEXT NOT NULL UNIQUE,
        status TEXT NOT NULL CHECK (status IN ('open', 'shipped', 'closed')), cents INTEGER NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS changes (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL, status TEXT NOT NULL) STRICT;
    CREATE VIEW IF NOT EXISTS report_v1 AS SELECT id, tenant, status, cents FROM orders;
    INSERT OR IGNORE INTO orders VALUES
        (1, 'north', 'amina@north.example', 'open', 4200), (2, 'north', 'bo@north.example', 'shipped', 990),
        (3, 'south', 'chidi@south.example', 'open', 12500), (4, 'south', 'dana@south.example', 'closed', 310);
";

pub struct Sqlite {
    pool: Pool<SqliteConnectionManager>,
    limits: Limits,
}

struct SqliteSession {
    connection: PooledConnection<SqliteConnectionManager>,
    statement: Duration,
}

pub fn open(file: &Path, limits: Limits) -> Result<Sqlite, Raw> {
    let connection = Connection::open(file).map_err(|error| adapters::rusqlite(&error))?;
    connection.execute_batch(SCHEMA).map_err(|error| adapters::rusqlite(&error))?;
    receipts::create(&connection).map_err(|error| adapters::rusqlite(&error))?;
    let busy = limits.statement;
    let manager =
        SqliteConnectionManager::file(file).with_init(move |connection| connection.busy_timeout(busy));
    let pool = Pool::builder().max_size(limits.pool).connection_timeout(limits.pool_wait);
    let pool = pool.build(manager).map_err(|error| adapters::r2d2(&error))?;
    Ok(Sqlite { pool, limits })
}

#[async_trait]
impl Store for Sqlite {
    fn system(&self) -> &'static str {
        "sqlite"
    }

    fn driver(&self) -> &'static str {
        "rusqlite"
    }

    async fn acquire(&self) -> Result<Box<dyn Session>, Raw> {
        let connection = block_in_place(|| self.pool.get()).map_err(|error| adapters::r2d2(&error))?;
        Ok(Box::new(SqliteSession { connection, statement: self.limits.statement }))
    }
}

impl SqliteSession {
    /// Runs a step, and interrupts it after the statement's time.
    fn step<T>(&mut self, step: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T, Raw> {
        let ends = Instant::now() + self.statement;
        let connection: &mut Connection = &mut self.connection;
        block_in_place(|| {
            connection.progress_handler(10_000, Some(move || Instant::now() > ends))?;
            let result = step(connection);
            connection.progress_handler(0, None::<fn() -> bool>)?;
            result
        })
        .map_err(|error| match error.sqlite_error_code() {
            // Nothing else interrupts, and SQLite itself cannot say why it was interrupted.
            Some(ErrorCode::OperationInterrupted) => json!({ "condition": "DB_TIMEOUT" }),
            _ => adapters::rusqlite(&error),
        })
    }
}

#[async_trait]
impl Session for SqliteSession {
    async fn report(&mut self, tenant: &str, status: Option<&str>, limit: i64) -> Result<Value, Raw> {
        self.step(|connection| {
            let mut statement = connection.prepare_cached(&REPORT.replace('$', "?"))?;
            rows(&mut statement, params![tenant, status, limit])
        })
    }

    async fn query(&mut self, tenant: &str, sql: &str) -> Result<Value, Raw> {
        self.step(|connection| {
            let tenant = tenant.replace('\'', "''");
            connection.execute_batch(&format!(
                "DROP VIEW IF EXISTS temp.orders_v1;
                 CREATE TEMP VIEW orders_v1 AS SELECT id, status, cents FROM main.orders WHERE tenant = '{tenant}'"
            ))?;
            connection.authorizer(Some(|context: rusqlite::hooks::AuthContext<'_>| match context.action {
                AuthAction::Select | AuthAction::Function { .. } | AuthAction::Recursive => Authorization::Allow,
                AuthAction::Read { table_name: "orders_v1", .. } => Authorization::Allow,
                AuthAction::Read { .. } if context.accessor == Some("orders_v1") => Authorization::Allow,
                _ => Authorization::Deny,
            }))?;
            let result = connection.prepare(sql).and_then(|mut statement| rows(&mut statement, params![]));
            connection.authorizer(None::<fn(rusqlite::hooks::AuthContext<'_>) -> Authorization>)?;
            result
        })
    }

    async fn claim(&mut self, key: &Key, lifetimes: Lifetimes, began_ms: i64) -> Result<Claim, Raw> {
        self.step(|connection| receipts::claim(connection, key, lifetimes, began_ms))
    }

    async fn begin(&mut self) -> Result<(), Raw> {
        self.step(|connection| connection.execute_batch("BEGIN IMMEDIATE"))
    }

    async fn change(&mut self, tenant: &str, order_id: i64, status: &str) -> Result<u64, Raw> {
        self.step(|connection| {
            let update = "UPDATE orders SET status = ?1 WHERE id = ?2 AND tenant = ?3";
            let changed = connection.execute(update, params![status, order_id, tenant])?;
            if changed > 0 {
                connection.execute(
                    "INSERT INTO changes (order_id, status) VALUES (?1, ?2)",
                    params![order_id, status],
                )?;
            }
            Ok(changed as u64)
        })
    }

    async fn receipt(&mut self, ticket: &Ticket, result: &str) -> Result<bool, Raw> {
        self.step(|connection| match receipts::commit(connection, ticket, result) {
            Ok(()) => Ok(true),
            Err(Error::Fenced(_)) => Ok(false),
            Err(Error::Store(error)) => Err(error),
        })
    }

    async fn commit(&mut self) -> Result<(), Raw> {
        self.step(|connection| connection.execute_batch("COMMIT"))
    }

    async fn release(&mut self, ticket: &Ticket) -> Result<(), Raw> {
        self.step(|connection| receipts::release(connection, ticket))
    }

    async fn fence(&mut self, scope: &Scope, lifetimes: Lifetimes, now_ms: i64) -> Result<LookUp, Raw> {
        self.step(|connection| receipts::fence(connection, scope, lifetimes, now_ms))
    }

    async fn forget(&mut self, before_ms: i64) -> Result<(), Raw> {
        self.step(|connection| receipts::forget(connection, before_ms)).map(drop)
    }

    async fn clean(mut self: Box<Self>, _cleanup: &str) {
        // An open transaction is all that a connection to a file can leave behind.
        if !self.connection.is_autocommit() {
            let _ = self.step(|connection| connection.execute_batch("ROLLBACK"));
        }
    }
}

fn rows(
    statement: &mut rusqlite::Statement<'_>,
    parameters: impl rusqlite::Params,
) -> rusqlite::Result<Value> {
    let names: Vec<String> = statement.column_names().iter().map(|name| String::from(*name)).collect();
    let object = |row: &Row<'_>| {
        names.iter().enumerate().map(|(at, name)| Ok((name.clone(), column(row.get_ref(at)?)))).collect()
    };
    let rows = statement.query_map(parameters, object)?.take(MOST_ROWS);
    rows.collect::<rusqlite::Result<Vec<Map<String, Value>>>>()
        .map(|rows| rows.into_iter().map(Value::Object).collect())
}

fn column(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()).into(),
    }
}
