//! What an answer is: a result, an error of a tool, an error of the protocol; and what of the contract an error holds.

use retort::codes::Code;
use retort::words::{Category, Next, Outcome};
use serde_json::Value;

use crate::Contract;

/// What came back for a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A result that is no error.
    Result(Value),
    /// A result with `isError`.
    ToolError(Value),
    /// An error of JSON-RPC.
    ProtocolError(Value),
    /// Nothing in time, or nothing any more.
    Nothing,
}

impl Answer {
    /// Reads the response to a request.
    pub fn read(response: &Value) -> Answer {
        match (response.get("error"), &response["result"]) {
            (Some(error), _) => Answer::ProtocolError(error.clone()),
            (None, result) if result["isError"] == true => Answer::ToolError(result.clone()),
            (None, result) => Answer::Result(result.clone()),
        }
    }

    /// The error's JSON, of whichever kind.
    pub fn error(&self) -> Option<&Value> {
        match self {
            Answer::ToolError(error) | Answer::ProtocolError(error) => Some(error),
            Answer::Result(_) | Answer::Nothing => None,
        }
    }

    /// The envelope in a tool's error: its only text block, as JSON.
    pub fn envelope(&self) -> Option<Value> {
        let Answer::ToolError(result) = self else { return None };
        let [block] = result["content"].as_array()?.as_slice() else { return None };
        serde_json::from_str(block["text"].as_str()?).ok()
    }
}

/// What an envelope lacks; `None` where it is complete and free of contradictions.
pub fn lack(envelope: &Value) -> Option<&'static str> {
    let word = |name: &str| envelope[name].as_str().unwrap_or_default();
    let outcome = Outcome::parse(word("outcome"));
    let is_without_effect = outcome.is_some_and(Outcome::is_without_effect);
    let retryable = envelope["retryable"].as_bool();
    [
        (Code::parse(word("code")).is_none(), "a known code"),
        (Category::parse(word("category")).is_none(), "a category"),
        (outcome.is_none(), "an outcome"),
        (retryable.is_none(), "whether it may be retried"),
        (Next::parse(word("next")).is_none(), "the next step"),
        (word("message").is_empty(), "a message"),
        (word("trace_id").is_empty(), "a trace id"),
        (
            envelope.get("retry_after_ms").is_some() && retryable != Some(true),
            "a wait only where it may be retried",
        ),
        (
            retryable == Some(true) && !is_without_effect && word("next") != "resubmit",
            "a retry only where it is safe",
        ),
    ]
    .into_iter()
    .find_map(|(is_lacking, what)| is_lacking.then_some(what))
}

/// What of an error should not be public: a canary, or what `inspect` finds in its texts.
pub fn leak(contract: &dyn Contract, error: &Value, canary: &str) -> Option<String> {
    if error.to_string().contains(canary) {
        return Some(String::from("an argument's own value"));
    }
    let mut texts = Vec::new();
    collect(error, &mut texts);
    let found = |text: &String| {
        let request = serde_json::json!({ "text": text }).to_string();
        let found: Value = serde_json::from_str(&contract.inspect(&request)).unwrap_or_default();
        found["findings"][0]["kind"].as_str().map(String::from)
    };
    texts.iter().find_map(found)
}

/// Every text in a JSON value, JSON inside of texts read as well. Trace ids and operation keys are the host's own.
fn collect(value: &Value, texts: &mut Vec<String>) {
    const OWN: &[&str] = &["trace_id", "operation_key", "traceparent"];
    match value {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_))) => collect(&inner, texts),
            _ => texts.push(text.clone()),
        },
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(members) => {
            let others = members.iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
            others.for_each(|(_, member)| collect(member, texts));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => (),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Native;

    fn envelope() -> Value {
        json!({
            "code": "POOL_BUSY", "category": "transient", "retryable": true, "retry_after_ms": 100,
            "outcome": "not_started", "trace_id": "0af7651916cd43dd8448eb211c80319c",
            "message": "No database connection was free in time. Nothing was sent.", "next": "retry",
        })
    }

    #[test]
    fn an_envelope_is_complete_or_the_first_thing_that_it_lacks_is_named() {
        assert_eq!(lack(&envelope()), None);
        let without = |name: &str, value: Value| {
            let mut envelope = envelope();
            envelope[name] = value;
            lack(&envelope)
        };
        assert_eq!(without("code", json!("SQLITE_BUSY")), Some("a known code"));
        assert_eq!(without("trace_id", Value::Null), Some("a trace id"));
        assert_eq!(without("retryable", json!(false)), Some("a wait only where it may be retried"));
        assert_eq!(without("outcome", json!("unknown")), Some("a retry only where it is safe"));
        assert_eq!(lack(&Value::Null), Some("a known code"));
    }

    #[test]
    fn a_leak_is_found_inside_of_texts_and_an_envelope_has_none() {
        let carried =
            |text: String| json!({ "isError": true, "content": [{ "type": "text", "text": text }] });
        assert_eq!(leak(&Native, &carried(envelope().to_string()), "canary"), None);
        let echoed = carried(String::from("Invalid value: canary"));
        assert_eq!(leak(&Native, &echoed, "canary").as_deref(), Some("an argument's own value"));
        let raw = carried(
            json!({ "error": "connect to postgres://app:s3cret@db.internal:5432/shop failed" }).to_string(),
        );
        assert!(leak(&Native, &raw, "canary").is_some());
    }
}
