//! The errors: each from a real statement on a real file, reported as a host would.

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Error;
use crate::{adapters, ids};

/// A tool's call that met an error.
pub struct Incident {
    /// What happened.
    pub title: &'static str,
    /// The tool.
    pub tool: &'static str,
    /// The report for the contract.
    pub report: Value,
    /// Texts of this incident that must not be published.
    pub secrets: &'static [&'static str],
}

const SCHEMA: &str = "
    PRAGMA foreign_keys = ON;
    CREATE TABLE customers (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE orders (
        id INTEGER PRIMARY KEY,
        customer_id INTEGER NOT NULL REFERENCES customers (id),
        status TEXT NOT NULL CONSTRAINT known_status CHECK (status IN ('open', 'shipped', 'closed')),
        cents INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE ledger_2025 (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL) STRICT;
    CREATE VIEW report_v1 AS SELECT sum(cents) AS cents FROM ledger_2025;
    INSERT INTO customers VALUES (1, 'amina.okafor@example.com');
    INSERT INTO orders VALUES (1, 1, 'open', 4200);
";

/// Statements of the write tool that the database refuses.
const REFUSED: &[(&str, &str, &[&str])] = &[
    (
        "unique violation",
        "INSERT INTO customers VALUES (2, 'amina.okafor@example.com')",
        &["amina.okafor", "customers"],
    ),
    ("foreign key violation", "INSERT INTO orders VALUES (2, 77, 'open', 100)", &["orders"]),
    (
        "check violation",
        "UPDATE orders SET status = 'lost at sea' WHERE id = 1",
        &["known_status", "lost at sea"],
    ),
    ("null where none may be", "UPDATE orders SET cents = NULL WHERE id = 1", &["orders", "cents"]),
    ("bad value", "UPDATE orders SET cents = 'forty-two' WHERE id = 1", &["orders", "forty-two"]),
];

const WRITE: &str = "UPDATE orders SET status = 'shipped' WHERE id = 1";
const READ: &str = "SELECT cents FROM report_v1";
const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

/// Provokes them all.
pub fn all() -> Result<Vec<Incident>, Error> {
    let folder = TempDir::new()?;
    let file = folder.path().join("shop.sqlite");
    let database = Connection::open(&file)?;
    database.execute_batch(SCHEMA)?;

    let mut incidents = Vec::new();
    for &(title, statement, secrets) in REFUSED {
        let error = expect_error(title, database.execute(statement, []))?;
        incidents.push(write(title, statement, &adapters::rusqlite(&error), secrets));
    }
    let (missing, error) = ("missing table under a pinned view", missing_table(&database)?);
    incidents.push(read(missing, READ, &error, &["ledger_2025"]));
    incidents.push(write("locked by another connection", WRITE, &busy(&file)?, &["orders"]));
    incidents.push(interrupted(&database)?);
    incidents.push(write("read-only file", WRITE, &read_only(&file)?, &["orders"]));
    incidents.push(read("corrupt file", "SELECT cents FROM orders", &corrupt(&folder)?, &["orders"]));
    incidents.push(write(
        "disk full",
        "INSERT INTO blobs VALUES (zeroblob(1000000))",
        &full(&folder)?,
        &["blobs"],
    ));
    incidents.push(pool_exhausted(&file)?);
    incidents.push(commit_lost());
    Ok(incidents)
}

/// The report of a write in autocommit, with a fresh operation key whose receipt can be looked up.
fn write(title: &'static str, statement: &str, error: &Value, secrets: &'static [&'static str]) -> Incident {
    let operation = json!({
        "effect": "write", "phase": "execute", "transaction": "none", "statement": statement,
        "operation_key": operation_key(), "dedupe": "receipt",
    });
    incident(title, "update_status", error, operation, secrets)
}

fn read(title: &'static str, statement: &str, error: &Value, secrets: &'static [&'static str]) -> Incident {
    let operation =
        json!({ "effect": "read", "phase": "execute", "transaction": "none", "statement": statement });
    incident(title, "report", error, operation, secrets)
}

fn incident(
    title: &'static str,
    tool: &'static str,
    error: &Value,
    operation: Value,
    secrets: &'static [&'static str],
) -> Incident {
    let report = json!({
        "error": error,
        "system": "sqlite",
        "driver": "rusqlite",
        "operation": operation,
        "attempt": { "number": 1, "elapsed_ms": 40, "deadline_ms": 10_000 },
        "context": { "trace_id": ids::trace_id(), "tool": tool, "tool_version": "1", "authorized": true },
        "seed": ids::seed(),
    });
    Incident { title, tool, report, secrets }
}

fn operation_key() -> String {
    format!("op-{:.12}", ids::trace_id())
}

fn missing_table(database: &Connection) -> Result<Value, Error> {
    database.execute_batch("ALTER TABLE ledger_2025 RENAME TO ledger_old; DROP VIEW report_v1")?;
    database.execute_batch("CREATE VIEW report_v1 AS SELECT sum(cents) AS cents FROM ledger_2025")?;
    let error = database.query_row(READ, [], |row| row.get::<_, i64>(0));
    Ok(adapters::rusqlite(&expect_error("a view on a missing table", error)?))
}

fn busy(file: &Path) -> Result<Value, Error> {
    let (holder, waiter) = (Connection::open(file)?, Connection::open(file)?);
    holder.execute_batch("BEGIN IMMEDIATE")?;
    waiter.busy_timeout(Duration::from_millis(20))?;
    Ok(adapters::rusqlite(&expect_error("a write under another's lock", waiter.execute(WRITE, []))?))
}

fn interrupted(database: &Connection) -> Result<Incident, Error> {
    let handle = database.get_interrupt_handle();
    let error = thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(Duration::from_millis(30));
            handle.interrupt();
        });
        database.query_row(ENDLESS, [], |row| row.get::<_, i64>(0))
    });
    let error = adapters::rusqlite(&expect_error("an interrupted query", error)?);
    let mut incident = read("cancelled while running", ENDLESS, &error, &["RECURSIVE"]);
    incident.report["cancel"] = "confirmed".into();
    Ok(incident)
}

fn read_only(file: &Path) -> Result<Value, Error> {
    let database = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    Ok(adapters::rusqlite(&expect_error("a write to a read-only file", database.execute(WRITE, []))?))
}

fn corrupt(folder: &TempDir) -> Result<Value, Error> {
    let file = folder.path().join("damaged.sqlite");
    Connection::open(&file)?.execute_batch(SCHEMA)?;
    // The first page (the schema) stays, all others are overwritten.
    let mut bytes = OpenOptions::new().write(true).open(&file)?;
    let length = bytes.metadata()?.len().saturating_sub(4096);
    bytes.seek(SeekFrom::Start(4096))?;
    bytes.write_all(&vec![0xA5; usize::try_from(length).unwrap_or_default()])?;
    let database = Connection::open(&file)?;
    let error = database.query_row("SELECT cents FROM orders", [], |row| row.get::<_, i64>(0));
    Ok(adapters::rusqlite(&expect_error("a read of a damaged file", error)?))
}

fn full(folder: &TempDir) -> Result<Value, Error> {
    let database = Connection::open(folder.path().join("small.sqlite"))?;
    database.execute_batch("CREATE TABLE blobs (content BLOB); PRAGMA max_page_count = 8")?;
    let error = database.execute("INSERT INTO blobs VALUES (zeroblob(1000000))", []);
    Ok(adapters::rusqlite(&expect_error("a write beyond the page limit", error)?))
}

/// The wait for a pooled connection times out: the statement was never sent.
fn pool_exhausted(file: &Path) -> Result<Incident, Error> {
    let pool = r2d2::Pool::builder().max_size(1).build(SqliteConnectionManager::file(file))?;
    let _held = pool.get()?;
    let title = "pool exhausted before sending";
    let Err(error) = pool.get_timeout(Duration::from_millis(50)) else {
        return Err(Error::Spared { title });
    };
    let mut incident = write(title, WRITE, &adapters::r2d2(&error), &["orders"]);
    incident.report["operation"]["phase"] = "acquire".into();
    Ok(incident)
}

/// SQLite has no connection to lose: the error is the one that node-postgres gives, on a transaction's COMMIT.
fn commit_lost() -> Incident {
    let error = json!({
        "name": "Error", "code": "ECONNRESET", "errno": -104, "syscall": "read",
        "message": "read ECONNRESET", "address": "10.20.0.7", "port": 5432,
    });
    let mut incident = write("connection lost during COMMIT", WRITE, &error, &["10.20.0.7"]);
    incident.report["system"] = "postgresql".into();
    incident.report["driver"] = "node-postgres".into();
    incident.report["operation"]["phase"] = "commit".into();
    incident.report["operation"]["transaction"] = "committing".into();
    incident
}

fn expect_error<T>(title: &'static str, result: rusqlite::Result<T>) -> Result<rusqlite::Error, Error> {
    result.err().ok_or(Error::Spared { title })
}
