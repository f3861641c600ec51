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

#[test]
fn redaction_is_idempotent_and_leaves_nothing_to_find() {
    for (shape, _) in shapes() {
        for level in [Level::Diagnostic, Level::Strict] {
            let once = redact(&shape, level).text;
            assert_eq!(redact(&once, level).text, once);
            assert_eq!(inspect(&once), Vec::new(), "{once}");
        }
    }
}

#[test]
fn strict_leaves_at_most_two_percent_of_the_corpus_secrets() {
    let (mut left, mut all) = (Vec::new(), 0);
    for (shape, secrets) in shapes() {
        let text = redact(&shape, Level::Strict).text;
        all += secrets.len();
        left.extend(secrets.into_iter().filter(|secret| holds(&text, secret)));
    }
    assert!(left.len() * 50 <= all, "{left:?} of {all}");
}
