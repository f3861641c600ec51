//! `retort redact`, `inspect` and `fingerprint`: texts in, from arguments, standard input or JSON Lines.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value};

use super::Error;
use super::lines::{self, Input};
use crate::Contract;

#[derive(Args, Debug)]
struct Source {
    /// The text itself, several joined by blanks; without any, all of standard input. With --jsonl: files to read
    #[arg(value_name = "TEXT|FILE")]
    items: Vec<String>,
    /// Read JSON Lines of {"text", "level"?, "dialect"?}, and write a JSON object for each
    #[arg(long)]
    jsonl: bool,
}

#[derive(Args, Debug)]
pub struct RedactArguments {
    #[command(flatten)]
    source: Source,
    /// diagnostic, or strict: names of objects go too [default: diagnostic]
    #[arg(long)]
    level: Option<String>,
}

#[derive(Args, Debug)]
pub struct InspectArguments {
    #[command(flatten)]
    source: Source,
    /// Exit with 1 where anything was found
    #[arg(long)]
    exit_code: bool,
}

#[derive(Args, Debug)]
pub struct FingerprintArguments {
    #[command(flatten)]
    source: Source,
    /// The database system whose SQL it is; without one, "…" is read as a literal
    #[arg(long)]
    dialect: Option<String>,
}

/// Writes the redacted text; with --jsonl `{"text", "findings"}`.
pub fn redact(contract: &dyn Contract, arguments: &RedactArguments) -> Result<(), Error> {
    let is_plain = !arguments.source.jsonl;
    arguments.source.map("level", arguments.level.as_deref(), |request| {
        let answer = contract.redact(request);
        if is_plain { text_of(&answer) } else { answer }
    })
}

/// Writes `{"findings"}`.
pub fn inspect(contract: &dyn Contract, arguments: &InspectArguments) -> Result<ExitCode, Error> {
    let mut is_clean = true;
    arguments.source.map("level", None, |request| {
        let answer = contract.inspect(request);
        is_clean &= answer == r#"{"findings":[]}"#;
        answer
    })?;
    Ok(if arguments.exit_code && !is_clean { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Writes `{"fingerprint", "shape", "operation", "summary"}`.
pub fn fingerprint(contract: &dyn Contract, arguments: &FingerprintArguments) -> Result<(), Error> {
    arguments.source.map("dialect", arguments.dialect.as_deref(), |request| contract.fingerprint(request))
}

impl Source {
    /// Gives every text as a JSON request to `each`; `option` is what a line without the field `name` gets.
    fn map(
        &self,
        name: &str,
        option: Option<&str>,
        mut each: impl FnMut(&str) -> String,
    ) -> Result<(), Error> {
        if self.jsonl {
            let files = Input::files(self.items.iter().map(PathBuf::from));
            return files.map_lines(|line| Some(each(&with_option(line, name, option))));
        }
        let text = if self.items.is_empty() { lines::stdin_text()? } else { self.items.join(" ") };
        let request = Value::from(Map::from_iter([("text".to_owned(), Value::from(text))])).to_string();
        let answer = each(&with_option(&request, name, option));
        let mut output = lines::output();
        output.write_all(answer.as_bytes())?;
        if !answer.ends_with('\n') {
            output.write_all(b"\n")?;
        }
        Ok(output.flush()?)
    }
}

/// The request with the option in it, where it is an object that does not say otherwise.
fn with_option(request: &str, name: &str, option: Option<&str>) -> String {
    let Some(option) = option else { return request.to_owned() };
    match serde_json::from_str(request) {
        Ok(Value::Object(mut fields)) => {
            fields.entry(name).or_insert_with(|| option.into());
            Value::Object(fields).to_string()
        }
        _ => request.to_owned(),
    }
}

/// The text of a redaction.
fn text_of(redaction: &str) -> String {
    let redaction: Value = serde_json::from_str(redaction).unwrap_or_default();
    redaction["text"].as_str().unwrap_or_default().to_owned()
}
