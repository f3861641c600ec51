//! The server behind the proxies: one of the drill's own, or one that the user has. On either the drill keeps to schemas
//! of its own; MySQL and MariaDB call them databases as well.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use reqwest::Url;
use tokio::task::block_in_place;
use tokio::time::sleep;

use super::admin::Admin;
use super::given;
use super::servers::{START, Server};
use super::{Error, Target};
use crate::{Contract, ids};

/// What every name that the drill makes on a server begins with.
pub const PREFIX: &str = "retort_drill_";

/// How long the sessions of clients that have gone may take to end.
const QUIET: Duration = Duration::from_secs(60);
/// How long they may take to end by themselves.
const PATIENCE: Duration = Duration::from_secs(3);

/// A server.
pub struct Upstream {
    /// Which kind.
    pub target: Target,
    /// Its process, where it is the drill's own.
    pub own: Option<Server>,
    /// How much longer everything may take than on this machine.
    pub slack: Duration,
    /// Whom clients log in as.
    client: Url,
    /// Whom the drill itself logs in as, past the proxy.
    admin: Url,
    /// What the names of its schemas begin with in this run.
    names: String,
    schemas: AtomicU32,
}

impl Upstream {
    fn new(target: Target, client: Url, admin: Url, own: Option<Server>) -> Upstream {
        let names = format!("{PREFIX}{:06x}_", ids::seed() & 0xff_ffff);
        Upstream { target, own, slack: Duration::ZERO, client, admin, names, schemas: AtomicU32::new(0) }
    }

    /// Starts one.
    pub async fn start(target: Target) -> Result<Upstream, Error> {
        let server = block_in_place(|| Server::start(target))?;
        let address = server.address();
        if target == Target::Mongreldb {
            let url =
                Url::parse(&format!("http://{address}")).map_err(|error| Error::Task(error.to_string()))?;
            return Ok(Upstream::new(target, url.clone(), url, Some(server)));
        }
        let [client, admin] = match target {
            Target::Mariadb => ["drill", "root"].map(|user| format!("mysql://{user}@{address}")),
            _ => [(); 2].map(|()| format!("postgres://retort@{address}/postgres")),
        };
        let ((_, client), (_, admin)) = (given::read(&client)?, given::read(&admin)?);
        let upstream = Upstream::new(target, client, admin, Some(server));
        if target == Target::Mariadb {
            // Without the right to write to a server that is read-only, which an administrator has.
            let mut admin = upstream.admin(None).await?;
            admin.execute("CREATE USER drill@'127.0.0.1'").await?;
            let names = PREFIX.replace('_', "\\_");
            admin.execute(&format!("GRANT ALL PRIVILEGES ON `{names}%`.* TO drill@'127.0.0.1'")).await?;
        }
        Ok(upstream)
    }

    /// One that the user has, once it is sure that the drill is allowed what it does.
    pub async fn given(contract: &Arc<dyn Contract>, url: &str) -> Result<Upstream, Error> {
        let (target, url) = given::read(url)?;
        let mut upstream = Upstream::new(target, url.clone(), url, None);
        let begun = Instant::now();
        let mut admin = given::open(contract, target, &upstream.admin).await?;
        // Several answers: more than a step takes.
        upstream.slack = begun.elapsed();
        if target == Target::Mysql && admin.text("SELECT version()").await?.contains("MariaDB") {
            upstream.target = Target::Mariadb;
        }
        let schema = upstream.new_name();
        let tried = given::try_out(contract, target, &upstream.admin, &mut admin, &schema).await;
        if tried.is_err() {
            // Where not even that was allowed, there is nothing to drop.
            let _ = upstream.tidy().await;
        }
        tried.map(|()| upstream)
    }

    /// What the drill does to the user's server; `None` where the server is the drill's own.
    pub fn notice(&self) -> Option<String> {
        let (address, user, names) = (given::address(&self.admin), self.admin.username(), &self.names);
        let inside = self.admin.path().trim_start_matches('/');
        let inside = if inside.is_empty() { String::new() } else { format!(" in {inside}") };
        self.own.is_none().then(|| {
            format!(
                "{} at {address}: as {user}, without TLS, the drill makes schemas {names}0, {names}1 and so on{inside}, \
                 works in them alone, and drops them at the end",
                self.target.name()
            )
        })
    }

    /// Host and port.
    pub fn address(&self) -> String {
        given::address(&self.admin)
    }

    /// Makes a schema, and gives its name. MongrelDB has none.
    pub async fn make_schema(&self) -> Result<String, Error> {
        let name = self.new_name();
        if self.target == Target::Mongreldb {
            return Ok(name);
        }
        self.admin(None).await?.execute(&format!("CREATE SCHEMA {name}")).await?;
        Ok(name)
    }

    fn new_name(&self) -> String {
        format!("{}{}", self.names, self.schemas.fetch_add(1, Ordering::Relaxed))
    }

    /// The URL for clients of a schema, through a proxy's port.
    pub fn proxied(&self, schema: &str, port: u16) -> String {
        let mut url = self.within(self.client.clone(), schema);
        if self.target == Target::Postgres {
            // By this their sessions are told from others in the same database.
            url.query_pairs_mut().append_pair("application_name", schema);
        }
        let _ = (url.set_host(Some("127.0.0.1")), url.set_port(Some(port)));
        url.into()
    }

    fn within(&self, mut url: Url, schema: &str) -> Url {
        match self.target {
            Target::Postgres => {
                url.query_pairs_mut().append_pair("options", &format!("-c search_path={schema}"));
            }
            Target::Mongreldb => (),
            _ => url.set_path(schema),
        }
        url
    }

    /// A session of the drill's own, past the proxy, in a schema or in none.
    pub async fn open(&self, schema: Option<&str>) -> sqlx::Result<Admin> {
        let url = self.admin.clone();
        Admin::open(self.target, &schema.map_or(url.clone(), |schema| self.within(url, schema))).await
    }

    /// The same, and waits for it: a server that is still recovering, or full, refuses it.
    pub async fn admin(&self, schema: Option<&str>) -> Result<Admin, Error> {
        let ends = Instant::now() + START;
        loop {
            match self.open(schema).await {
                Err(_) if Instant::now() < ends => sleep(Duration::from_millis(20)).await,
                opened => return Ok(opened?),
            }
        }
    }

    /// Waits until no client has a session in the schema any more: a statement whose connection was cut may still be at
    /// work. Sessions that wait for a client that has gone, such as one in a black hole, are ended after a while.
    pub async fn quiet(&self, schema: &str) -> Result<(), Error> {
        let begun = Instant::now();
        loop {
            let mut admin = self.admin(None).await?;
            let left = admin.rows(&self.sessions(schema)).await?;
            if left.is_empty() {
                return Ok(());
            }
            if begun.elapsed() > QUIET {
                return Err(Error::Busy { server: self.target.name() });
            }
            if begun.elapsed() > PATIENCE {
                self.end(&mut admin, left).await;
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Drops what the drill has made on the user's server.
    pub async fn tidy(&self) -> Result<(), Error> {
        if self.own.is_some() {
            return Ok(());
        }
        let mut admin = self.admin(None).await?;
        let left = admin.rows(&self.sessions(&format!("{}%", self.names))).await?;
        self.end(&mut admin, left).await;
        let cascade = if self.target == Target::Postgres { " CASCADE" } else { "" };
        for number in 0..self.schemas.load(Ordering::Relaxed) {
            admin.execute(&format!("DROP SCHEMA IF EXISTS {}{number}{cascade}", self.names)).await?;
        }
        Ok(())
    }

    /// The clients' sessions in schemas of this pattern.
    fn sessions(&self, schemas: &str) -> String {
        match self.target {
            Target::Postgres => {
                format!(
                    "SELECT pid::bigint, 0::bigint FROM pg_stat_activity WHERE application_name LIKE '{schemas}'"
                )
            }
            _ => format!(
                "SELECT CAST(id AS SIGNED), 0 FROM information_schema.processlist WHERE db LIKE '{schemas}'"
            ),
        }
    }

    async fn end(&self, admin: &mut Admin, sessions: Vec<(i64, i64)>) {
        for (session, _) in sessions {
            let end = match self.target {
                Target::Postgres => format!("SELECT pg_terminate_backend({session})"),
                _ => format!("KILL {session}"),
            };
            // It may have ended by itself meanwhile.
            let _ = admin.execute(&end).await;
        }
    }
}
