//! `retort recognise`: the answer to "why did it say that?".

use clap::Args;
use serde_json::{Value, json};

use super::Error;
use super::lines::Input;
use crate::Contract;
use crate::rules::Rule;

#[derive(Args, Debug)]
pub struct Arguments {
    /// Write a JSON object for each report
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    input: Input,
}

pub fn run(contract: &dyn Contract, arguments: &Arguments) -> Result<(), Error> {
    arguments.input.map_lines(|line| {
        let reason = reason(contract, line);
        Some(if arguments.json { reason.to_string() } else { sentence(&reason) })
    })
}

/// What the verdict rests on.
fn reason(contract: &dyn Contract, report: &str) -> Value {
    let verdict: Value = serde_json::from_str(&contract.evaluate(report)).unwrap_or_default();
    let diagnostic = &verdict["diagnostic"];
    let rule = diagnostic["rule"].as_str().and_then(Rule::find);
    json!({
        "code": verdict["envelope"]["code"],
        "outcome": verdict["envelope"]["outcome"],
        "rule": diagnostic["rule"],
        "name": rule.map(|rule| rule.name).filter(|name| !name.is_empty()),
        "source": rule.map(|rule| rule.source),
        "proof": diagnostic["proof"],
        "system": diagnostic["system"],
        "native_codes": diagnostic["native_codes"],
        "phase": diagnostic["phase"],
        "phase_conflict": diagnostic["phase_conflict"],
    })
}

fn sentence(reason: &Value) -> String {
    let word = |name: &str| reason[name].as_str().unwrap_or_default();
    let conflict = if reason["phase_conflict"] == true { ", against the host's word" } else { "" };
    let optional = |name: &str, label: &str| match reason[name].as_str() {
        Some(text) => format!("\n  {label:7} {text}"),
        None => String::new(),
    };
    format!(
        "{}, outcome {}\n  rule    {}{}\n  proves  {}\n  phase   {}{conflict}\n  system  {}{}",
        word("code"),
        word("outcome"),
        word("rule"),
        optional("name", "name"),
        word("proof"),
        word("phase"),
        word("system"),
        optional("source", "source"),
    )
}
