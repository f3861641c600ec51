//! The table of the demonstration.

use anstream::println;
use comfy_table::{Cell, ColumnConstraint, ContentArrangement, Table, Width, presets};
use owo_colors::OwoColorize;
use serde_json::Value;

use super::provoke::Incident;

/// Width of the table where there is no terminal to ask.
const WIDTH: u16 = 150;

const TRACE_ID_WIDTH: u16 = 32;

/// One row per incident.
pub fn table(incidents: &[Incident], verdicts: &[Value]) {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    if !table.is_tty() {
        table.set_width(WIDTH);
    }
    let header = ["what happened", "the model sees", "the program is told", "the operator can look up"];
    table.set_header(header.map(|title| Cell::new(title.bold().to_string())));
    for (incident, verdict) in incidents.iter().zip(verdicts) {
        table.add_row([
            what(incident),
            model(&verdict["envelope"]),
            program(verdict),
            operator(&verdict["diagnostic"]),
        ]);
    }
    // A trace id is only of use in one piece.
    if let Some(column) = table.column_mut(3) {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(TRACE_ID_WIDTH + 2)));
    }
    println!("{table}");
}

/// The closing line.
pub fn figures(errors: usize, leaks: usize, microseconds: f64) {
    let leaks =
        if leaks == 0 { "0 leaks".green().to_string() } else { format!("{leaks} leaks").red().to_string() };
    println!("{} errors, {leaks} in the envelopes, {microseconds:.1} µs per verdict", errors.bold());
}

fn what(incident: &Incident) -> String {
    format!("{}\n{}", incident.title.bold(), format!("tool {}", incident.tool).dimmed())
}

fn model(envelope: &Value) -> String {
    let (code, outcome) = (word(&envelope["code"]), word(&envelope["outcome"]));
    let outcome = match outcome {
        "unknown" => outcome.red().to_string(),
        "committed" => outcome.blue().to_string(),
        _ => outcome.green().to_string(),
    };
    let retry = match (envelope["retryable"].as_bool(), envelope["retry_after_ms"].as_u64()) {
        (Some(true), Some(ms)) => format!("retryable after {ms} ms").yellow().to_string(),
        (Some(true), None) => "retryable".yellow().to_string(),
        _ => "not retryable".to_owned(),
    };
    let key = envelope["operation_key"].as_str().map_or(String::new(), |key| format!("\nkey {key}"));
    let (category, message) = (word(&envelope["category"]), word(&envelope["message"]));
    format!("{}\n{category}, {outcome}\n{retry}{}\n{}", code.bold(), key.dimmed(), message.dimmed())
}

fn program(verdict: &Value) -> String {
    let decision = &verdict["decision"];
    let wait = decision["delay_ms"].as_u64().map_or(String::new(), |ms| format!(" in {ms} ms"));
    let action = word(&decision["action"]).bold().to_string();
    let unlike = |name: &str, usual: &str| match word(&decision[name]) {
        value if value == usual => String::new(),
        value => format!("\n{} {value}", name.dimmed()),
    };
    let (cleanup, scope) = (unlike("cleanup", "none"), unlike("scope", "operation"));
    format!("{action}{wait}{cleanup}{scope}\n{} {}", "because".dimmed(), word(&decision["reason"]))
}

fn operator(diagnostic: &Value) -> String {
    let trace = word(&diagnostic["trace_id"]).dimmed().to_string();
    let statement = diagnostic["statement_fingerprint"].as_str();
    let statement = statement.map_or(String::new(), |hash| format!("\n{} {hash}", "statement".dimmed()));
    let (rule, message) = (word(&diagnostic["rule"]), word(&diagnostic["message"]));
    format!("{trace}\n{} {rule}{statement}\n{message}", "rule".dimmed())
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("–")
}
