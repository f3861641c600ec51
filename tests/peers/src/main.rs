//! Benchmarks of the sanitiser beside libdd-trace-obfuscation (statements), redact-core and a set of regular
//! expressions (texts), in one process. Prints one line per measurement: the median of the runs, in nanoseconds per
//! call and megabytes per second.

use std::hint::black_box;
use std::time::{Duration, Instant};

use libdd_trace_obfuscation::sql::obfuscate_sql_string;
use redact_core::{AnalyzerEngine, AnonymizerConfig};
use regex::RegexSet;
use retort::sanitise::{Dialect, Level, fingerprint, inspect, redact};

/// How long one run lasts, and how many there are.
const RUN: Duration = Duration::from_millis(60);
const RUNS: usize = 9;

/// What a hand-made gate looks for.
const PATTERNS: [&str; 20] = [
    r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}",
    r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b",
    r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b",
    r"\b[a-z][a-z0-9+.-]*://[^\s:/]+:[^\s]+@[^\s/]+",
    r"(?i)\b(password|passwd|pwd|secret|token|api_?key)\s*[=:]\s*\S+",
    r"\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\b",
    r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]+=*",
    r"\bAKIA[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{36}\b",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    r"\b(?:\d[ -]?){13,19}\b",
    r"\b[A-Z]{2}\d{2}[A-Z0-9]{11,30}\b",
    r"\b[0-9a-fA-F]{32,64}\b",
    r"(?i)\bselect\b.+\bfrom\b",
    r"(?i)\binsert\s+into\b",
    r"(?i)\bupdate\b.+\bset\b",
    r"(?i)\bdelete\s+from\b",
    r"Key \([^)]+\)=\([^)]+\)",
    r"Duplicate entry '[^']*' for key",
    r"(?:/[A-Za-z0-9._-]+){2,}",
];

const CLEAN: &str = "2024-05-01 12:30:45 INFO scheduler: the nightly job finished after 3 attempts; the queue is empty \
    again and all workers are idle. The next run starts in 60 minutes. No rows were changed, no lock was held longer \
    than expected, and the cache was refreshed without any trouble.";

const DIRTY: &str = "ERROR: duplicate key value violates unique constraint \"users_email_key\"\nDETAIL:  Key \
    (email)=(ada@example.com) already exists.\n[SQL: INSERT INTO users (id, email) VALUES (1, 'ada@example.com')]\n\
    connection to server at \"10.1.2.3\", port 5432: postgres://app:s3cret@db.internal:5432/ledger password=hunter2\n\
    at com.example.Dao.save(Dao.java:17)";

fn main() {
    println!("{:<10} {:<34} {:>6} {:>10} {:>8}", "what", "who", "bytes", "ns", "MB/s");
    for literals in [2, 90, 1020] {
        let statement = statement(literals);
        measure("statement", "retort fingerprint", &statement, |text| {
            black_box(fingerprint(text, Dialect::Generic));
        });
        measure("statement", "libdd-trace-obfuscation", &statement, |text| {
            black_box(obfuscate_sql_string(text).ok());
        });
    }
    for words in [6, 80, 800] {
        let statement = prose_statement(words);
        measure("columns", "retort fingerprint", &statement, |text| {
            black_box(fingerprint(text, Dialect::Generic));
        });
        measure("columns", "libdd-trace-obfuscation", &statement, |text| {
            black_box(obfuscate_sql_string(text).ok());
        });
    }
    let set = RegexSet::new(PATTERNS).expect("valid patterns");
    let engine = AnalyzerEngine::new();
    let config = AnonymizerConfig::default();
    let long = [CLEAN; 16].join("\n");
    for (what, text) in [("clean", CLEAN), ("clean", &long), ("dirty", DIRTY)] {
        measure(what, "retort inspect", text, |text| {
            black_box(inspect(text));
        });
        measure(what, "retort redact", text, |text| {
            black_box(redact(text, Level::Diagnostic));
        });
        measure(what, "regex, a set of 20: matches", text, |text| {
            black_box(set.matches(text));
        });
        measure(what, "redact-core analyze", text, |text| {
            black_box(engine.analyze(text, None).ok());
        });
        measure(what, "redact-core anonymize", text, |text| {
            black_box(engine.anonymize(text, None, &config).ok());
        });
    }
}

/// A statement with so many literals.
fn statement(literals: usize) -> String {
    let list: Vec<String> = (0..literals).map(|number| format!("'{}'", number % 1000)).collect();
    format!("SELECT id, name FROM users WHERE id IN ({})", list.join(","))
}

/// A statement of so many columns and few literals.
fn prose_statement(columns: usize) -> String {
    let list: Vec<String> = (0..columns).map(|number| format!("c{number}")).collect();
    format!("SELECT {} FROM users WHERE a = 'x'", list.join(", "))
}

/// Measures one call and prints the median.
fn measure(what: &str, who: &str, text: &str, mut call: impl FnMut(&str)) {
    call(text);
    let mut runs: Vec<f64> = (0..RUNS)
        .map(|_| {
            let (start, mut calls) = (Instant::now(), 0_u32);
            while start.elapsed() < RUN {
                for _ in 0..16 {
                    call(black_box(text));
                }
                calls += 16;
            }
            start.elapsed().as_nanos() as f64 / f64::from(calls)
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    let nanoseconds = runs[RUNS / 2];
    let speed = text.len() as f64 * 1000.0 / nanoseconds;
    println!("{what:<10} {who:<34} {:>6} {nanoseconds:>10.0} {speed:>8.0}", text.len());
}
