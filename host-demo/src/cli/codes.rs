//! `retort codes` and `retort explain`: the published table, for people and programs.

use std::io::Write;

use anstream::println;
use clap::Args;
use comfy_table::{ContentArrangement, Table, presets};
use owo_colors::OwoColorize;
use serde::Deserialize;

use super::{Error, lines};
use crate::Contract;

#[derive(Args, Debug)]
pub struct CodesArguments {
    /// Write the table as a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
pub struct ExplainArguments {
    /// A public code, such as POOL_BUSY
    #[arg(value_name = "CODE")]
    code: String,
}

/// A row of the table, as the contract publishes it.
#[derive(Debug, Deserialize)]
pub struct Row {
    code: String,
    category: String,
    transient: bool,
    next: String,
    message: String,
}

pub fn list(contract: &dyn Contract, arguments: &CodesArguments) -> Result<(), Error> {
    let mut output = lines::output();
    if arguments.json {
        writeln!(output, "{}", contract.codes())?;
        return Ok(output.flush()?);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["code", "category", "may pass", "next", "message"]);
    for row in rows(contract) {
        table.add_row([row.code, row.category, yes_or_no(row.transient).into(), row.next, row.message]);
    }
    writeln!(output, "{table}")?;
    Ok(output.flush()?)
}

pub fn explain(contract: &dyn Contract, arguments: &ExplainArguments) -> Result<(), Error> {
    let code = arguments.code.to_ascii_uppercase();
    let row = rows(contract).into_iter().find(|row| row.code == code);
    let row = row.ok_or_else(|| Error::NoSuchCode { code: arguments.code.clone() })?;
    println!("{}\n", row.code.bold());
    println!("  {}\n", row.message);
    println!("  category  {}: {}", row.category, category_meaning(&row.category));
    println!("  may pass  {}", yes_or_no(row.transient));
    println!("  next      {}: {}", row.next, next_meaning(&row.next));
    Ok(())
}

fn rows(contract: &dyn Contract) -> Vec<Row> {
    serde_json::from_str(&contract.codes()).unwrap_or_default()
}

fn yes_or_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

/// The closed list of categories, as the WIT documents it.
fn category_meaning(category: &str) -> &'static str {
    match category {
        "validation" => "the arguments or the query are at fault",
        "clarification" => "the caller has to say more",
        "authorization" => "refused, without a hint why",
        "not_found" => "what was asked for does not exist",
        "conflict" => "the data's present state is in the way",
        "transient" => "it may work later",
        "permanent" => "it will not work, however often it is tried",
        _ => "nobody knows whether the write took effect",
    }
}

fn next_meaning(next: &str) -> &'static str {
    match next {
        "fix" => "correct the arguments or the query, then call again",
        "clarify" => "ask the person, then call again",
        "refresh" => "read the present state, then decide anew",
        "retry" => "repeat the call after retry_after_ms, where the envelope says retryable",
        "resubmit" => "repeat the call with the same operation key",
        "reconcile" => "look the operation key up after check_after_ms",
        "done" => "nothing: the write is there",
        "stop" => "give up, unless the envelope says retryable",
        _ => "ask the operators, by the trace id",
    }
}
