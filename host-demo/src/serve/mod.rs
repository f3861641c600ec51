//! `retort serve`: an MCP server over a database whose every error goes through the contract.

mod flow;
mod http;
mod identity;
mod server;
mod store;
mod tools;
mod verdict;

use std::fs::OpenOptions;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Args;
use rmcp::ServiceExt as _;
use rmcp::transport::stdio;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;
use tracing::Level;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::attempts::Attempts;
use crate::budget::{Budget, InProcess, Shared};
use crate::diagnostics::{Bounds, Diagnostics};
use crate::receipts::Lifetimes;
use crate::telemetry::{Exporters, Telemetry, diagnostics_layer, is_no_diagnostic};
use crate::{Contract, ids, signals};
use http::Access;
pub(crate) use identity::{Identity, Role};
use identity::{Operator, Tokens};
pub(crate) use server::{Host, Server};
pub(crate) use store::Limits;

/// Operations that are remembered across calls, and for how long.
const REMEMBERED: usize = 100_000;
const REMEMBERED_MS: u64 = 3_600_000;

/// The diagnostics' store in the data folder.
const DIAGNOSTICS: &str = "diagnostics.sqlite";
/// Retry tokens, as in the contract's own default.
const CAPACITY: u32 = 500;

/// What `retort serve` takes.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// postgres://… or mysql://…; without it, SQLite with seeded data in --data
    #[arg(long, env = "RETORT_DATABASE", hide_env_values = true, value_name = "URL")]
    database: Option<String>,
    /// Where the SQLite database and the diagnostics (diagnostics.sqlite) are kept [default: a new temporary folder]
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Serve streamable HTTP at this address instead of stdio
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// With --http: a JSON file of bearer tokens and whom they stand for [default: one new token, shown at the start]
    #[arg(long, value_name = "FILE", requires = "http")]
    tokens: Option<PathBuf>,
    /// With --http: an Origin that browsers may call from; others are refused
    #[arg(long = "origin", value_name = "ORIGIN", requires = "http")]
    origins: Vec<String>,
    /// With --http: the token that opens /metrics and /traces/ID [default: a new one, shown at the start]
    #[arg(
        long,
        env = "RETORT_OPERATOR_TOKEN",
        hide_env_values = true,
        requires = "http",
        value_name = "TOKEN"
    )]
    operator_token: Option<String>,
    /// With --http: the most calls at once
    #[arg(long, default_value_t = 64, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    requests: u32,
    /// Whose rows the caller sees, where no token says so
    #[arg(long, default_value = "north")]
    tenant: String,
    /// What the caller may do, where no token says so
    #[arg(long, value_enum, default_value_t = Role::Writer)]
    role: Role,
    /// Connections of the database pool
    #[arg(long, default_value_t = 8, value_name = "NUMBER")]
    pool: u32,
    /// How long a call waits for a connection
    #[arg(long, default_value_t = 500, value_name = "MS")]
    pool_wait: u64,
    /// The database's own limit for a statement
    #[arg(long, default_value_t = 2_000, value_name = "MS")]
    statement_timeout: u64,
    /// The limit for a whole call
    #[arg(long, default_value_t = 5_000, value_name = "MS")]
    deadline: u64,
    /// Share the budget of retries with other replicas, in Redis or Valkey at redis://… [default: this process' own]
    #[arg(long, env = "RETORT_BUDGET", hide_env_values = true, value_name = "URL")]
    budget: Option<String>,
    /// Send traces and metrics by OTLP over HTTP to this collector
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL")]
    otlp: Option<String>,
    /// Also write each diagnostic as a line of JSON into this file, its owner's alone
    #[arg(long, value_name = "FILE")]
    diagnostics_log: Option<PathBuf>,
    /// How much of diagnostics to keep
    #[arg(long, default_value_t = 64, value_name = "MIB")]
    keep_size: u32,
    /// How long to keep diagnostics
    #[arg(long, default_value_t = 30, value_name = "DAYS")]
    keep_days: u32,
}

/// Why the server could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database cannot be opened.
    #[error("{0}")]
    Database(String),
    /// A file, folder or address.
    #[error("{what}: {source}")]
    Io {
        /// What was to be done.
        what: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// The diagnostics' store.
    #[error(transparent)]
    Diagnostics(#[from] crate::diagnostics::Error),
    /// The shared budget.
    #[error("the server of the retry budget cannot be reached")]
    Budget,
    /// The collector of traces and metrics.
    #[error(transparent)]
    Export(#[from] crate::telemetry::ExportError),
    /// The session with the client.
    #[error("the session on standard input and output failed: {0}")]
    Session(String),
}

fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::Io { what, source }
}

/// Serves until the client leaves, or the process is asked to end.
pub fn run(contract: Box<dyn Contract>, arguments: &Arguments) -> Result<(), Error> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    logs(arguments.diagnostics_log.as_deref())?;
    let exporters = Arc::new(Exporters::new("retort", arguments.otlp.as_deref())?);
    let runtime = tokio::runtime::Runtime::new().map_err(io("cannot start the runtime"))?;
    let ended = runtime.block_on(serve(contract, arguments, Arc::clone(&exporters)));
    exporters.shut_down();
    ended
}

/// Logs go to standard error; diagnostics, which are restricted, into a file of their own or nowhere.
fn logs(diagnostics: Option<&Path>) -> Result<(), Error> {
    let restricted = match diagnostics {
        Some(path) => {
            let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
            let file = file.map_err(io("cannot open the log of diagnostics"))?;
            Some(diagnostics_layer(Arc::new(file)))
        }
        None => None,
    };
    let ordinary = tracing_subscriber::fmt::layer()
        .json()
        .with_writer(std::io::stderr)
        .with_filter(filter_fn(|metadata| is_no_diagnostic(metadata) && *metadata.level() <= Level::INFO));
    tracing_subscriber::registry().with(restricted).with(ordinary).init();
    Ok(())
}

async fn serve(
    contract: Box<dyn Contract>,
    arguments: &Arguments,
    exporters: Arc<Exporters>,
) -> Result<(), Error> {
    let temporary = tempfile::tempdir().map_err(io("cannot make a temporary folder"))?;
    let folder = arguments.data.clone().unwrap_or_else(|| temporary.path().to_path_buf());
    std::fs::create_dir_all(&folder).map_err(io("cannot make the data folder"))?;
    let mut host = host(Arc::from(contract), arguments, &folder).await?;
    host.telemetry = exporters.telemetry();
    host.budget = Some(budget(arguments.budget.as_deref()).await?);
    let host = Arc::new(host);
    tokio::spawn(forget(Arc::clone(&host)));
    let identity = Identity {
        principal: String::from("local"),
        tenant: arguments.tenant.clone(),
        role: arguments.role,
        policy_version: String::from("1"),
    };
    let stop = signals::stopped().map_err(io("cannot listen for signals"))?;
    match arguments.http {
        Some(address) => {
            let tokens = match &arguments.tokens {
                Some(file) => Tokens::read(file).map_err(io("cannot read the tokens"))?,
                None => Tokens::one(&minted("bearer token"), identity),
            };
            let operator = arguments.operator_token.clone().unwrap_or_else(|| minted("operator token"));
            let listener = TcpListener::bind(address).await.map_err(io("cannot listen at the address"))?;
            let bound = listener.local_addr().map_err(io("cannot listen at the address"))?;
            eprintln!("serving http://{bound}/mcp");
            let access = Access {
                tokens,
                operator: Operator::new(&operator),
                origins: arguments.origins.clone(),
                most_calls: arguments.requests,
            };
            http::run(host, exporters, listener, access, stop).await.map_err(io("serving failed"))
        }
        None => {
            let (calls, over) = (Arc::clone(&host.calls), CancellationToken::new());
            tokio::spawn(end_calls(Arc::clone(&calls), stop, over.clone()));
            let session = Server::new(host, Some(identity)).serve_with_ct(stdio(), over.clone()).await;
            let session = session.map_err(|error| Error::Session(error.to_string()))?;
            let ended = session.waiting().await.map_err(|error| Error::Session(error.to_string()));
            // The client has gone; its calls go on to their end.
            tokio::select! {
                _ = calls.write() => (),
                () = over.cancelled() => (),
            }
            ended.map(drop)
        }
    }
}

/// When the server shall stop: waits for the calls under way, lets no other begin, and says so.
async fn end_calls(calls: Arc<RwLock<()>>, stop: CancellationToken, over: CancellationToken) {
    stop.cancelled().await;
    let _none = calls.write().await;
    over.cancel();
    std::future::pending().await
}

/// A new token, shown once.
fn minted(what: &str) -> String {
    let token = ids::trace_id();
    eprintln!("{what}: {token}");
    token
}

/// The budget of retries: the replicas' common one, else this process' own.
async fn budget(url: Option<&str>) -> Result<Budget, Error> {
    let Some(url) = url else { return Ok(Budget::InProcess(InProcess::new(CAPACITY))) };
    // The driver's message may hold the URL with its password.
    let shared = Shared::connect(url, "retort:budget", CAPACITY).await.map_err(|_| Error::Budget)?;
    Ok(Budget::Shared(shared))
}

/// Lets keys go whose time is over, every hour.
async fn forget(host: Arc<Host>) {
    let mut hours = tokio::time::interval(Duration::from_secs(3_600));
    loop {
        hours.tick().await;
        if let Ok(mut session) = host.store.acquire().await {
            if session.forget(flow::now_ms()).await.is_err() {
                tracing::warn!("keys whose time is over could not be forgotten; the next hour tries again");
            }
            session.clean("none").await;
        }
    }
}

async fn host(contract: Arc<dyn Contract>, arguments: &Arguments, folder: &Path) -> Result<Host, Error> {
    let limits = Limits {
        pool: arguments.pool,
        pool_wait: Duration::from_millis(arguments.pool_wait),
        statement: Duration::from_millis(arguments.statement_timeout),
        tenant_roles: true,
    };
    let deadline = Duration::from_millis(arguments.deadline);
    let mut host =
        open(contract, arguments.database.as_deref(), folder, limits, deadline, Value::Null).await?;
    let bounds = Bounds {
        bytes: i64::from(arguments.keep_size) << 20,
        age_ms: i64::from(arguments.keep_days) * 86_400_000,
    };
    host.diagnostics = Mutex::new(Diagnostics::open(&folder.join(DIAGNOSTICS), bounds)?);
    Ok(host)
}

/// A host over a database, with its diagnostics in the folder.
pub(crate) async fn open(
    contract: Arc<dyn Contract>,
    database: Option<&str>,
    folder: &Path,
    limits: Limits,
    deadline: Duration,
    policy: Value,
) -> Result<Host, Error> {
    let store = store::open(database, folder.join("shop.sqlite"), limits).await;
    Ok(Host {
        contract,
        store: Arc::from(store.map_err(Error::Database)?),
        diagnostics: Mutex::new(Diagnostics::open(&folder.join(DIAGNOSTICS), Bounds::default())?),
        attempts: Mutex::new(Attempts::new(REMEMBERED, REMEMBERED_MS)),
        budget: None,
        telemetry: Telemetry::silent(),
        deadline,
        lifetimes: Lifetimes::default(),
        policy,
        began: Instant::now(),
        calls: Arc::default(),
    })
}
