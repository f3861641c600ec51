//! The `json` interface of the contract: one string in, one string out. The component exports these functions as
//! they are; native callers get the same bytes.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Serialize, Serializer};

use crate::codes::Code;
use crate::decide;
use crate::json::Json;
use crate::observe::{AttemptRecord, summarise as fold};
use crate::publish::Envelope;
use crate::reconcile as earlier;
use crate::render::{render as rendered, to_json};
use crate::report::{Policy, Report};
use crate::sanitise::{self, Dialect, Finding, Level};
use crate::words::{Category, Next};

/// A report in, a verdict out.
pub fn evaluate(report: &str) -> String {
    to_json(&crate::evaluate(&Report::read(report)))
}

/// An array of reports in, an array of verdicts out.
pub fn evaluate_many(reports: &str) -> String {
    to_json(&Verdicts(&Report::read_many(reports)))
}

/// The verdicts on some reports, given one by one.
struct Verdicts<'r, 'a>(&'r [Report<'a>]);

impl Serialize for Verdicts<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(crate::evaluate))
    }
}

/// An earlier verdict and what its receipt says in, a verdict out.
pub fn reconcile(reconciliation: &str) -> String {
    to_json(&crate::evaluate(&earlier::read(reconciliation)))
}

/// An array of attempt records in, an operation record out. What is no attempt record is passed over.
pub fn summarise(attempts: &str) -> String {
    let json = Json::read(attempts).unwrap_or(Json::Null);
    to_json(&fold(&json.items().iter().filter_map(AttemptRecord::read).collect::<Vec<_>>()))
}

/// `{"tokens", "event", "capacity"?}` in, `{"tokens"}` out. A budget that cannot be read is empty.
pub fn budget(change: &str) -> String {
    let json = Json::read(change).unwrap_or(Json::Null);
    let number =
        |name: &str| json.get(name).and_then(Json::as_whole).map(|number| number.clamp(0, u32::MAX.into()));
    let tokens = u32::try_from(number("tokens").unwrap_or(0)).unwrap_or(0);
    let capacity =
        u32::try_from(number("capacity").unwrap_or(Policy::default().capacity.into())).unwrap_or(0);
    let event = json.get("event").and_then(Json::as_text).unwrap_or("");
    to_json(&Tokens { tokens: decide::budget(tokens, event, capacity) })
}

/// `{"text", "level"?}` in, `{"text", "findings"}` out. Anything else is taken as the text.
pub fn redact(text: &str) -> String {
    let json = Json::read(text).unwrap_or(Json::Null);
    let level =
        json.get("level").map_or(Level::default(), |level| Level::parse(level.as_text().unwrap_or("")));
    to_json(&sanitise::redact(subject(text, &json), level))
}

/// `{"text"}` in, `{"findings"}` out. Anything else is taken as the text.
pub fn inspect(text: &str) -> String {
    let json = Json::read(text).unwrap_or(Json::Null);
    to_json(&Findings { findings: sanitise::inspect(subject(text, &json)) })
}

/// `{"text", "dialect"?}` in, `{"fingerprint", "shape", "operation", "summary"}` out. Anything else is taken as the text.
pub fn fingerprint(statement: &str) -> String {
    let json = Json::read(statement).unwrap_or(Json::Null);
    let dialect = json.get("dialect").and_then(Json::as_text).map_or(Dialect::Generic, Dialect::parse);
    to_json(&sanitise::fingerprint(subject(statement, &json), dialect))
}

/// An envelope (or verdict) and a carrier in, the rendered text out. What is no envelope renders as an unreadable report.
pub fn render(envelope: &str) -> String {
    let json = Json::read(envelope).unwrap_or(Json::Null);
    let format = json.get("as").and_then(Json::as_text).unwrap_or("");
    let inner = json.get("verdict").or(json.get("envelope")).unwrap_or(&json);
    let inner = inner.get("envelope").unwrap_or(inner);
    match Envelope::read(inner) {
        Some(envelope) => rendered(&envelope, format),
        None => rendered(&crate::evaluate(&Report::read("")).envelope, format),
    }
}

/// The whole table of public codes.
pub fn codes() -> String {
    let row = |code: &Code| CodeRow {
        code: *code,
        category: code.category(),
        transient: code.is_transient(),
        next: code.next(),
        message: code.message(),
    };
    to_json(&Code::ALL.iter().map(row).collect::<Vec<_>>())
}

/// The version of the library and the component.
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

#[derive(Serialize)]
struct Tokens {
    tokens: u32,
}

#[derive(Serialize)]
struct CodeRow {
    code: Code,
    category: Category,
    transient: bool,
    next: Next,
    message: &'static str,
}

#[derive(Serialize)]
struct Findings {
    findings: Vec<Finding>,
}

/// The member `text` of an object, or else the whole input, so that nothing escapes the sanitiser for its form's sake.
fn subject<'a>(input: &'a str, json: &'a Json<'_>) -> &'a str {
    json.get("text").and_then(Json::as_text).unwrap_or(input)
}
