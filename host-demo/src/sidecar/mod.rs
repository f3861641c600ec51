//! `retort sidecar`: the contract over HTTP, for languages that run no WebAssembly.
//!
//! Every call meets a fresh instance, bounded in memory and time, and is answered with a constant where that fails.

#[cfg(feature = "wasi-http")]
mod wasi_http;

use std::io;
use std::net::SocketAddr;
#[cfg(feature = "wasi-http")]
use std::path::PathBuf;

use clap::Args;
use retort_sidecar::{Function, Handler, serve};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::{Contract, signals};

#[cfg(feature = "wasi-http")]
pub use wasi_http::WasiHttp;

/// What `retort sidecar` takes.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Listen at this address
    #[arg(long, default_value = "127.0.0.1:7411", value_name = "ADDRESS")]
    http: SocketAddr,
    /// The most requests at once; others are told to come back
    #[arg(long, default_value_t = 64, value_name = "NUMBER")]
    requests: usize,
    /// Let this component answer, which exports wasi:http/incoming-handler
    #[cfg(feature = "wasi-http")]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["native", "component", "reuse"])]
    pub wasi_http: Option<PathBuf>,
}

/// Serves until the process is asked to end.
pub fn run(contract: Box<dyn Contract>, arguments: &Arguments) -> io::Result<()> {
    listen(move |function, text: &str| call(contract.as_ref(), function, text), arguments)
}

/// Serves whatever answers until the process is asked to end.
pub fn listen(handler: impl Handler, arguments: &Arguments) -> io::Result<()> {
    tracing_subscriber::fmt().json().with_writer(io::stderr).init();
    Runtime::new()?.block_on(async {
        let stop = signals::stopped()?;
        let listener = TcpListener::bind(arguments.http).await?;
        eprintln!("serving http://{}", listener.local_addr()?);
        serve(listener, handler, arguments.requests, stop).await
    })
}

fn call(contract: &dyn Contract, function: Function, text: &str) -> String {
    match function {
        Function::Budget => contract.budget(text),
        Function::Codes => contract.codes(),
        Function::Evaluate => contract.evaluate(text),
        Function::EvaluateMany => contract.evaluate_many(text),
        Function::Fingerprint => contract.fingerprint(text),
        Function::Inspect => contract.inspect(text),
        Function::Reconcile => contract.reconcile(text),
        Function::Redact => contract.redact(text),
        Function::Render => contract.render(text),
        Function::Summarise => contract.summarise(text),
        Function::Version => contract.version(),
    }
}
