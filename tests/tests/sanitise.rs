//! What the sanitiser takes out of texts, and what it leaves in.

use std::fs;
use std::path::Path;

use retort::codes::Code;
use retort::sanitise::{Level, inspect, redact};
use serde_json::Value;

fn corpus(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name))
        .expect("a file of the corpus")
}

/// The shapes of the development corpus as JSON texts, each with its secrets.
fn shapes() -> Vec<(String, Vec<String>)> {
    let cases = corpus("dev.jsonl");
    let case = |line: &str| {
        let case: Value = serde_json::from_str(line).expect("a case");
        let secrets = case["secrets"].as_array().expect("secrets").iter();
        let secrets = secrets.map(|secret| secret.as_str().expect("a secret").to_owned()).collect();
        (case["shape"].to_string(), secrets)
    };
    cases.lines().map(case).collect()
}

/// Is the secret still in the text, as it is or in the spelling of JSON?
fn holds(text: &str, secret: &str) -> bool {
    let quoted = Value::from(secret).to_string();
    text.contains(secret) || text.contains(quoted.trim_matches('"'))
}

#[test]
fn clean_lines_stay_untouched() {
    let lines = corpus("sanitise/clean.txt");
    let touched: Vec<&str> = lines.lines().filter(|line| !inspect(line).is_empty()).collect();
    assert_eq!(touched, Vec::<&str>::new());
    assert!(lines.lines().count() >= 200);
}

#[test]
fn constant_messages_stay_untouched() {
    let touched: Vec<&str> =
        Code::ALL.iter().map(|code| code.message()).filter(|message| !inspect(message).is_empty()).collect();
    assert_eq!(touched, Vec::<&str>::new());
}

/// The texts of `sanitise/leaks.txt`: whatever must not stay in a restricted diagnostic contains the word canary.
fn leaks() -> Vec<String> {
    let lines = corpus("sanitise/leaks.txt");
    let escapes = [("\\n", "\n"), ("\\t", "\t"), ("\\u001b", "\u{1b}"), ("\\u0007", "\u{7}")];
    let unescape =
        |line: &str| escapes.iter().fold(line.to_owned(), |line, (from, to)| line.replace(from, to));
    lines.lines().filter(|line| !line.starts_with("# ")).map(unescape).collect()
}

#[test]
fn nothing_that_must_go_stays_at_any_level() {
    let left = |text: &String| {
        let redacted = [Level::Diagnostic, Level::Strict].map(|level| redact(text, level).text);
        redacted.into_iter().find(|text| text.to_lowercase().contains("canary"))
    };
    assert_eq!(leaks().iter().filter_map(left).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn texts_that_are_json_are_scanned_unescaped() {
    // The shell commands and quoted JSON of the list would be other texts as a string of JSON.
    for text in leaks() {
        let json = serde_json::json!({"message": text, "list": [text]}).to_string();
        let redacted = redact(&json, Level::Diagnostic).text;
        assert!(!redacted.to_lowercase().contains("canary"), "{redacted}");
        assert!(serde_json::from_str::<Value>(&redacted).is_ok(), "{redacted}");
    }
}

#[test]
fn redaction_is_idempotent_and_leaves_nothing_to_find() {
    let shapes = shapes().into_iter().map(|(shape, _)| shape);
    for shape in shapes.chain(leaks()) {
        for level in [Level::Diagnostic, Level::Strict] {
            let once = redact(&shape, level).text;
            assert_eq!(redact(&once, level).text, once);
            assert_eq!(inspect(&once), Vec::new(), "{once}");
        }
        // No second look was needed, so nothing went that did not have to.
        assert_eq!(redact(&shape, Level::Diagnostic).findings, inspect(&shape));
    }
}

/// The secrets that a redaction of the corpus leaves in, of how many, and the share of characters it keeps in percent.
fn left_at(level: Level, counts: impl Fn(&str) -> bool) -> (Vec<String>, usize, usize) {
    let (mut left, mut all, mut kept, mut given) = (Vec::new(), 0, 0, 0);
    for (shape, secrets) in shapes() {
        let redaction = redact(&shape, level);
        let gone: usize =
            redaction.findings.iter().map(|finding| (finding.end - finding.start) as usize).sum();
        (kept, given) = (kept + shape.len() - gone, given + shape.len());
        let secrets: Vec<String> = secrets.into_iter().filter(|secret| counts(secret)).collect();
        all += secrets.len();
        left.extend(secrets.into_iter().filter(|secret| holds(&redaction.text, secret)));
    }
    (left, all, kept * 100 / given)
}

#[test]
fn the_diagnostic_keeps_no_credential_and_under_one_percent_of_the_values_of_the_corpus() {
    let names = corpus("sanitise/names.txt");
    let is_name = |secret: &str| names.lines().any(|name| name == secret);
    let (left, all, kept) = left_at(Level::Diagnostic, |secret| !is_name(secret));
    println!("diagnostic: {} of {all} values left, {kept} % of the characters kept", left.len());
    assert!(left.len() * 100 <= all, "{left:?} of {all}");
    assert!(!left.iter().any(|secret| secret.contains("hunter2") || secret.contains("eyJ")), "{left:?}");
    assert!(kept >= 40, "{kept}");
}

#[test]
fn strict_leaves_at_most_two_percent_of_the_corpus_secrets() {
    let (left, all, kept) = left_at(Level::Strict, |_| true);
    println!("strict: {} of {all} secrets left, {kept} % of the characters kept", left.len());
    assert!(left.len() * 50 <= all, "{left:?} of {all}");
    assert!(kept >= 25, "{kept}");
}
