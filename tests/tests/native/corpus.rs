//! The corpus: golden verdicts, no leak, no claim beyond what a careful reader allows.

use std::fs;
use std::path::Path;

use retort::strings;
use retort_tests::corpus::{Sample, samples};
use retort_tests::{golden, leak};
use serde_json::Value;

fn verdict(sample: &Sample) -> Value {
    serde_json::from_str(&strings::evaluate(&sample.report().to_string())).expect("a verdict is JSON")
}

fn word<'a>(verdict: &'a Value, name: &str) -> &'a str {
    verdict["envelope"][name].as_str().unwrap_or_default()
}

fn holds(list: &[String], word: &str) -> bool {
    list.iter().any(|item| item == word)
}

#[test]
fn golden_files_are_fresh() {
    let differences = golden::differences();
    assert!(
        differences.is_empty(),
        "run `cargo run -p retort-tests --bin golden -- update` and look at the difference:\n{}",
        differences.join("\n")
    );
}

#[test]
fn no_secret_of_the_corpus_is_published() {
    let mut checked = 0;
    let tables = tables();
    for sample in samples() {
        let verdict = verdict(&sample);
        let code = verdict["attempt"]["db.response.status_code"].as_str().unwrap_or_default();
        assert!(code == "_OTHER" || knows(&tables, code), "{}: {code} is in no table", sample.id);
        let known = format!("{} {} {code}", sample.report()["context"], sample.report()["operation"]);
        let found = leak::leaks(&leak::public_text(&verdict), &sample.secrets, &known);
        assert!(found.is_empty(), "{}: {found:?} in {}", sample.id, leak::public_text(&verdict));
        checked += sample.secrets.len();
    }
    assert!(checked > 600, "the corpus has its secrets: {checked}");
}

/// The text of every table.
fn tables() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest/tables");
    let entries = fs::read_dir(folder).expect("the tables' folder");
    let files = entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file());
    files.map(|path| fs::read_to_string(path).expect("a table")).collect()
}

/// Is this the key of a row, or its name?
fn knows(tables: &str, code: &str) -> bool {
    tables.lines().any(|row| row.split('\t').any(|cell| cell.split('+').any(|part| part == code)))
}

/// How much an outcome claims.
fn claim(outcome: &str) -> usize {
    ["unknown", "not_committed", "not_started", "committed"].iter().position(|at| *at == outcome).unwrap_or(0)
}

#[test]
fn no_outcome_of_the_corpus_is_claimed_beyond_the_evidence() {
    let over: Vec<String> = samples()
        .iter()
        .filter_map(|sample| {
            let verdict = verdict(sample);
            let outcome = word(&verdict, "outcome");
            let most = sample.expect.outcomes.iter().map(|outcome| claim(outcome)).max().unwrap_or(0);
            (claim(outcome) > most)
                .then(|| format!("{}: {outcome}, not {:?}", sample.id, sample.expect.outcomes))
        })
        .collect();
    assert!(over.is_empty(), "{over:#?}");
}

#[test]
fn no_retry_of_the_corpus_is_offered_against_the_labels() {
    let over: Vec<String> = samples()
        .iter()
        .filter_map(|sample| {
            let verdict = verdict(sample);
            (verdict["envelope"]["retryable"] == true && !sample.expect.retryable_ok)
                .then(|| format!("{}: {}", sample.id, verdict["envelope"]))
        })
        .collect();
    assert!(over.len() <= MOST_IDLE_RETRIES, "{over:#?}");
}

/// A retry where nothing was done is a nuisance at worst; where something may have been, the laws forbid it.
const MOST_IDLE_RETRIES: usize = 2;

#[test]
fn codes_categories_and_outcomes_of_the_corpus_are_what_the_labels_accept() {
    let samples = samples();
    let mut wrong = Vec::new();
    for sample in &samples {
        let verdict = verdict(sample);
        let (code, category, outcome) =
            (word(&verdict, "code"), word(&verdict, "category"), word(&verdict, "outcome"));
        let right = holds(&sample.expect.codes, code)
            && holds(&sample.expect.categories, category)
            && holds(&sample.expect.outcomes, outcome);
        if !right {
            wrong.push(format!(
                "{} {}: {code} {category} {outcome}, not {:?} {:?}",
                sample.id, sample.driver, sample.expect.codes, sample.expect.outcomes
            ));
        }
    }
    println!("{} of {} as labelled", samples.len() - wrong.len(), samples.len());
    assert!(wrong.len() * 100 <= samples.len() * MOST_WRONG_PERCENT, "{wrong:#?}");
}

/// Labels are judgement, not truth, and some errors hold too little to go by.
const MOST_WRONG_PERCENT: usize = 2;
