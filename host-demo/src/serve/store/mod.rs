//! The databases behind the tools. A step's error is the driver's own, as JSON: nothing here judges it.

#[macro_use]
mod server;
mod mysql;
mod postgres;
mod sqlite;

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use crate::receipts::{Claim, Key, Lifetimes, LookUp, Scope, Ticket};

/// The driver's error, as JSON.
pub type Raw = Value;

/// A database that hands out sessions.
#[async_trait]
pub trait Store: Send + Sync {
    /// OpenTelemetry's name of the system.
    fn system(&self) -> &'static str;

    /// The driver's name.
    fn driver(&self) -> &'static str;

    /// A session from the pool.
    async fn acquire(&self) -> Result<Box<dyn Session>, Raw>;
}

/// One connection, for one call.
#[async_trait]
pub trait Session: Send {
    /// The tenant's orders, by the pinned statement on the view.
    async fn report(&mut self, tenant: &str, status: Option<&str>, limit: i64) -> Result<Value, Raw>;

    /// The rows of a statement that the model wrote: read-only, and nothing but the tenant's view in sight.
    async fn query(&mut self, tenant: &str, sql: &str) -> Result<Value, Raw>;

    /// Claims an operation key for an attempt that began at this time, in a transaction of its own.
    async fn claim(&mut self, key: &Key, lifetimes: Lifetimes, began_ms: i64) -> Result<Claim, Raw>;

    /// Begins the transaction.
    async fn begin(&mut self) -> Result<(), Raw>;

    /// Changes an order. How many rows changed: 0 where the tenant has no such order.
    async fn change(&mut self, tenant: &str, order_id: i64, status: &str) -> Result<u64, Raw>;

    /// Writes the receipt into the transaction. `false` where the key has been taken from this attempt.
    async fn receipt(&mut self, ticket: &Ticket, result: &str) -> Result<bool, Raw>;

    /// Commits.
    async fn commit(&mut self) -> Result<(), Raw>;

    /// Gives the key back after an attempt without effect.
    async fn release(&mut self, ticket: &Ticket) -> Result<(), Raw>;

    /// Fences earlier attempts off and looks the key up.
    async fn fence(&mut self, scope: &Scope, lifetimes: Lifetimes, now_ms: i64) -> Result<LookUp, Raw>;

    /// Forgets the keys that were over at that time.
    async fn forget(&mut self, before_ms: i64) -> Result<(), Raw>;

    /// Does what a decision's `cleanup` says, and gives the connection back or up.
    async fn clean(self: Box<Self>, cleanup: &str);
}

/// Times and sizes, and what may be laid out.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections of the pool.
    pub pool: u32,
    /// How long to wait for one.
    pub pool_wait: Duration,
    /// The server's own limit for one statement.
    pub statement: Duration,
    /// May roles be made for the tenants? PostgreSQL runs model-written statements as one of them, or not at all.
    pub tenant_roles: bool,
}

/// The pinned statement of `report`, in the spelling of SQLite and PostgreSQL.
const REPORT: &str = "SELECT id, status, cents FROM report_v1 WHERE tenant = $1 AND ($2 IS NULL OR status = $2) ORDER BY id DESC LIMIT $3";
/// The most rows of a model's statement.
const MOST_ROWS: usize = 100;
/// How long a cleanup may take.
const CLEANUP: Duration = Duration::from_secs(2);

/// Opens the database and lays out the tables and the seed, where they are missing: the URL's own, else SQLite in `file`.
pub async fn open(url: Option<&str>, file: PathBuf, limits: Limits) -> Result<Box<dyn Store>, String> {
    let scheme = url.and_then(|url| url.split_once(':')).map(|(scheme, _)| scheme);
    // The drivers' messages may hold the URL with its password: the scheme says enough.
    let failed = |system: &str, error: Raw| format!("cannot open the {system} database: {}", summary(&error));
    match (scheme, url) {
        (Some("postgres" | "postgresql"), Some(url)) => match postgres::open(url, limits).await {
            Ok(store) => Ok(Box::new(store)),
            Err(error) => Err(failed("PostgreSQL", error)),
        },
        (Some("mysql" | "mariadb"), Some(url)) => match mysql::open(url, limits).await {
            Ok(store) => Ok(Box::new(store)),
            Err(error) => Err(failed("MySQL", error)),
        },
        (None, None) => match sqlite::open(&file, limits) {
            Ok(store) => Ok(Box::new(store)),
            Err(error) => Err(failed("SQLite", error)),
        },
        _ => Err(String::from("--database takes postgres://… or mysql://…; without it SQLite is used")),
    }
}

/// What of an error may stand on the terminal: name and code, no message.
fn summary(error: &Raw) -> String {
    let word = |name: &str| match &error[name] {
        Value::Null => String::new(),
        value => value.to_string(),
    };
    format!("{} {}", word("name"), word("code"))
}
