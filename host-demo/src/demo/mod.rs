//! `retort demo`: real errors of a real database, and who gets to see what of them.

mod provoke;
mod show;

use std::time::Instant;

use clap::Args;
use serde_json::Value;

use crate::Contract;
use provoke::Incident;

/// What `retort demo` takes.
#[derive(Args, Debug)]
pub struct Arguments {
    /// How often each verdict is repeated for the measurement
    #[arg(long, default_value_t = 100, value_name = "TIMES")]
    repeat: u32,
}

/// Why the demonstration's own set-up failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its folder or file.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// Its database.
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
    /// Its pool.
    #[error(transparent)]
    Pool(#[from] r2d2::Error),
    /// An error that was to be provoked did not come.
    #[error("{title} was expected to fail")]
    Spared {
        /// What was tried.
        title: &'static str,
    },
}

/// Runs the demonstration.
pub fn run(contract: &dyn Contract, arguments: &Arguments) -> Result<(), Error> {
    let incidents = provoke::all()?;
    let verdicts: Vec<Value> = incidents.iter().map(|incident| judge(contract, incident)).collect();
    show::table(&incidents, &verdicts);
    let leaks =
        incidents.iter().zip(&verdicts).map(|(incident, verdict)| leaks(contract, incident, verdict)).sum();
    show::figures(incidents.len(), leaks, microseconds_per_verdict(contract, &incidents, arguments.repeat));
    Ok(())
}

fn judge(contract: &dyn Contract, incident: &Incident) -> Value {
    serde_json::from_str(&contract.evaluate(&incident.report.to_string())).unwrap_or_default()
}

/// What `inspect` finds in the envelope's texts, and how many of the texts that must not be there are there.
/// Trace id and operation key are the host's own.
fn leaks(contract: &dyn Contract, incident: &Incident, verdict: &Value) -> usize {
    let Some(envelope) = verdict["envelope"].as_object() else { return 1 };
    let texts = envelope.iter().filter(|(name, _)| !matches!(name.as_str(), "trace_id" | "operation_key"));
    let found = texts.map(|(_, value)| findings(contract, value)).sum::<usize>();
    let envelope = verdict["envelope"].to_string();
    found + incident.secrets.iter().filter(|secret| envelope.contains(**secret)).count()
}

fn findings(contract: &dyn Contract, value: &Value) -> usize {
    let Some(text) = value.as_str() else { return 0 };
    let request = Value::from_iter([("text", text)]).to_string();
    let answer: Value = serde_json::from_str(&contract.inspect(&request)).unwrap_or_default();
    answer["findings"].as_array().map_or(1, Vec::len)
}

fn microseconds_per_verdict(contract: &dyn Contract, incidents: &[Incident], repeat: u32) -> f64 {
    let reports: Vec<String> = incidents.iter().map(|incident| incident.report.to_string()).collect();
    let start = Instant::now();
    for _ in 0..repeat {
        for report in &reports {
            std::hint::black_box(contract.evaluate(report));
        }
    }
    start.elapsed().as_secs_f64() * 1e6 / (f64::from(repeat.max(1)) * reports.len() as f64)
}
