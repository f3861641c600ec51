//! `retort render`, `reconcile` and `summarise`.

use std::io::Write;

use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Error;
use super::lines::{self, Input};
use crate::Contract;

#[derive(Args, Debug)]
pub struct RenderArguments {
    /// The carrier
    #[arg(long = "as", value_enum, default_value_t = Carrier::Mcp)]
    carrier: Carrier,
    #[command(flatten)]
    input: Input,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Carrier {
    /// A CallToolResult of the Model Context Protocol
    Mcp,
    /// Problem details for HTTP APIs (RFC 9457)
    Problem,
    /// google.rpc.Status
    Status,
    /// Text for people
    Text,
}

impl Carrier {
    fn word(self) -> &'static str {
        match self {
            Carrier::Mcp => "mcp",
            Carrier::Problem => "problem",
            Carrier::Status => "status",
            Carrier::Text => "text",
        }
    }
}

/// Lines of `{"verdict", "receipt", …}`; the order of output is that of input.
#[derive(Args, Debug)]
pub struct ReconcileArguments {
    #[command(flatten)]
    input: Input,
}

/// A line that is an array is an operation of its own; all other lines together, verdicts or attempt records, are one.
#[derive(Args, Debug)]
pub struct SummariseArguments {
    #[command(flatten)]
    input: Input,
}

/// What a line holds, where it is a verdict.
#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow)]
    envelope: Option<&'a RawValue>,
    #[serde(borrow)]
    attempt: Option<&'a RawValue>,
}

pub fn render(contract: &dyn Contract, arguments: &RenderArguments) -> Result<(), Error> {
    let carrier = arguments.carrier.word();
    arguments.input.map_lines(|line| {
        let envelope = serde_json::from_str(line)
            .map_or("null", |parts: Parts<'_>| parts.envelope.map_or(line, RawValue::get));
        Some(contract.render(&format!(r#"{{"envelope":{envelope},"as":"{carrier}"}}"#)))
    })
}

pub fn reconcile(contract: &dyn Contract, arguments: &ReconcileArguments) -> Result<(), Error> {
    arguments.input.map_lines(|line| Some(contract.reconcile(line)))
}

pub fn summarise(contract: &dyn Contract, arguments: &SummariseArguments) -> Result<(), Error> {
    let mut attempts: Vec<String> = Vec::new();
    arguments.input.map_lines(|line| {
        if line.trim_start().starts_with('[') {
            return Some(contract.summarise(line));
        }
        if let Ok(parts) = serde_json::from_str::<Parts<'_>>(line) {
            attempts.push(parts.attempt.map_or(line, RawValue::get).to_owned());
        }
        None
    })?;
    if !attempts.is_empty() {
        let mut output = lines::output();
        writeln!(output, "{}", contract.summarise(&format!("[{}]", attempts.join(","))))?;
        output.flush()?;
    }
    Ok(())
}
