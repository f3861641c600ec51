//! The tools: their schemas, which are also what arguments are checked against.

use serde_json::{Map, Value, json};

/// Version of the tools' contract, and of the view that `report` is pinned to.
pub const VERSION: &str = "1";

/// The states of an order.
pub const STATUSES: &[&str] = &["open", "shipped", "closed"];

/// A tool, as it is published.
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What it does, for the model.
    pub description: &'static str,
    /// Does it change data?
    pub writes: bool,
    /// The verb of its own statement; `None` where there is none, or where the model writes it.
    pub verb: Option<&'static str>,
    /// Its arguments as a JSON Schema object; only the keywords that [`violations`] knows.
    pub schema: fn() -> Value,
}

/// All of them.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "report",
        description: "Lists your orders: id, status, cents, newest first.",
        writes: false,
        verb: Some("SELECT"),
        schema: || {
            json!({ "type": "object", "additionalProperties": false, "properties": {
                "status": { "type": "string", "enum": STATUSES, "description": "Only orders in this state." },
                "limit": { "type": "integer", "minimum": 1, "maximum": 100, "default": 20 },
            } })
        },
    },
    Tool {
        name: "query",
        description: "Runs one read-only SQL statement of yours on the view `orders_v1 (id, status, cents)`, at most 100 rows.",
        writes: false,
        verb: None,
        schema: || {
            json!({ "type": "object", "additionalProperties": false, "required": ["sql"], "properties": {
                "sql": { "type": "string", "minLength": 1, "maxLength": 10_000 },
            } })
        },
    },
    Tool {
        name: "update_status",
        description: "Sets the state of one of your orders. Choose an operation key before the first call and pass the \
            same one when you repeat the call: then the change is made once, and a repeated call gets the first result.",
        writes: true,
        verb: Some("UPDATE"),
        schema: || {
            json!({ "type": "object", "additionalProperties": false,
                "required": ["operation_key", "order_id", "status"], "properties": {
                "operation_key": { "type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[!-~]+$",
                    "description": "Unique to this change; 1 to 256 visible ASCII characters." },
                "order_id": { "type": "integer", "minimum": 1, "maximum": 2_147_483_647 },
                "status": { "type": "string", "enum": STATUSES },
            } })
        },
    },
    Tool {
        name: "receipt",
        description: "Says what became of an earlier update_status call, by its operation key. Afterwards an attempt that \
            was still under way can no longer take effect.",
        writes: false,
        verb: Some("SELECT"),
        schema: || {
            json!({ "type": "object", "additionalProperties": false, "required": ["operation_key"], "properties": {
                "operation_key": { "type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[!-~]+$" },
            } })
        },
    },
    Tool {
        name: "describe",
        description: "Explains the errors of these tools: every code, what it means and what to do next.",
        writes: false,
        verb: None,
        schema: || json!({ "type": "object", "additionalProperties": false, "properties": {} }),
    },
];

/// A broken rule of a schema: argument, keyword, and the condition that it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Violation {
    /// The argument by its published name; empty for one that is not published.
    pub argument: &'static str,
    /// The schema's keyword.
    pub rule: &'static str,
    /// The public code.
    pub code: &'static str,
}

/// What of the arguments breaks the schema. Names of unpublished arguments are the caller's text and are not repeated.
pub fn violations(schema: &Value, arguments: &Map<String, Value>) -> Vec<Violation> {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let missing = required.iter().filter_map(Value::as_str).filter(|name| !arguments.contains_key(*name));
    let mut found: Vec<Violation> =
        missing.map(|name| violation(name, "required", "MISSING_ARGUMENT")).collect();
    for (name, value) in arguments {
        match properties.get(name) {
            Some(rules) => found.extend(broken(name, rules, value)),
            None => found.push(violation("", "additionalProperties", "INVALID_ARGUMENT")),
        }
    }
    found
}

fn broken(name: &str, rules: &Value, value: &Value) -> Option<Violation> {
    let integer = value.as_i64();
    let text = value.as_str();
    let is_of_type = match rules["type"].as_str() {
        Some("integer") => integer.is_some(),
        Some("string") => text.is_some(),
        _ => true,
    };
    let length = text.map(|text| text.chars().count() as u64);
    let beyond = |rule: &str, over: fn(i64, i64) -> bool| {
        integer.zip(rules[rule].as_i64()).is_some_and(|(value, bound)| over(value, bound))
    };
    let is_key = name == "operation_key";
    let visible = text.is_none_or(|text| text.bytes().all(|byte| byte.is_ascii_graphic()));
    let length_beyond = |rule: &str, over: fn(u64, u64) -> bool| {
        length.zip(rules[rule].as_u64()).is_some_and(|(value, bound)| over(value, bound))
    };
    let checks = [
        (!is_of_type, "type", "INVALID_ARGUMENT"),
        (rules["enum"].as_array().is_some_and(|words| !words.contains(value)), "enum", "UNSUPPORTED_VALUE"),
        (beyond("minimum", |value, bound| value < bound), "minimum", "OUT_OF_RANGE"),
        (beyond("maximum", |value, bound| value > bound), "maximum", "OUT_OF_RANGE"),
        (length_beyond("minLength", |value, bound| value < bound), "minLength", "INVALID_ARGUMENT"),
        (length_beyond("maxLength", |value, bound| value > bound), "maxLength", "VALUE_TOO_LONG"),
        (rules.get("pattern").is_some() && !visible, "pattern", "INVALID_FORMAT"),
    ];
    let (_, rule, code) = checks.into_iter().find(|(is_broken, ..)| *is_broken)?;
    Some(violation(name, rule, if is_key { "INVALID_KEY" } else { code }))
}

fn violation(name: &str, rule: &'static str, code: &'static str) -> Violation {
    const PUBLISHED: &[&str] = &["limit", "operation_key", "order_id", "sql", "status"];
    let argument = PUBLISHED.iter().find(|published| **published == name).copied().unwrap_or("");
    Violation { argument, rule, code }
}
