//! `retort serve`: an MCP server over a database whose every error goes through the contract.

mod flow;
mod http;
mod identity;
mod server;
mod store;
mod tools;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Args;
use rmcp::ServiceExt as _;
use rmcp::transport::stdio;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::attempts::Attempts;
use crate::diagnostics::{Bounds, Diagnostics};
use crate::receipts::Lifetimes;
use crate::{Contract, ids};
use identity::Tokens;
pub(crate) use identity::{Identity, Role};
pub(crate) use server::{Host, Server};
pub(crate) use store::Limits;

/// Operations that are remembered across calls, and for how long.
const REMEMBERED: usize = 100_000;
const REMEMBERED_MS: u64 = 3_600_000;

/// What `retort serve` takes.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// postgres://… or mysql://…; without it, SQLite with seeded data in --data
    #[arg(long, env = "RETORT_DATABASE", hide_env_values = true, value_name = "URL")]
    database: Option<String>,
    /// Where the SQLite database and the diagnostics are kept [default: a new temporary folder]
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
    /// With --http: the most requests at once
    #[arg(long, default_value_t = 64, value_name = "NUMBER")]
    requests: usize,
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
    tracing_subscriber::fmt().json().with_writer(std::io::stderr).init();
    let runtime = tokio::runtime::Runtime::new().map_err(io("cannot start the runtime"))?;
    runtime.block_on(serve(contract, arguments))
}

async fn serve(contract: Box<dyn Contract>, arguments: &Arguments) -> Result<(), Error> {
    let temporary = tempfile::tempdir().map_err(io("cannot make a temporary folder"))?;
    let folder = arguments.data.clone().unwrap_or_else(|| temporary.path().to_path_buf());
    std::fs::create_dir_all(&folder).map_err(io("cannot make the data folder"))?;
    let host = Arc::new(host(contract, arguments, &folder).await?);
    let identity = Identity {
        principal: String::from("local"),
        tenant: arguments.tenant.clone(),
        role: arguments.role,
        policy_version: String::from("1"),
    };
    let stop = stopped().map_err(io("cannot listen for signals"))?;
    match arguments.http {
        Some(address) => {
            let tokens = match &arguments.tokens {
                Some(file) => Tokens::read(file).map_err(io("cannot read the tokens"))?,
                None => {
                    let token = ids::trace_id();
                    eprintln!("bearer token: {token}");
                    Tokens::one(&token, identity)
                }
            };
            let listener = TcpListener::bind(address).await.map_err(io("cannot listen at the address"))?;
            let bound = listener.local_addr().map_err(io("cannot listen at the address"))?;
            eprintln!("serving http://{bound}/mcp");
            let origins = arguments.origins.clone();
            http::run(host, listener, tokens, origins, arguments.requests, stop)
                .await
                .map_err(io("serving failed"))
        }
        None => {
            let calls = Arc::clone(&host.calls);
            let session = Server::new(host, Some(identity)).serve_with_ct(stdio(), stop).await;
            let session = session.map_err(|error| Error::Session(error.to_string()))?;
            let ended = session.waiting().await.map_err(|error| Error::Session(error.to_string()));
            drop(calls.write().await);
            ended.map(drop)
        }
    }
}

async fn host(contract: Box<dyn Contract>, arguments: &Arguments, folder: &Path) -> Result<Host, Error> {
    let limits = Limits {
        pool: arguments.pool,
        pool_wait: Duration::from_millis(arguments.pool_wait),
        statement: Duration::from_millis(arguments.statement_timeout),
    };
    let deadline = Duration::from_millis(arguments.deadline);
    open(contract, arguments.database.as_deref(), folder, limits, deadline, Value::Null).await
}

/// A host over a database, with its diagnostics in the folder.
pub(crate) async fn open(
    contract: Box<dyn Contract>,
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
        diagnostics: Mutex::new(Diagnostics::open(&folder.join("diagnostics.sqlite"), Bounds::default())?),
        attempts: Mutex::new(Attempts::new(REMEMBERED, REMEMBERED_MS)),
        deadline,
        lifetimes: Lifetimes::default(),
        policy,
        began: Instant::now(),
        calls: Arc::default(),
    })
}

/// Cancelled at the first SIGTERM or SIGINT.
fn stopped() -> std::io::Result<CancellationToken> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = CancellationToken::new();
    let stopper = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => (),
            _ = interrupt.recv() => (),
        }
        stopper.cancel();
    });
    Ok(stop)
}
