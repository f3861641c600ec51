//! Where clients write: a schema or file of its own, behind a proxy of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;

use super::admin::Admin;
use super::faults::Faults;
use super::line::Lines;
use super::proxy::Proxy;
use super::upstream::Upstream;
use super::{Error, Target};
use crate::Contract;

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

/// A schema on a server.
pub struct Served {
    /// The server.
    pub upstream: Arc<Upstream>,
    schema: String,
    proxy: Proxy,
}

impl Place {
    /// Starts what the target needs.
    pub async fn start(target: Target) -> Result<Place, Error> {
        match target {
            Target::Sqlite => {
                Ok(Place { target, faults: Faults::default(), folder: TempDir::new()?, served: None })
            }
            _ => Place::on(Arc::new(Upstream::start(target).await?)).await,
        }
    }

    /// A place on a server that the user has.
    pub async fn given(contract: &Arc<dyn Contract>, url: &str) -> Result<Place, Error> {
        let upstream = Arc::new(Upstream::given(contract, url).await?);
        let place = Place::on(Arc::clone(&upstream)).await;
        if place.is_err() {
            let _ = upstream.tidy().await;
        }
        place
    }

    /// Another place of the same kind, on the same server.
    pub async fn another(&self) -> Result<Place, Error> {
        match &self.served {
            Some(served) => Place::on(Arc::clone(&served.upstream)).await,
            None => Place::start(self.target).await,
        }
    }

    async fn on(upstream: Arc<Upstream>) -> Result<Place, Error> {
        let schema = upstream.make_schema().await?;
        let proxy = Proxy::start(Arc::clone(&upstream)).await?;
        let (target, faults) = (upstream.target, proxy.faults().clone());
        let served = Some(Served { upstream, schema, proxy });
        Ok(Place { target, faults, folder: TempDir::new()?, served })
    }

    /// Is it on a server that the user has?
    pub fn is_given(&self) -> bool {
        self.served.as_ref().is_some_and(|served| served.upstream.own.is_none())
    }

    /// How much longer everything may take than on this machine.
    pub fn slack(&self) -> Duration {
        self.served.as_ref().map(|served| served.upstream.slack).unwrap_or_default()
    }

    /// Waits until the server answers again.
    pub async fn ready(&self) -> Result<(), Error> {
        match &self.served {
            Some(served) => served.upstream.admin(None).await.map(drop),
            None => Ok(()),
        }
    }

    /// The schema's URL through the proxy; `None` for SQLite.
    pub fn proxied(&self) -> Option<String> {
        self.served.as_ref().map(|served| served.upstream.proxied(&served.schema, served.proxy.port()))
    }

    /// Connections without the MCP server.
    pub fn lines(&self) -> Lines {
        match (self.target, self.proxied()) {
            (Target::Postgres, Some(url)) => Lines::Postgres(url),
            (Target::Mariadb | Target::Mysql, Some(url)) => Lines::MySql(url),
            (Target::Mongreldb, Some(url)) => Lines::Mongreldb(url),
            _ => Lines::Sqlite(self.file(), self.faults.clone()),
        }
    }

    /// SQLite's file: the MCP server's, and the ledger is in it as well.
    fn file(&self) -> PathBuf {
        self.folder.path().join("shop.sqlite")
    }

    /// Runs a statement past the proxy.
    pub async fn execute(&self, sql: &str) -> Result<(), Error> {
        self.admin().await?.execute(sql).await
    }

    /// The first two columns, as numbers, of a statement past the proxy.
    pub async fn look(&self, sql: &str) -> Result<Vec<(i64, i64)>, Error> {
        self.admin().await?.rows(sql).await
    }

    /// Waits until no client has a session any more.
    pub async fn quiet(&self) -> Result<(), Error> {
        match &self.served {
            Some(served) => served.upstream.quiet(&served.schema).await,
            None => Ok(()),
        }
    }

    /// Drops what the drill has made on a server that the user has, by this place or any other.
    pub async fn tidy(&self) -> Result<(), Error> {
        match &self.served {
            Some(served) => served.upstream.tidy().await,
            None => Ok(()),
        }
    }

    async fn admin(&self) -> Result<Admin, Error> {
        match &self.served {
            Some(served) => served.upstream.admin(Some(&served.schema)).await,
            None => {
                let connection = Connection::open(self.file())?;
                connection.busy_timeout(Duration::from_secs(5))?;
                Ok(Admin::Sqlite(connection))
            }
        }
    }
}
