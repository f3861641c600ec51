//! `retort recognise`: the answer to "why did it say that?".

use anstream::println;
use clap::Args;
use owo_colors::OwoColorize;
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
    arguments.input.map_lines(|line| Some(why(contract, line, arguments.json)))
}

fn why(contract: &dyn Contract, report: &str, as_json: bool) -> String {
    let verdict: Value = serde_json::from_str(&contract.evaluate(report)).unwrap_or_default();
    let diagnostic = &verdict["diagnostic"];
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (code, rule) = (word(&verdict["envelope"]["code"]), word(&diagnostic["rule"]));
    json!({ "code": code, "rule": rule }).to_string()
}
