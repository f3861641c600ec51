//! `retort drill`: breaks real databases under the server, and counts what was claimed wrongly.

mod admin;
mod beyond;
mod chart;
mod failures;
mod faults;
mod given;
mod keyed;
mod ledger;
mod line;
mod mongreldb;
mod place;
mod proxy;
mod servers;
mod session;
mod show;
mod upstream;
mod writers;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::{Contract, signals};
use given::Refused;
use ledger::Totals;
use place::Place;
use writers::OBEYS;

/// What `retort drill` takes.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The databases to break: sqlite, postgres, mariadb, mongreldb, or a server that you have: postgres://… or
    /// mysql://… [default: the first three]
    #[arg(long, value_name = "NAME|URL")]
    database: Vec<Choice>,
    /// Only this part, or one of the drills beyond by its name [default: all]
    #[arg(long, value_enum, value_name = "NAME")]
    only: Vec<Part>,
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

impl Arguments {
    /// Is this part to be drilled?
    fn includes(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

/// What `--database` says.
#[derive(Clone)]
pub enum Choice {
    /// A database of the drill's own.
    Own(Target),
    /// The URL of a server that the user has. Whether it is one is found out later: where clap refuses a value, it prints
    /// it, and here that may be a password.
    Given(String),
}

impl From<String> for Choice {
    fn from(text: String) -> Choice {
        Target::from_str(&text, false).map_or(Choice::Given(text), Choice::Own)
    }
}

impl std::fmt::Debug for Choice {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Choice::Own(target) => target.fmt(formatter),
            Choice::Given(_) => formatter.write_str("a URL"),
        }
    }
}

/// A database to break.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Target {
    /// A file, embedded.
    Sqlite,
    /// A server of its own.
    Postgres,
    /// A server of its own.
    Mariadb,
    /// A server that the user has, and that is not MariaDB.
    #[value(skip)]
    Mysql,
    /// A daemon of its own, asked over HTTP.
    Mongreldb,
}

/// A part of the drill.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Part {
    /// The eight failures of the contract, through an MCP client
    Failures,
    /// Writes through faults
    Ledger,
    /// All that follow
    Beyond,
    /// The server is killed during a COMMIT, and started again
    Kill,
    /// The server is shut down and started again
    Restart,
    /// Too many connections
    Connections,
    /// The server turns read-only, and back
    Readonly,
    /// The network lets bytes through one by one
    Slow,
    /// Answers never come
    Silence,
    /// Transactions that wait for each other
    Deadlock,
    /// Transactions that cannot be put into an order
    Serialization,
    /// A lock that is not given in time
    Lock,
    /// The disk is full
    Full,
    /// Many calls, and nothing that waits for a clock
    Long,
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Target::Sqlite => "SQLite",
            Target::Postgres => "PostgreSQL",
            Target::Mariadb => "MariaDB",
            Target::Mysql => "MySQL",
            Target::Mongreldb => "MongrelDB",
        }
    }

    fn system(self) -> &'static str {
        match self {
            Target::Sqlite => "sqlite",
            Target::Postgres => "postgresql",
            Target::Mariadb => "mariadb",
            Target::Mysql => "mysql",
            Target::Mongreldb => "mongreldb",
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
    /// The look-up of the user that the servers run as.
    #[error("cannot look up the user that the servers run as: {0}")]
    User(#[from] nix::Error),
    /// A request to a daemon.
    #[error("the daemon does not answer: {0}")]
    Http(#[from] reqwest::Error),
    /// A server of the user's cannot be drilled.
    #[error(transparent)]
    Refused(#[from] Refused),
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
    /// Sessions did not end.
    #[error("{server} still has sessions of clients that have gone")]
    Busy {
        /// Which.
        server: &'static str,
    },
    /// A writer's task.
    #[error("a writer broke down: {0}")]
    Task(String),
    /// There is no server of the drill's own to start or stop.
    #[error("there is no server of the drill's own")]
    NoServer,
    /// The user has had enough.
    #[error("stopped before the end")]
    Stopped,
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
    /// Checks that failed: of the eight failures, of the drills beyond, and of the drill's own power to find something.
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
    /// The eight failures and the drills beyond: how often each was made, and what was wrong.
    pub failures: Vec<failures::Outcome>,
}

/// Runs the drill.
pub fn run(contract: Arc<dyn Contract>, arguments: &Arguments) -> Result<(), Error> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new()?;
    let choices = match arguments.database.as_slice() {
        [] => &[Target::Sqlite, Target::Postgres, Target::Mariadb].map(Choice::Own),
        chosen => chosen,
    };
    let mut figures = Figures::default();
    for choice in choices {
        let mut database = runtime.block_on(drill(&contract, arguments, choice))?;
        if !database.ledger.is_empty() {
            database.failures.push(database.power());
        }
        figures.totals.add(&database.of(OBEYS));
        figures.failed_checks += database.failures.iter().map(|outcome| outcome.wrong).sum::<u64>();
        figures.databases.push(database);
    }
    if let Some(file) = &arguments.chart {
        chart::draw(file, &figures).map_err(Error::Chart)?;
    }
    show::figures(&figures, arguments.json);
    match figures.failed_checks + figures.totals.applied_twice + figures.totals.false_claims {
        0 => Ok(()),
        failed => Err(Error::Failed(failed)),
    }
}

impl DatabaseFigures {
    /// Is the ledger able to find something, and is `unknown` claimed only where it must be?
    fn power(&self) -> failures::Outcome {
        let mut outcome = failures::Outcome::new("the ledger's own power");
        for policy in ["any error", "words"] {
            outcome.check(self.of(policy).applied_twice > 0, || {
                format!("{policy}: no write was applied twice, so the faults prove nothing")
            });
        }
        let Totals { writes, needless_unknown: needless, .. } = self.of(OBEYS);
        outcome
            .check(needless * 100 <= writes, || format!("{needless} of {writes} were unknown without need"));
        outcome
    }

    /// The ledger, summed over the clients with this policy.
    fn of(&self, policy: &str) -> Totals {
        let mut sum = Totals::default();
        let arms = self.ledger.iter().filter(|(name, _)| name.ends_with(policy));
        arms.for_each(|(_, totals)| sum.add(totals));
        sum
    }
}

/// Drills a database; what was made on a server of the user's is dropped in the end, also where the drill failed or was
/// stopped.
async fn drill(
    contract: &Arc<dyn Contract>,
    arguments: &Arguments,
    choice: &Choice,
) -> Result<DatabaseFigures, Error> {
    let stop = signals::stopped()?;
    let progress = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{msg:24} {bar:40} {pos}/{len} writes {eta}");
    progress.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    progress.enable_steady_tick(Duration::from_millis(200));
    let starts = |target: Target| progress.set_message(format!("{}: starts", target.name()));
    let place = match choice {
        Choice::Own(target @ Target::Mongreldb) => {
            starts(*target);
            let (includes, size) = (|part| arguments.includes(part), (arguments.writes, arguments.seed));
            let figures = mongreldb::run(contract, includes, size, &progress).await;
            progress.finish_and_clear();
            return figures;
        }
        Choice::Own(target) => {
            starts(*target);
            Place::start(*target).await?
        }
        Choice::Given(url) => {
            let place = Place::given(contract, url).await?;
            let notice = place.served.as_ref().and_then(|served| served.upstream.notice());
            progress.suspend(|| notice.iter().for_each(|notice| anstream::eprintln!("{notice}")));
            place
        }
    };
    let drilled = tokio::select! {
        drilled = parts(contract, arguments, &place, &progress) => drilled,
        () = stop.cancelled() => Err(Error::Stopped),
    };
    progress.finish_and_clear();
    match (drilled, place.tidy().await) {
        (Err(error), Err(left)) => {
            anstream::eprintln!("retort: schemas could not be dropped: {left}");
            Err(error)
        }
        (drilled, tidied) => tidied.and(drilled),
    }
}

async fn parts(
    contract: &Arc<dyn Contract>,
    arguments: &Arguments,
    place: &Place,
    progress: &ProgressBar,
) -> Result<DatabaseFigures, Error> {
    let includes = |part: Part| arguments.includes(part);
    let name = place.target.name();
    let mut figures = DatabaseFigures { database: name, ledger: BTreeMap::new(), failures: Vec::new() };
    if includes(Part::Failures) {
        progress.set_message(format!("{name}: failures"));
        figures.failures = failures::run(Arc::clone(contract), &place.another().await?).await?;
    }
    if includes(Part::Ledger) {
        progress.set_message(format!("{name}: ledger"));
        progress.set_length(arguments.writes);
        figures.ledger = writers::ledger(contract, place, arguments.writes, arguments.seed, progress).await?;
    }
    for beyond in beyond::DRILLS.iter().filter(|beyond| beyond.databases.contains(&place.target)) {
        if includes(beyond.part) || includes(Part::Beyond) {
            progress.set_message(format!("{name}: {}", beyond.name));
            figures.failures.push(beyond.run(contract, place).await?);
        }
    }
    Ok(figures)
}
