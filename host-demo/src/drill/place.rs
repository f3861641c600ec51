//! Where clients write: a database of its own, behind a proxy of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, MySqlConnection, PgConnection, Row as _};
use tempfile::TempDir;
use tokio::task::block_in_place;

use super::faults::Faults;
use super::line::Lines;
use super::proxy::Proxy;
use super::servers::{START, Server};
use super::{Error, Target};

/// How long the sessions of clients that have gone may take to end.
const QUIET: Duration = Duration::from_secs(60);
/// How long they may take to end by themselves.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where a database is, and what stands before it.
pub struct Place {
    /// Which.
    pub target: Target,
    /// What breaks.
    pub faults: Faults,
    /// A folder for files.
    pub folder: TempDir,
    /// What is behind it; `None` for SQLite.
    pub served: Option<Served>,
}

/// A database on a server.
pub struct Served {
    /// The server.
    pub server: Arc<Server>,
    database: String,
    proxy: Proxy,
}

/// A connection past the proxy, with all rights.
pub enum Admin {
    /// By sqlx.
    Postgres(PgConnection),
    /// By sqlx.
    Mariadb(MySqlConnection),
    /// By rusqlite.
    Sqlite(Connection),
}

impl Place {
    /// Starts what the target needs.
    pub async fn start(target: Target) -> Result<Place, Error> {
        if target == Target::Sqlite {
            return Ok(Place { target, faults: Faults::default(), folder: TempDir::new()?, served: None });
        }
        let server = Arc::new(block_in_place(|| Server::start(target))?);
        let mut admin = patiently(target, &server, None).await?;
        if target == Target::Mariadb {
            // Without the right to write to a server that is read-only, which an administrator has.
            for statement in [
                "CREATE USER drill@'127.0.0.1'",
                "GRANT ALL PRIVILEGES ON `drill\\_%`.* TO drill@'127.0.0.1'",
            ] {
                admin.execute(statement).await?;
            }
        }
        Place::on(target, server).await
    }

    /// A connection to the server, with all rights.
    pub async fn admin_of(target: Target, server: &Server) -> Result<Admin, Error> {
        Admin::open(target, server, None).await
    }

    /// Another database of the same kind, on the same server.
    pub async fn another(&self) -> Result<Place, Error> {
        match &self.served {
            Some(served) => Place::on(self.target, Arc::clone(&served.server)).await,
            None => Place::start(self.target).await,
        }
    }

    async fn on(target: Target, server: Arc<Server>) -> Result<Place, Error> {
        let database = server.new_name();
        let create = format!("CREATE DATABASE {database}");
        patiently(target, &server, None).await?.execute(&create).await?;
        let proxy = Proxy::start(Arc::clone(&server), target).await?;
        let faults = proxy.faults().clone();
        let served = Some(Served { server, database, proxy });
        Ok(Place { target, faults, folder: TempDir::new()?, served })
    }

    /// Waits until the server answers again.
    pub async fn ready(&self) -> Result<(), Error> {
        match &self.served {
            Some(served) => patiently(self.target, &served.server, None).await.map(drop),
            None => Ok(()),
        }
    }

    /// The database's URL through the proxy; `None` for SQLite.
    pub fn proxied(&self) -> Option<String> {
        self.served.as_ref().map(|served| served.server.url(&served.database, served.proxy.port()))
    }

    /// Connections without the MCP server.
    pub fn lines(&self) -> Lines {
        match (self.target, self.proxied()) {
            (Target::Postgres, Some(url)) => Lines::Postgres(url),
            (Target::Mariadb, Some(url)) => Lines::Mariadb(url),
            _ => Lines::Sqlite(self.file(), self.faults.clone()),
        }
    }

    /// SQLite's file: the MCP server's, and the ledger is in it as well.
    fn file(&self) -> PathBuf {
        self.folder.path().join("shop.sqlite")
    }

    /// Runs a statement past the proxy, with all rights.
    pub async fn execute(&self, sql: &str) -> Result<(), Error> {
        self.admin().await?.execute(sql).await
    }

    /// The first two columns, as numbers, of a statement past the proxy.
    pub async fn look(&self, sql: &str) -> Result<Vec<(i64, i64)>, Error> {
        self.admin().await?.rows(sql).await
    }

    /// Waits until no client has a session with the database any more: a statement whose connection was cut may still
    /// be at work. Sessions that wait for a client that has gone, such as one in a black hole, are ended after a while.
    pub async fn quiet(&self) -> Result<(), Error> {
        let sessions = match self.target {
            Target::Sqlite | Target::Mongreldb => return Ok(()),
            Target::Postgres => {
                "SELECT pid::bigint, 0::bigint FROM pg_stat_activity
                 WHERE datname = current_database() AND pid <> pg_backend_pid()"
            }
            Target::Mariadb => {
                "SELECT id, 0 FROM information_schema.processlist WHERE db = database() AND id <> connection_id()"
            }
        };
        let begun = Instant::now();
        loop {
            let left = self.look(sessions).await?;
            if left.is_empty() {
                return Ok(());
            }
            if begun.elapsed() > QUIET {
                return Err(Error::Busy { server: self.target.name() });
            }
            if begun.elapsed() > PATIENCE {
                for (session, _) in left {
                    let end = match self.target {
                        Target::Mariadb => format!("KILL {session}"),
                        _ => format!("SELECT pg_terminate_backend({session})"),
                    };
                    // It may have ended by itself meanwhile.
                    let _ = self.execute(&end).await;
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn admin(&self) -> Result<Admin, Error> {
        match &self.served {
            Some(served) => patiently(self.target, &served.server, Some(&served.database)).await,
            None => {
                let connection = Connection::open(self.file())?;
                connection.busy_timeout(Duration::from_secs(5))?;
                Ok(Admin::Sqlite(connection))
            }
        }
    }
}

/// Waits until a server lets a session in: one that is still recovering, or full, refuses it.
async fn patiently(target: Target, server: &Server, database: Option<&str>) -> Result<Admin, Error> {
    let ends = Instant::now() + START;
    loop {
        match Admin::open(target, server, database).await {
            Err(_) if Instant::now() < ends => tokio::time::sleep(Duration::from_millis(20)).await,
            opened => return opened,
        }
    }
}

impl Admin {
    async fn open(target: Target, server: &Server, database: Option<&str>) -> Result<Admin, Error> {
        let url = server.admin_url(database);
        Ok(match target {
            Target::Mariadb => Admin::Mariadb(url.parse::<MySqlConnectOptions>()?.connect().await?),
            _ => Admin::Postgres(url.parse::<PgConnectOptions>()?.connect().await?),
        })
    }

    async fn execute(&mut self, sql: &str) -> Result<(), Error> {
        let statement = AssertSqlSafe(sql.to_owned());
        match self {
            Admin::Postgres(connection) => connection.execute(statement).await.map(drop)?,
            Admin::Mariadb(connection) => connection.execute(statement).await.map(drop)?,
            Admin::Sqlite(connection) => connection.execute_batch(sql)?,
        }
        Ok(())
    }

    async fn rows(&mut self, sql: &str) -> Result<Vec<(i64, i64)>, Error> {
        let statement = AssertSqlSafe(sql.to_owned());
        match self {
            Admin::Postgres(connection) => {
                let rows = connection.fetch_all(statement).await?;
                Ok(rows
                    .iter()
                    .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
                    .collect::<sqlx::Result<_>>()?)
            }
            Admin::Mariadb(connection) => {
                let rows = connection.fetch_all(statement).await?;
                Ok(rows
                    .iter()
                    .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
                    .collect::<sqlx::Result<_>>()?)
            }
            Admin::Sqlite(connection) => {
                let mut statement = connection.prepare(sql)?;
                let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            }
        }
    }
}
