//! The corpus, and the golden verdicts that every host replays.

use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

/// The trace id of every report made from the corpus.
pub const TRACE_ID: &str = "0af7651916cd43dd8448eb211c80319c";

/// One labelled raw error.
#[derive(Clone, Debug, Deserialize)]
pub struct Sample {
    /// Its name in the corpus.
    pub id: String,
    /// The database, as people call it.
    pub db: String,
    /// The driver.
    pub driver: String,
    /// What a host would hand over.
    pub shape: Value,
    /// Substrings of the shape that must not get into public output.
    pub secrets: Vec<String>,
    /// What a careful reader answers.
    pub expect: Expect,
    /// What is hard about it.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The operation, where it is not the labelled one.
    #[serde(default)]
    pub operation: Option<Value>,
}

/// A careful reader's answer, best first.
#[derive(Clone, Debug, Deserialize)]
pub struct Expect {
    /// Acceptable codes.
    pub codes: Vec<String>,
    /// Acceptable categories.
    pub categories: Vec<String>,
    /// Acceptable outcomes.
    pub outcomes: Vec<String>,
    /// May it be retryable?
    pub retryable_ok: bool,
}

impl Sample {
    /// The report that the labels were made for: one autocommit write in phase execute, the tool's SQL, authorized,
    /// with a key and without dedupe, the first attempt of three.
    pub fn report(&self) -> Value {
        let system = match self.db.as_str() {
            "supabase" | "neon" | "pgbouncer" => "postgresql",
            "planetscale" => "mysql",
            db => db,
        };
        let unit = if self.tags.iter().any(|tag| tag == "bulk") { "batch" } else { "statement" };
        let mut operation = self.operation.clone().unwrap_or(
            json!({"effect": "write", "phase": "execute", "transaction": "none", "unit": unit, "origin": "tool"}),
        );
        operation["operation_key"] = json!(format!("key-{}", self.id));
        json!({
            "error": self.shape,
            "system": system,
            "driver": self.driver,
            "operation": operation,
            "attempt": {"number": 1, "max": 3, "elapsed_ms": 40, "deadline_ms": 600_000},
            "context": {"trace_id": TRACE_ID, "operation_id": format!("op-{}", self.id), "authorized": true},
            "seed": 7,
        })
    }
}

/// Every labelled error.
pub fn samples() -> Vec<Sample> {
    ["dev.jsonl", "further.jsonl", "mongreldb.jsonl"].into_iter().flat_map(lines).collect()
}

/// A report by name.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// What it is about.
    pub name: String,
    /// The report.
    pub report: Value,
}

/// Reports written by hand, for the rows of the contract's tables.
pub fn cases() -> Vec<Case> {
    lines("cases.jsonl")
}

/// Every report of the corpus, by name.
pub fn reports() -> Vec<Case> {
    let sample = |sample: Sample| Case { name: sample.id.clone(), report: sample.report() };
    samples().into_iter().map(sample).chain(cases()).collect()
}

/// A call of a function of the string interface.
#[derive(Clone, Debug, Deserialize)]
pub struct Call {
    /// What it is about.
    pub name: String,
    /// The function.
    pub function: String,
    /// Its argument.
    pub input: String,
}

/// Calls of the functions beside `evaluate`.
pub fn calls() -> Vec<Call> {
    lines("calls.jsonl")
}

/// An input that once broke a property.
#[derive(Clone, Debug, Deserialize)]
pub struct Regression {
    /// The property, by the name of its fuzz target.
    pub target: String,
    /// What broke it.
    pub input: String,
    /// What was wrong.
    pub why: String,
}

/// Every input that once broke a property.
pub fn regressions() -> Vec<Regression> {
    lines("fuzz/regressions.jsonl")
}

/// What a fuzz target starts from: what earlier runs kept, and what of the corpus is of its kind.
pub fn fuzz_seeds(target: &str) -> Vec<String> {
    let texts = |names: &[&str]| -> Vec<String> {
        names
            .iter()
            .flat_map(|name| read(&format!("sanitise/{name}")).lines().map(String::from).collect::<Vec<_>>())
            .collect()
    };
    let called = |function: &str| -> Vec<String> {
        calls().into_iter().filter(|call| call.function == function).map(|call| call.input).collect()
    };
    let seeds = match target {
        "evaluate" => {
            reports().into_iter().map(|case| case.report.to_string()).chain(called("evaluate")).collect()
        }
        "redact" => texts(&["leaks.txt", "clean.txt", "names.txt"]),
        "fingerprint" => texts(&["statements.tsv", "shapes.tsv", "verbs.tsv"])
            .iter()
            .flat_map(|line| line.split('\t'))
            .map(String::from)
            .collect(),
        "render" => called("render"),
        _ => Vec::new(),
    };
    lines(&format!("fuzz/{target}.jsonl")).into_iter().chain(seeds).collect()
}

/// The lines of a file of the corpus.
fn lines<T: serde::de::DeserializeOwned>(name: &str) -> Vec<T> {
    read(name)
        .lines()
        .enumerate()
        .map(|(index, line)| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}:{}: {error}", index + 1))
        })
        .collect()
}

/// A file of the corpus.
pub fn read(name: &str) -> String {
    let path = path(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Where a file of the corpus is.
pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name)
}
