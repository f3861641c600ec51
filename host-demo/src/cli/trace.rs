//! `retort trace`: from the trace id in an envelope to the restricted diagnostics behind it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::{Error, lines};
use crate::diagnostics::Diagnostics;

/// Names the store where `--store` does not.
const VARIABLE: &str = "RETORT_DIAGNOSTICS";

#[derive(Args, Debug)]
pub struct Arguments {
    /// The trace id, as an envelope says it
    #[arg(value_name = "ID")]
    trace_id: String,
    /// The store that the host writes its diagnostics to; for `retort serve` diagnostics.sqlite in its --data [default: the file that RETORT_DIAGNOSTICS names]
    #[arg(long, visible_alias = "diagnostics", value_name = "PATH")]
    store: Option<PathBuf>,
}

impl Arguments {
    fn store(&self) -> Result<PathBuf, Error> {
        let named = || std::env::var_os(VARIABLE).map(PathBuf::from);
        self.store.clone().or_else(named).ok_or(Error::NoStore)
    }
}

/// Writes the diagnostics of a trace id as JSON Lines, oldest first: one an attempt. Fails where there is none.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let path = arguments.store()?;
    let entries =
        find(&path, &arguments.trace_id).map_err(|source| Error::Store { path, source: Box::new(source) })?;
    let mut output = lines::output();
    for entry in &entries {
        writeln!(output, "{}", entry.to_json())?;
    }
    output.flush()?;
    if entries.is_empty() {
        anstream::eprintln!("retort: there is no diagnostic with the trace id {}", arguments.trace_id);
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn find(path: &Path, trace_id: &str) -> Result<Vec<crate::diagnostics::Entry>, crate::diagnostics::Error> {
    Diagnostics::open_existing(path)?.find(trace_id)
}
