//! `retort drill --target`: what of the contract any MCP server holds that can be seen from outside.
//!
//! The kit knows nothing of the server's database. It reads the tools' own schemas, makes calls that break them, gives
//! calls up, loses answers, repeats keys, sends what is no message, and searches every error for what was planted in the
//! arguments and for what [`inspect`](crate::Contract::inspect) finds. Nothing is changed unless that is allowed: a tool
//! that does not say `readOnlyHint` is only called with arguments that its schema forbids.

mod card;
mod cases;
mod errors;
mod probe;
mod wire;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::Contract;
use card::Card;
use probe::Probe;
use wire::Wire;

/// What the kit takes.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Instead: score any MCP server by the contract, over stdio (a command) or streamable HTTP (a URL)
    #[arg(long, value_name = "COMMAND | URL")]
    target: Option<String>,
    /// With --target: also call tools that may change data, with arguments that their schemas allow
    #[arg(long, requires = "target")]
    allow_writes: bool,
    /// With --target: the bearer token for a URL
    #[arg(
        long,
        env = "RETORT_TARGET_TOKEN",
        hide_env_values = true,
        requires = "target",
        value_name = "TOKEN"
    )]
    token: Option<String>,
    /// With --target: how long to wait for an answer
    #[arg(long, default_value_t = 10_000, requires = "target", value_name = "MS")]
    patience: u64,
}

impl Arguments {
    /// Is the kit what is wanted?
    pub fn is_wanted(&self) -> bool {
        self.target.is_some()
    }
}

/// Why there is no score.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The runtime, or the command.
    #[error("the target cannot be started: {0}")]
    Io(#[from] std::io::Error),
    /// The first messages already failed.
    #[error("the target does not answer as an MCP server: {0}")]
    Silent(&'static str),
    /// The HTTP client.
    #[error("the HTTP client cannot be made: {0}")]
    Http(#[from] reqwest::Error),
}

/// Scores the target. Succeeds where everything that was measured holds.
pub fn run(contract: &dyn Contract, arguments: &Arguments, as_json: bool) -> Result<ExitCode, Error> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new()?;
    let card = runtime.block_on(score(contract, arguments))?;
    card.show(as_json)?;
    Ok(if card.is_full() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn score(contract: &dyn Contract, arguments: &Arguments) -> Result<Card, Error> {
    let target = arguments.target.clone().unwrap_or_default();
    let patience = Duration::from_millis(arguments.patience);
    let wire = Wire::open(&target, arguments.token.as_deref(), patience).await?;
    let mut probe = Probe::start(wire, arguments.allow_writes).await?;
    probe.run().await;
    Ok(probe.finish(contract))
}
