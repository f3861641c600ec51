//! Golden files: whole verdicts and outputs, byte for byte.

use std::fs;

use retort::strings;

use crate::corpus::{self, Call, Case};

/// Writes a golden file's whole text.
pub type Maker = fn() -> String;

/// The golden file of verdicts, and the one of the other functions' outputs.
pub const FILES: [(&str, Maker); 2] = [("golden.jsonl", verdicts), ("golden-calls.jsonl", outputs)];

/// A line per report: name, report and whole verdict.
pub fn verdicts() -> String {
    corpus::reports().iter().map(verdict).collect()
}

/// The line of one report.
fn verdict(case: &Case) -> String {
    let report = case.report.to_string();
    format!(
        "{{\"name\":{},\"report\":{report},\"verdict\":{}}}\n",
        serde_json::json!(case.name),
        strings::evaluate(&report)
    )
}

/// A line per call: name, function, input and whole output.
pub fn outputs() -> String {
    corpus::calls().iter().map(output).collect()
}

fn output(call: &Call) -> String {
    let output = call_native(&call.function, &call.input);
    let line = serde_json::json!({
        "name": call.name, "function": call.function, "input": call.input, "output": output,
    });
    format!("{line}\n")
}

/// Calls a function of the string interface by its name in the contract.
///
/// # Panics
/// Where there is no such function: the corpus is wrong then.
pub fn call_native(function: &str, input: &str) -> String {
    match function {
        "evaluate" => strings::evaluate(input),
        "evaluate-many" => strings::evaluate_many(input),
        "reconcile" => strings::reconcile(input),
        "summarise" => strings::summarise(input),
        "budget" => strings::budget(input),
        "redact" => strings::redact(input),
        "inspect" => strings::inspect(input),
        "fingerprint" => strings::fingerprint(input),
        "render" => strings::render(input),
        "codes" => strings::codes(),
        "version" => strings::version().to_owned(),
        _ => panic!("no function {function}"),
    }
}

/// Every function of the string interface.
pub const FUNCTIONS: [&str; 11] = [
    "evaluate",
    "evaluate-many",
    "reconcile",
    "summarise",
    "budget",
    "redact",
    "inspect",
    "fingerprint",
    "render",
    "codes",
    "version",
];

/// Writes the golden files anew.
///
/// # Errors
/// Where a file cannot be written.
pub fn update() -> std::io::Result<()> {
    for (name, lines) in FILES {
        fs::write(corpus::path(name), lines())?;
    }
    Ok(())
}

/// The first difference of each golden file from what the library says now.
pub fn differences() -> Vec<String> {
    FILES
        .iter()
        .filter_map(|(name, lines)| {
            let (kept, fresh) = (corpus::read(name), lines());
            let difference = kept.lines().zip(fresh.lines()).find(|(kept, fresh)| kept != fresh);
            match difference {
                Some((kept, fresh)) => Some(format!("{name}:\n- {kept}\n+ {fresh}")),
                None if kept.len() != fresh.len() => Some(format!("{name}: other number of lines")),
                None => None,
            }
        })
        .collect()
}
