//! The command line: what a database tool would ask the contract, as filters over JSON Lines and text.

mod codes;
mod evaluate;
mod lines;
mod recognise;
mod render;
mod text;
mod trace;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::{Component, Contract, Instances, Native, Options};

/// Turns raw database errors into safe public error envelopes that say whether a retry is safe.
#[derive(Debug, Parser)]
#[command(name = "retort", version, max_term_width = 100)]
struct Command {
    #[command(flatten)]
    engine: EngineArgs,
    #[command(subcommand)]
    action: Action,
}

/// Who judges: the component, or the same logic natively.
#[derive(Args, Debug)]
struct EngineArgs {
    /// Call the native library instead of the component
    #[arg(long, global = true)]
    native: bool,
    /// Take the component from this file [default: the one inside or beside this program]
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "native")]
    component: Option<PathBuf>,
    /// Keep one component instance for all calls instead of a fresh one per call
    #[arg(long, global = true, conflicts_with = "native")]
    reuse: bool,
}

impl EngineArgs {
    fn contract(&self) -> Result<Box<dyn Contract>, Error> {
        if self.native {
            return Ok(Box::new(Native));
        }
        let instances = if self.reuse { Instances::Reused } else { Instances::Fresh };
        let options = Options { instances, cache: true, ..Options::default() };
        Ok(Box::new(Component::load(self.component.as_deref(), options)?))
    }
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Judge errors: JSON Lines of reports in, JSON Lines of verdicts out, line by line
    Evaluate(evaluate::Arguments),
    /// Say why: which rule recognised each report, in which table, and from which source
    Recognise(recognise::Arguments),
    /// Replace what should not be published: credentials, values, hosts and the like
    Redact(text::RedactArguments),
    /// Find what should not be published
    Inspect(text::InspectArguments),
    /// Strip statements of literals and comments, and hash them
    Fingerprint(text::FingerprintArguments),
    /// List the public codes
    Codes(codes::CodesArguments),
    /// Explain a public code
    Explain(codes::ExplainArguments),
    /// Write envelopes for a carrier: JSON Lines of verdicts or envelopes in
    Render(render::RenderArguments),
    /// Judge earlier verdicts anew, with what their receipts say
    Reconcile(render::ReconcileArguments),
    /// Fold the attempts of an operation into one record
    Summarise(render::SummariseArguments),
    /// Show the restricted diagnostics behind an envelope's trace id
    Trace(trace::Arguments),
    /// Provoke real errors in a real database, and show who gets to see what
    Demo(crate::demo::Arguments),
    /// Serve database tools to agents over the Model Context Protocol
    Serve(Box<crate::serve::Arguments>),
    /// Serve the contract over HTTP, for languages that run no WebAssembly
    Sidecar(crate::sidecar::Arguments),
    /// Break real databases under the server, and count what was claimed wrongly; or score any MCP server (--target)
    Drill(crate::drill::Arguments),
}

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Component(#[from] crate::Error),
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write the output: {0}")]
    Write(#[from] io::Error),
    #[error("there is no public code {code}; `retort codes` lists them")]
    NoSuchCode { code: String },
    #[error(
        "which store? --store or RETORT_DIAGNOSTICS names the file that the host writes its diagnostics to"
    )]
    NoStore,
    #[error("cannot read the diagnostics in {}: {source}", path.display())]
    Store { path: PathBuf, source: Box<crate::diagnostics::Error> },
    #[error("the demonstration's own database failed: {0}; it needs a writable temporary folder")]
    Demo(#[from] crate::demo::Error),
    #[error(transparent)]
    Serve(#[from] crate::serve::Error),
    #[error("the sidecar cannot serve: {0}")]
    Sidecar(io::Error),
    #[error(transparent)]
    Drill(#[from] crate::drill::Error),
    #[error(transparent)]
    Conformance(#[from] crate::conformance::Error),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let command = Command::parse();
    match run(&command) {
        Ok(code) => code,
        // The reader has gone (`retort … | head`): not our failure.
        Err(Error::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("retort: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(command: &Command) -> Result<ExitCode, Error> {
    if let Action::Drill(arguments) = &command.action
        && arguments.conformance.is_wanted()
    {
        let contract = command.engine.contract()?;
        return Ok(crate::conformance::run(contract.as_ref(), &arguments.conformance, arguments.json)?);
    }
    #[cfg(feature = "wasi-http")]
    if let Action::Sidecar(arguments) = &command.action
        && let Some(file) = &arguments.wasi_http
    {
        let service = crate::sidecar::WasiHttp::load(file, Options::default())?;
        crate::sidecar::listen(service, arguments).map_err(Error::Sidecar)?;
        return Ok(ExitCode::SUCCESS);
    }
    let judge = command.engine.contract()?;
    let contract = judge.as_ref();
    match &command.action {
        Action::Serve(arguments) => crate::serve::run(judge, arguments)?,
        Action::Sidecar(arguments) => crate::sidecar::run(judge, arguments).map_err(Error::Sidecar)?,
        Action::Drill(arguments) => crate::drill::run(judge.into(), arguments)?,
        Action::Evaluate(arguments) => evaluate::run(contract, arguments)?,
        Action::Recognise(arguments) => recognise::run(contract, arguments)?,
        Action::Redact(arguments) => text::redact(contract, arguments)?,
        Action::Inspect(arguments) => return text::inspect(contract, arguments),
        Action::Fingerprint(arguments) => text::fingerprint(contract, arguments)?,
        Action::Codes(arguments) => codes::list(contract, arguments)?,
        Action::Explain(arguments) => codes::explain(contract, arguments)?,
        Action::Render(arguments) => render::render(contract, arguments)?,
        Action::Reconcile(arguments) => render::reconcile(contract, arguments)?,
        Action::Summarise(arguments) => render::summarise(contract, arguments)?,
        Action::Demo(arguments) => crate::demo::run(contract, arguments)?,
        Action::Trace(arguments) => return trace::run(arguments),
    }
    Ok(ExitCode::SUCCESS)
}
