//! What holds for any input at all: one property per fuzz target. The fuzz targets in `tests/fuzz` call these, and an
//! ordinary test replays the kept corpora through the same functions.

use retort::report::Report;
use retort::sanitise::{self, Dialect, Level};
use retort::strings;
use serde_json::{Value, json};

use crate::arbitrary::CANARY;
use crate::{laws, leak};

/// A property of any text. It panics where it does not hold.
pub type Property = fn(&str);

/// Every property, by the name of its fuzz target.
pub const ALL: [(&str, Property); 5] = [
    ("evaluate", evaluate),
    ("causes", causes),
    ("redact", redact),
    ("fingerprint", fingerprint),
    ("render", render),
];

/// The call of the interface `json` that goes with an input of a fuzz target: function and argument.
///
/// # Panics
/// Where no target has this name.
pub fn call(target: &str, text: &str) -> (&'static str, String) {
    let input = match target {
        "evaluate" => String::from(text),
        "causes" => report_of_causes(text),
        "redact" => json!({"text": text, "level": "strict"}).to_string(),
        "fingerprint" => json!({"text": text, "dialect": "postgresql"}).to_string(),
        "render" => {
            let envelope = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
            json!({"envelope": envelope, "as": "problem"}).to_string()
        }
        _ => panic!("{target} is no fuzz target"),
    };
    let functions = ["redact", "fingerprint", "render"];
    (functions.into_iter().find(|name| *name == target).unwrap_or("evaluate"), input)
}

/// Any text as a report gets a verdict that keeps the laws, and the same one in company; any text as several gets verdicts.
///
/// # Panics
/// Where a law is broken.
pub fn evaluate(text: &str) {
    let answer = strings::evaluate(text);
    let verdict: Value = serde_json::from_str(&answer).expect("a verdict is JSON");
    let broken = laws::broken(&Report::read(text), &verdict);
    assert!(broken.is_empty(), "{broken:#?}");
    let together = strings::evaluate_many(&format!("[{text},{text}]"));
    if serde_json::from_str::<Value>(text).is_ok() {
        assert_eq!(together, format!("[{answer},{answer}]"), "law 6");
    }
    let verdicts =
        [together, strings::evaluate_many(text)].map(|many| serde_json::from_str::<Vec<Value>>(&many));
    assert!(verdicts.iter().all(|many| many.is_ok()), "law 1");
    if holds_canary_in_error_alone(text) {
        let public = leak::public_text(&verdict).to_lowercase();
        assert!(!public.contains(CANARY), "law 2: {public}");
    }
}

/// Any nesting of causes, codes and texts, as drivers shape them, gets a verdict that keeps the laws.
///
/// # Panics
/// Where a law is broken.
pub fn causes(text: &str) {
    evaluate(&report_of_causes(text));
}

/// A report whose error is nested, spelled and worded as the text's bytes choose.
pub fn report_of_causes(text: &str) -> String {
    let mut steps = text.bytes();
    let operation = json!({
        "effect": pick(&mut steps, &["write", "read", "idempotent_write"]),
        "phase": pick(&mut steps, &["unknown", "send", "execute", "commit", "acquire", "rollback", "done"]),
        "transaction": pick(&mut steps, &["none", "open", "committing", "failed", "unknown"]),
    });
    json!({"error": shape(&mut steps, 0), "operation": operation, "seed": 7}).to_string()
}

/// Redaction is idempotent and leaves nothing that `inspect` would find; findings lie in order within the text.
///
/// # Panics
/// Where it is not so.
pub fn redact(text: &str) {
    for level in [Level::Diagnostic, Level::Strict] {
        let once = sanitise::redact(text, level);
        let twice = sanitise::redact(&once.text, level);
        assert_eq!(once.text, twice.text, "redaction is not idempotent");
        assert!(sanitise::inspect(&once.text).is_empty(), "left in {:?}", once.text);
    }
    let mut end = 0;
    for finding in sanitise::inspect(text) {
        let (start, stop) = (finding.start as usize, finding.end as usize);
        assert!(end <= start && start <= stop && text.get(start..stop).is_some(), "{finding:?}");
        end = stop;
    }
}

/// The text as a literal of a statement changes neither shape nor fingerprint, in any dialect; as a statement it gets
/// 16 hex digits.
///
/// # Panics
/// Where it is not so.
pub fn fingerprint(text: &str) {
    for dialect in
        ["postgresql", "mysql", "sqlite", "mssql", "oracle", "clickhouse", "mongodb"].map(Dialect::parse)
    {
        let shown = sanitise::fingerprint(text, dialect);
        let digits = shown.fingerprint.as_str();
        assert!(digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()), "{digits}");
        assert_eq!(shown.fingerprint, sanitise::fingerprint(text, dialect).fingerprint);
    }
    // A backslash escapes in some dialects only, and what may not stand in a text may not stand in a statement.
    let literal = text.replace('\'', "''").replace(['\\', '\0'], "");
    let statement = |literal: &str| format!("UPDATE t SET a = '{literal}' WHERE b = 1");
    for dialect in ["postgresql", "mysql", "sqlite", "mssql", "oracle", "clickhouse"].map(Dialect::parse) {
        let shown = sanitise::fingerprint(&statement(&literal), dialect);
        let plain = sanitise::fingerprint(&statement("x"), dialect);
        assert_eq!((shown.shape, shown.fingerprint), (plain.shape, plain.fingerprint));
    }
}

/// Any text renders as something for every carrier, and an envelope that is none as an unreadable report.
///
/// # Panics
/// Where what should be JSON is none.
pub fn render(text: &str) {
    for carrier in ["mcp", "problem", "status", "text", ""] {
        let shown = strings::render(&json!({"envelope": text, "as": carrier}).to_string());
        assert!(!shown.is_empty());
        let Ok(envelope) = serde_json::from_str::<Value>(text) else { continue };
        let shown = strings::render(&json!({"envelope": envelope, "as": carrier}).to_string());
        assert!(!shown.is_empty());
        if carrier != "text" {
            serde_json::from_str::<Value>(&shown).expect("rendered as JSON");
        }
    }
}

/// Is the canary somewhere in the report's `error`, and nowhere else?
fn holds_canary_in_error_alone(text: &str) -> bool {
    let Ok(Value::Object(mut report)) = serde_json::from_str::<Value>(text) else { return false };
    let Some(error) = report.remove("error") else { return false };
    let holds = |value: &Value| value.to_string().to_lowercase().contains(CANARY);
    holds(&error) && !holds(&Value::Object(report))
}

/// A tree of names and values, as the bytes choose.
fn shape(steps: &mut std::str::Bytes<'_>, depth: usize) -> Value {
    const NAMES: &[&str] = &[
        "message",
        "code",
        "cause",
        "original",
        "inner",
        "errors",
        "sqlState",
        "errno",
        "name",
        "__cause__",
        "error",
        "suppressed",
        "number",
        "class",
        "status",
        "body",
        "args",
        "labels",
        "committed",
        "writeErrors",
        "stack",
        "nextException",
        "extensions",
        "details",
        "response",
        "driverError",
        "parent",
        "detail",
        "severity",
        "meta",
    ];
    const CODES: &[&str] = &[
        "23505",
        "40001",
        "40P01",
        "57014",
        "08006",
        "08007",
        "42P01",
        "ECONNRESET",
        "ECONNREFUSED",
        "ETIMEDOUT",
        "ER_DUP_ENTRY",
        "SQLITE_BUSY",
        "P2002",
        "UNAVAILABLE",
        "CONFLICT",
        "ORA-00001",
        "zq7xcanaryk",
    ];
    const TEXTS: &[&str] = &[
        "duplicate key value violates unique constraint \"zq7xcanaryk\"",
        "SQLSTATE[40001]: Serialization failure: zq7xcanaryk",
        "(1062, \"Duplicate entry 'zq7xcanaryk' for key 'x'\")",
        "ORA-00060: deadlock detected while waiting for resource",
        "could not connect to server zq7xcanaryk: Connection refused",
        "database is locked",
        "zq7xcanaryk",
        "psycopg.errors.UniqueViolation",
        "{\"code\":\"40001\",\"message\":\"zq7xcanaryk\"}",
    ];
    let Some(step) = steps.next() else { return Value::Null };
    let size = usize::from(step / 8 % 5);
    match step % 8 {
        0..3 if depth < 200 => (0..=size)
            .map(|_| (String::from(pick(steps, NAMES)), shape(steps, depth + 1)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        3 if depth < 200 => (0..=size).map(|_| shape(steps, depth + 1)).collect(),
        4 => pick(steps, CODES).into(),
        5 => pick(steps, TEXTS).into(),
        6 => steps.by_ref().take(2).fold(0_i64, |number, byte| number * 256 + i64::from(byte)).into(),
        _ => String::from_utf8_lossy(&steps.by_ref().take(size * 4).collect::<Vec<u8>>()).into(),
    }
}

fn pick<'a>(steps: &mut std::str::Bytes<'_>, words: &[&'a str]) -> &'a str {
    words[usize::from(steps.next().unwrap_or(0)) % words.len()]
}
