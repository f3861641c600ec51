//! What the host says in the component's place after a trap: constants, cautious, without anything of the error.
//!
//! Of the report only three things are used: whether it says read, the trace id and the operation key, both checked
//! by charset and length.

use retort::codes::Code;
use retort::report::Token;
use retort_sidecar::Function;
use serde_json::Value;

use crate::ids;

pub mod typed;

/// How long to wait before the operation key is looked up, in milliseconds.
const CHECK_AFTER_MS: u32 = 1_000;

/// The part of a report that a constant verdict depends on.
struct Outline {
    is_read: bool,
    trace_id: String,
    operation_key: Option<String>,
}

/// What a function of the interface `json` is answered with.
pub fn answer(function: Function, text: &str) -> String {
    match function {
        Function::Budget => tokens(),
        Function::Codes => String::from("[]"),
        Function::Evaluate => verdict(text),
        Function::EvaluateMany => verdicts(text),
        Function::Fingerprint => fingerprint(),
        Function::Inspect => findings(text),
        Function::Reconcile => reconciliation(text),
        Function::Redact => redaction(text),
        Function::Render => rendered(),
        Function::Summarise => operation_record(),
        Function::Version => String::new(),
    }
}

/// The verdict over an error that the component could not judge.
pub fn verdict(report: &str) -> String {
    // A report that is no JSON is judged as a sent write.
    let report = serde_json::from_str(report).unwrap_or(Value::Null);
    Outline::of_report(&report).to_json()
}

/// The verdicts over an array of reports.
fn verdicts(reports: &str) -> String {
    let verdicts = match serde_json::from_str(reports) {
        Ok(Value::Array(reports)) => {
            reports.iter().map(|report| Outline::of_report(report).to_json()).collect()
        }
        _ => vec![Outline::of_report(&Value::Null).to_json()],
    };
    format!("[{}]", verdicts.join(","))
}

/// The verdict where an earlier one could not be judged anew: its outcome stays open.
fn reconciliation(reconciliation: &str) -> String {
    let reconciliation: Value = serde_json::from_str(reconciliation).unwrap_or(Value::Null);
    let mut outline = Outline::of_report(&reconciliation);
    let earlier = &reconciliation["verdict"];
    let earlier_key = [&earlier["envelope"]["operation_key"], &earlier["operation_key"]];
    outline.is_read = false;
    outline.operation_key = outline.operation_key.or_else(|| earlier_key.into_iter().find_map(key));
    outline.to_json()
}

/// A fold that claims nothing.
fn operation_record() -> String {
    String::from(
        r#"{"retort.attempts":0,"retort.total_delay_ms":0,"error.type":"OUTCOME_UNKNOWN","retort.category":"unknown_outcome","retort.outcome":"unknown","retort.duplicates_possible":true,"retort.final":true}"#,
    )
}

/// No tokens: no retry.
fn tokens() -> String {
    String::from(r#"{"tokens":0}"#)
}

/// Nothing of the text.
fn redaction(text: &str) -> String {
    format!(r#"{{"text":"[withheld]","findings":{}}}"#, whole(text))
}

/// One finding over the whole text, so that the gate stays shut.
fn findings(text: &str) -> String {
    format!(r#"{{"findings":{}}}"#, whole(text))
}

/// A statement of which nothing is known.
fn fingerprint() -> String {
    String::from(r#"{"fingerprint":"0000000000000000","shape":"","operation":"","summary":""}"#)
}

/// The MCP result of an error of which nothing is known.
pub fn rendered() -> String {
    let envelope = Outline::of_report(&Value::Null).envelope();
    let text = Value::String(envelope.clone());
    format!(
        r#"{{"content":[{{"type":"text","text":{text}}}],"isError":true,"_meta":{{"dev.retort/error":{envelope}}}}}"#
    )
}

impl Outline {
    fn of_report(report: &Value) -> Outline {
        let operation = &report["operation"];
        // A statement that is no text is none that selects.
        let statement = Some(&operation["statement"]).filter(|value| !value.is_null());
        let statement = statement.map(|value| value.as_str().unwrap_or_default());
        let trace_id = report["context"]["trace_id"].as_str().and_then(Token::identifier);
        Outline {
            is_read: is_read(operation["effect"].as_str(), statement),
            trace_id: trace_id.map_or_else(ids::trace_id, |token| token.as_str().into()),
            operation_key: key(&operation["operation_key"]),
        }
    }

    fn code(&self) -> Code {
        if self.is_read { Code::DatabaseError } else { Code::OutcomeUnknown }
    }

    fn outcome(&self) -> &'static str {
        if self.is_read { "not_committed" } else { "unknown" }
    }

    fn next(&self) -> &'static str {
        match (self.is_read, &self.operation_key) {
            (true, _) => "stop",
            (false, Some(_)) => "reconcile",
            (false, None) => "escalate",
        }
    }

    fn check_after_ms(&self) -> Option<u32> {
        (self.next() == "reconcile").then_some(CHECK_AFTER_MS)
    }

    fn envelope(&self) -> String {
        let (code, trace_id) = (self.code(), &self.trace_id);
        let (category, message, name) = (code.category().as_str(), code.message(), code.as_str());
        let (outcome, next) = (self.outcome(), self.next());
        let key = self.operation_key.as_ref().filter(|_| !self.is_read);
        let key =
            key.map_or(String::new(), |key| format!(r#","operation_key":{}"#, Value::from(key.as_str())));
        let check = self.check_after_ms().map_or(String::new(), |ms| format!(r#","check_after_ms":{ms}"#));
        format!(
            r#"{{"code":"{name}","category":"{category}","retryable":false,"outcome":"{outcome}","trace_id":"{trace_id}","message":"{message}","next":"{next}"{key}{check}}}"#
        )
    }

    fn to_json(&self) -> String {
        let (envelope, trace_id, next, outcome) =
            (self.envelope(), &self.trace_id, self.next(), self.outcome());
        let (code, category) = (self.code().as_str(), self.code().category().as_str());
        let delay = self.check_after_ms().map_or(String::new(), |ms| format!(r#""delay_ms":{ms},"#));
        format!(
            r#"{{"envelope":{envelope},"decision":{{"action":"{next}",{delay}"scope":"operation","cleanup":"cancel_then_discard","reason":"tool_fault","attempts_left":0}},"diagnostic":{{"trace_id":"{trace_id}","code":"{code}","system":"_OTHER","rule":"host/fault","proof":"nothing","native_codes":[],"phase":"unknown","phase_conflict":false,"transaction":"unknown","cancel":"none","connection":"unknown","message":"","causes":[],"attempt_number":1}},"attempt":{{"error.type":"{code}","db.system.name":"_OTHER","db.response.status_code":"_OTHER","retort.attempt.number":1,"retort.category":"{category}","retort.outcome":"{outcome}","retort.retryable":false,"retort.next":"{next}","retort.final":true}}}}"#
        )
    }
}

/// Only what says read and shows nothing else than a SELECT is one.
fn is_read(effect: Option<&str>, statement: Option<&str>) -> bool {
    let selects = |statement: &str| {
        statement.trim_start().get(..6).is_some_and(|verb| verb.eq_ignore_ascii_case("select"))
    };
    effect == Some("read") && statement.is_none_or(selects)
}

fn key(value: &Value) -> Option<String> {
    value.as_str().and_then(Token::key).map(|token| token.as_str().into())
}

/// The findings that cover the whole text of what was asked.
fn whole(asked: &str) -> String {
    let value: Value = serde_json::from_str(asked).unwrap_or(Value::Null);
    let text = value["text"].as_str().unwrap_or(asked);
    format!(r#"[{{"kind":"unreadable","start":0,"end":{}}}]"#, text.len())
}
