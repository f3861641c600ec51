//! `retort drill`: breaks real databases under the server, and counts what was claimed wrongly.

mod chart;
mod failures;
mod faults;
mod keyed;
mod ledger;
mod line;
mod proxy;
mod servers;
mod session;
mod show;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fastrand::Rng;
use indicatif::{ProgressBar, ProgressStyle};
use rusqlite::Connection;
use serde::Serialize;
use sqlx::{ConnectOptions as _, Executor as _, Row as _};
use tempfile::TempDir;

use crate::Contract;
use faults::Faults;
use ledger::{Arm, Claimed, Client, Policy, Totals};
use line::Lines;
use proxy::Proxy;
use servers::Server;

/// What `retort drill` takes.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The databases to break [default: all three]
    #[arg(long, value_enum, value_name = "NAME")]
    database: Vec<Target>,
    /// Only this part
    #[arg(long, value_enum, value_name = "PART")]
    only: Option<Part>,
    /// Ledger writes for each database
    #[arg(long, default_value_t = 1_000, value_name = "NUMBER")]
    writes: u64,
    /// The same seed, the same drill
    #[arg(long, default_value_t = 7, value_name = "NUMBER")]
    seed: u64,
    /// Write the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a chart of the figures into this SVG file
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) conformance: crate::conformance::Arguments,
}

/// A database to break.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// A file, embedded.
    Sqlite,
    /// A server of its own.
    Postgres,
    /// A server of its own.
    Mariadb,
}

/// A part of the drill.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Part {
    /// The eight failures of the contract, through an MCP client.
    Failures,
    /// Writes through faults.
    Ledger,
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Target::Sqlite => "SQLite",
            Target::Postgres => "PostgreSQL",
            Target::Mariadb => "MariaDB",
        }
    }

    fn system(self) -> &'static str {
        match self {
            Target::Sqlite => "sqlite",
            Target::Postgres => "postgresql",
            Target::Mariadb => "mariadb",
        }
    }
}

/// Why the drill itself could not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file, folder or process.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A look at the database, outside of the faults.
    #[error("the database does not answer without faults either: {0}")]
    Sqlx(#[from] sqlx::Error),
    /// The same for SQLite.
    #[error("the database does not answer without faults either: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The user's own data base lookup.
    #[error("cannot look up the user that the servers run as: {0}")]
    User(#[from] nix::Error),
    /// A program is not installed.
    #[error("{0}")]
    Missing(&'static str),
    /// A server ended instead of answering.
    #[error("{server} ended with {status}")]
    Ended {
        /// Which.
        server: &'static str,
        /// How.
        status: String,
    },
    /// A server did not answer in time.
    #[error("{server} did not answer in time")]
    Silent {
        /// Which.
        server: &'static str,
    },
    /// SQLite has no server to start.
    #[error("SQLite has no server")]
    NoServer,
    /// The component.
    #[error("{0}")]
    Judge(String),
    /// The MCP server under test.
    #[error(transparent)]
    Serve(#[from] crate::serve::Error),
    /// The MCP session.
    #[error("the MCP session failed: {0}")]
    Session(String),
    /// The chart.
    #[error("cannot draw the chart: {0}")]
    Chart(String),
    /// Something was claimed wrongly.
    #[error("{0} checks failed")]
    Failed(u64),
}

/// All figures.
#[derive(Debug, Default, Serialize)]
pub struct Figures {
    /// The ledger, summed over the clients that obey the envelope.
    pub totals: Totals,
    /// Checks of the eight failures that failed.
    pub failed_checks: u64,
    /// By database.
    pub databases: Vec<DatabaseFigures>,
}

/// One database's figures.
#[derive(Debug, Serialize)]
pub struct DatabaseFigures {
    /// Which.
    pub database: &'static str,
    /// The ledger by arm and policy.
    pub ledger: BTreeMap<String, Totals>,
    /// The eight failures: how often each was made, and what was wrong.
    pub failures: Vec<failures::Outcome>,
}

/// Makes a judge.
type Judges<'a> = dyn Fn() -> Result<Box<dyn Contract>, String> + 'a;

/// Runs the drill. `contract` makes a judge for each host.
pub fn run(contract: &Judges<'_>, arguments: &Arguments) -> Result<(), Error> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new()?;
    let targets = match arguments.database.as_slice() {
        [] => &[Target::Sqlite, Target::Postgres, Target::Mariadb],
        chosen => chosen,
    };
    let mut figures = Figures::default();
    for target in targets {
        let database = runtime.block_on(drill(contract, arguments, *target))?;
        for (_, totals) in database.ledger.iter().filter(|(name, _)| name.ends_with(OBEYS)) {
            figures.totals.add(totals);
        }
        figures.failed_checks += database.failures.iter().map(|outcome| outcome.wrong).sum::<u64>();
        figures.databases.push(database);
    }
    if let Some(file) = &arguments.chart {
        chart::draw(file, &figures).map_err(Error::Chart)?;
    }
    show::figures(&figures, arguments.json);
    match figures.failed_checks
        + figures.totals.applied_twice
        + figures.totals.false_claims
        + figures.lame_policies()
    {
        0 => Ok(()),
        failed => Err(Error::Failed(failed)),
    }
}

const OBEYS: &str = "envelope";

impl Figures {
    /// Databases on which the other policies showed no duplicate: the faults there would prove nothing.
    fn lame_policies(&self) -> u64 {
        let others = |database: &&DatabaseFigures| {
            let mut others = database.ledger.iter().filter(|(name, _)| !name.ends_with(OBEYS)).peekable();
            others.peek().is_some() && others.all(|(_, totals)| totals.applied_twice == 0)
        };
        self.databases.iter().filter(others).count() as u64
    }
}

/// Where a database is, and what stands before it.
pub struct Place {
    /// Which.
    pub target: Target,
    /// Its own URL; `None` for SQLite.
    pub direct: Option<String>,
    /// Its URL through the proxy; `None` for SQLite.
    pub proxied: Option<String>,
    /// What breaks.
    pub faults: Faults,
    /// A folder for files.
    pub folder: TempDir,
    _server: Option<Server>,
    _proxy: Option<Proxy>,
}

impl Place {
    async fn start(target: Target) -> Result<Place, Error> {
        let folder = TempDir::new()?;
        if target == Target::Sqlite {
            let faults = Faults::default();
            return Ok(Place {
                target,
                direct: None,
                proxied: None,
                faults,
                folder,
                _server: None,
                _proxy: None,
            });
        }
        let server = tokio::task::block_in_place(|| Server::start(target))?;
        let proxy = Proxy::start(server.address(), target).await?;
        let (direct, proxied) = (Some(server.url(server.port())), Some(server.url(proxy.port())));
        let faults = proxy.faults().clone();
        Ok(Place { target, direct, proxied, faults, folder, _server: Some(server), _proxy: Some(proxy) })
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("ledger.sqlite")
    }

    /// Runs a statement on the MCP server's own database, past the proxy.
    pub async fn shop(&self, sql: &str) -> Result<(), Error> {
        self.shop_rows(sql).await.map(drop)
    }

    /// The first two columns, as numbers, from the MCP server's own database, past the proxy.
    pub async fn shop_rows(&self, sql: &str) -> Result<Vec<(i64, i64)>, Error> {
        self.rows(sql, &self.folder.path().join("shop.sqlite")).await
    }

    fn lines(&self) -> Lines {
        match (self.target, &self.proxied) {
            (Target::Postgres, Some(url)) => Lines::Postgres(url.clone()),
            (Target::Mariadb, Some(url)) => Lines::Mariadb(url.clone()),
            _ => Lines::Sqlite(self.file(), self.faults.clone()),
        }
    }

    /// Runs a statement past the proxy.
    pub async fn execute(&self, sql: &str) -> Result<(), Error> {
        self.look(sql).await.map(drop)
    }

    /// The first two columns, as numbers, of a statement past the proxy.
    pub async fn look(&self, sql: &str) -> Result<Vec<(i64, i64)>, Error> {
        self.rows(sql, &self.file()).await
    }

    async fn rows(&self, sql: &str, file: &Path) -> Result<Vec<(i64, i64)>, Error> {
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        match (self.target, &self.direct) {
            (Target::Postgres, Some(url)) => {
                let mut connection = url.parse::<sqlx::postgres::PgConnectOptions>()?.connect().await?;
                let rows = connection.fetch_all(sql).await?;
                Ok(rows
                    .iter()
                    .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
                    .collect::<sqlx::Result<_>>()?)
            }
            (Target::Mariadb, Some(url)) => {
                let mut connection = url.parse::<sqlx::mysql::MySqlConnectOptions>()?.connect().await?;
                let rows = connection.fetch_all(sql).await?;
                Ok(rows
                    .iter()
                    .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
                    .collect::<sqlx::Result<_>>()?)
            }
            _ => {
                let connection = Connection::open(file)?;
                connection.busy_timeout(std::time::Duration::from_secs(5))?;
                let mut statement = connection.prepare(&sql.0)?;
                let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            }
        }
    }
}

async fn drill(
    contract: &Judges<'_>,
    arguments: &Arguments,
    target: Target,
) -> Result<DatabaseFigures, Error> {
    let judge = || contract().map_err(Error::Judge);
    let place = Place::start(target).await?;
    let mut figures =
        DatabaseFigures { database: target.name(), ledger: BTreeMap::new(), failures: Vec::new() };
    if arguments.only != Some(Part::Ledger) {
        figures.failures = failures::run(judge()?, &place).await?;
    }
    if arguments.only != Some(Part::Failures) {
        let progress = ProgressBar::new(arguments.writes);
        let style = ProgressStyle::with_template("{msg:10} {bar:40} {pos}/{len} writes {eta}");
        progress.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        progress.set_message(target.name());
        // Half of the writes with a key, through the MCP server; the other half without.
        let keyed = arguments.writes.div_ceil(2);
        let totals = keyed::run(judge()?, &place, keyed, Rng::with_seed(arguments.seed), &progress).await?;
        figures.ledger.insert(format!("key and receipt: {OBEYS}"), totals);
        let ledger =
            direct(judge()?.as_ref(), &place, arguments.writes - keyed, arguments.seed, &progress).await?;
        figures.ledger.extend(ledger);
        progress.finish_and_clear();
    }
    Ok(figures)
}

/// The arms without keys, by every policy.
async fn direct(
    contract: &dyn Contract,
    place: &Place,
    writes: u64,
    seed: u64,
    progress: &ProgressBar,
) -> Result<BTreeMap<String, Totals>, Error> {
    let mut arms = vec![
        (Arm::Autocommit, "autocommit"),
        (Arm::Transaction, "transaction"),
        (Arm::SeveralRows, "several rows"),
    ];
    if place.target == Target::Postgres {
        // Only here a failed statement dooms its transaction, and COMMIT says so by no error.
        arms.push((Arm::FailedCommit, "failed commit"));
    }
    let policies = [(Policy::Envelope, OBEYS), (Policy::AnyError, "any error"), (Policy::Words, "words")];
    let runs: Vec<_> = arms.iter().flat_map(|arm| policies.map(|policy| (*arm, policy))).collect();
    let runs: Vec<_> = runs
        .into_iter()
        .filter(|((arm, _), (policy, _))| {
            *policy == Policy::Envelope || matches!(arm, Arm::Autocommit | Arm::Transaction)
        })
        .collect();
    let share = writes.div_ceil(arms.len() as u64);
    let mut figures = BTreeMap::new();
    for ((arm, arm_name), (policy, policy_name)) in runs {
        place.execute("DROP TABLE IF EXISTS ledger").await?;
        place.execute("CREATE TABLE ledger (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)").await?;
        // The other policies are there for comparison: a hundred writes show what they do.
        let count = if policy == Policy::Envelope { share } else { share.min(100) };
        seed_rows(place, count).await?;
        let mut totals = Totals::default();
        let mut dice = Rng::with_seed(seed);
        let mut client =
            Client::new(contract, place.target.system(), place.lines(), place.faults.clone(), policy);
        let mut claims = Vec::new();
        for number in 0..count {
            let id = number * 3;
            claims.push((id as i64, client.write(arm, id, &mut dice, &mut totals).await));
            if policy == Policy::Envelope {
                progress.inc(1);
            }
        }
        drop(client);
        compare(place, arm, &claims, &mut totals).await?;
        figures.insert(format!("{arm_name}: {policy_name}"), totals);
    }
    Ok(figures)
}

async fn seed_rows(place: &Place, count: u64) -> Result<(), Error> {
    let ids: Vec<String> = (0..count * 3).map(|id| format!("({id}, 0)")).collect();
    for some in ids.chunks(500) {
        place.execute(&format!("INSERT INTO ledger VALUES {}", some.join(","))).await?;
    }
    Ok(())
}

/// The claims against the database's own word.
async fn compare(
    place: &Place,
    arm: Arm,
    claims: &[(i64, Claimed)],
    totals: &mut Totals,
) -> Result<(), Error> {
    // A statement whose connection was cut may still be at work.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let rows: BTreeMap<i64, i64> = place.look("SELECT id, balance FROM ledger").await?.into_iter().collect();
    for (id, claimed) in claims {
        let width = if arm == Arm::SeveralRows { 3 } else { 1 };
        let balances = (*id..id + width).map(|id| rows.get(&id).copied().unwrap_or_default());
        totals.compare(*claimed, balances.max().unwrap_or_default().unsigned_abs());
    }
    Ok(())
}
