//! Benchmarks of the sanitiser beside libdd-trace-obfuscation (statements), redact-core, a set of regular expressions,
//! sentry-relay and presidio (texts), in one run: `cargo run --release`. The two of PyPI are measured by `peers.py`, with the
//! interpreter that `PEERS_PYTHON` names (`python3` otherwise), and left out where they are not installed.
//!
//! The peers of a text take turns, so that the load of the machine meets all of them alike. Prints the median of the
//! runs in nanoseconds per call, megabytes per second, and how many times Retort's time that is.

use std::env;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use libdd_trace_obfuscation::sql::obfuscate_sql_string;
use redact_core::{AnalyzerEngine, AnonymizerConfig};
use regex::RegexSet;
use retort::sanitise::{Dialect, Level, fingerprint, inspect, redact};

/// How long one turn lasts, and how many each peer has.
const TURN: Duration = Duration::from_millis(20);
const TURNS: usize = 25;

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

/// Who is measured, and the call.
type Peer<'p> = (&'static str, Box<dyn Fn(&str) + 'p>);

fn main() {
    println!("{:<10} {:<32} {:>6} {:>10} {:>6} {:>8}", "what", "who", "bytes", "ns", "MB/s", "x retort");
    let obfuscators: [Peer; 2] = [
        ("retort fingerprint", Box::new(|text| drop(black_box(fingerprint(text, Dialect::Generic))))),
        ("libdd-trace-obfuscation 12.0.0", Box::new(|text| drop(black_box(obfuscate_sql_string(text))))),
    ];
    for literals in [2, 90, 1020] {
        compare("literals", &literal_statement(literals), &obfuscators);
    }
    for columns in [6, 100, 900] {
        compare("columns", &column_statement(columns), &obfuscators);
    }
    let set = RegexSet::new(PATTERNS).expect("valid patterns");
    let engine = AnalyzerEngine::new();
    let config = AnonymizerConfig::default();
    let gates: [Peer; 3] = [
        ("retort inspect", Box::new(|text| drop(black_box(inspect(text))))),
        ("regex 1, a set of 20: matches", Box::new(|text| drop(black_box(set.matches(text))))),
        ("redact-core 0.12.7 analyze", Box::new(|text| drop(black_box(engine.analyze(text, None))))),
    ];
    let redactors: [Peer; 2] = [
        ("retort redact", Box::new(|text| drop(black_box(redact(text, Level::Diagnostic))))),
        (
            "redact-core 0.12.7 anonymize",
            Box::new(|text| drop(black_box(engine.anonymize(text, None, &config)))),
        ),
    ];
    let long = [CLEAN; 16].join("\n");
    for (what, text) in [("clean", CLEAN), ("clean", &long), ("dirty", DIRTY)] {
        compare(what, text, &gates);
        let retort = compare(what, text, &redactors);
        python(what, text, retort);
    }
}

/// Prints the peers of PyPI for a text, if they are installed.
fn python(what: &str, text: &str, retort: f64) {
    let interpreter = env::var("PEERS_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers.py");
    let output = Command::new(interpreter).args([script, text]).output().expect("a Python interpreter");
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        match line.split_once('\t').map(|(who, time)| (who, time.parse())) {
            Some((who, Ok(nanoseconds))) => row(what, who, text.len(), nanoseconds, retort),
            _ => println!("{what:<10} {line}"),
        }
    }
}

/// A statement with so many literals.
fn literal_statement(literals: usize) -> String {
    let list: Vec<String> = (0..literals).map(|number| format!("'{}'", number % 1000)).collect();
    format!("SELECT id, name FROM users WHERE id IN ({})", list.join(","))
}

/// A statement of so many columns and few literals.
fn column_statement(columns: usize) -> String {
    let list: Vec<String> = (0..columns).map(|number| format!("c{number}")).collect();
    format!("SELECT {} FROM users WHERE a = 'x'", list.join(", "))
}

/// Measures the peers in turns, prints a row for each, and returns the first one's median.
fn compare(what: &str, text: &str, peers: &[Peer]) -> f64 {
    let mut times = vec![Vec::new(); peers.len()];
    for _ in 0..TURNS {
        for ((_, call), times) in peers.iter().zip(&mut times) {
            let (start, mut calls) = (Instant::now(), 0_u32);
            while start.elapsed() < TURN {
                (0..8).for_each(|_| call(black_box(text)));
                calls += 8;
            }
            times.push(start.elapsed().as_nanos() as f64 / f64::from(calls));
        }
    }
    let medians: Vec<f64> = times
        .iter_mut()
        .map(|times| {
            times.sort_by(f64::total_cmp);
            times[TURNS / 2]
        })
        .collect();
    for ((who, _), median) in peers.iter().zip(&medians) {
        row(what, who, text.len(), *median, medians[0]);
    }
    medians[0]
}

fn row(what: &str, who: &str, bytes: usize, nanoseconds: f64, retort: f64) {
    let (speed, ratio) = (bytes as f64 * 1000.0 / nanoseconds, nanoseconds / retort);
    println!("{what:<10} {who:<32} {bytes:>6} {nanoseconds:>10.0} {speed:>6.0} {ratio:>8.2}");
}
