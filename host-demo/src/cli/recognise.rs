//! `retort recognise`: the answer to "why did it say that?".

use clap::Args;
use serde_json::{Value, json};

use super::Error;
use super::lines::Input;
use crate::Contract;

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
    json!({
        "code": verdict["envelope"]["code"],
        "outcome": verdict["envelope"]["outcome"],
        "rule": diagnostic["rule"],
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
    format!(
        "{} by rule {} ({}), which proves {}; phase {}{conflict}; outcome {}",
        word("code"),
        word("rule"),
        word("system"),
        word("proof"),
        word("phase"),
        word("outcome"),
    )
}
