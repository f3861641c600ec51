//! Measures recognition on a corpus: `measure FILE.jsonl [--blind] [--verbose]`.
//!
//! Every case is judged as the corpus labels it: one autocommit write while executing, SQL of the tool, an
//! authorised caller, a key given, attempt 1 of 3 (a case may bring its own operation). `--blind` withholds system and
//! driver.

use std::borrow::Cow;
use std::env;
use std::fs;
use std::process::ExitCode;

use retort::intake;
use retort::json::Json;
use retort::recognise;
use retort::report::{Report, Token};
use retort::words::{Effect, Phase, Transaction};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let Some(file) = arguments.iter().find(|argument| !argument.starts_with("--")) else {
        eprintln!("usage: measure FILE.jsonl [--blind] [--verbose]");
        return ExitCode::FAILURE;
    };
    let text = fs::read_to_string(file).expect("the corpus can be read");
    let only = arguments.iter().find_map(|argument| argument.strip_prefix("--only="));
    let mut total = 0;
    let mut right = 0;
    let mut category_right = 0;
    let mut retry_over = 0;
    let mut over = 0;
    let mut outcome_right = 0;
    for line in text.lines() {
        let case = Json::read(line).expect("a case is JSON");
        let id = case.get("id").and_then(Json::as_text).unwrap_or_default();
        if only.is_some_and(|only| only != id) {
            continue;
        }
        let mut report = report(&case);
        if has("--blind") {
            (report.system, report.driver) = (None, None);
        }
        let evidence = intake::collect(&report);
        let finding = recognise::recognise(&evidence, &report);
        let expect = case.get("expect").expect("a case has its expectation");
        let words = |name: &str| -> Vec<&str> {
            expect
                .get(name)
                .map(|list| list.items().iter().filter_map(Json::as_text).collect())
                .unwrap_or_default()
        };
        let verdict = retort::evaluate(&report);
        let (code, category) =
            (verdict.envelope.code().as_str(), verdict.envelope.code().category().as_str());
        let outcome = verdict.envelope.outcome().as_str();
        category_right += usize::from(words("categories").contains(&category));
        total += 1;
        let code_right = words("codes").contains(&code);
        right += usize::from(code_right);
        let may_retry = expect.get("retryable_ok").and_then(Json::as_bool).unwrap_or_default();
        let is_retry_over = verdict.envelope.retryable() && !may_retry;
        retry_over += usize::from(is_retry_over);
        let is_over = (outcome != "unknown" && !words("outcomes").contains(&outcome)) || is_retry_over;
        over += usize::from(is_over);
        let is_outcome_right = words("outcomes").contains(&outcome);
        outcome_right += usize::from(is_outcome_right);
        if !code_right || is_over || !is_outcome_right || has("--verbose") {
            println!(
                "{id}{} {code} {outcome} ({} {} {} {:?}) want {:?} {:?}",
                if is_over { " OVER" } else { "" },
                finding.code.as_str(),
                finding.proof.as_str(),
                finding.rule,
                finding.system,
                words("codes"),
                words("outcomes"),
            );
        }
        if has("--evidence") {
            println!("{evidence:#?}");
        }
    }
    println!(
        "{total} cases: code {right}, category {category_right}, outcome {outcome_right}, over-claimed {over}, \
         retryable against the label {retry_over}"
    );
    ExitCode::SUCCESS
}

/// The report that a case stands for.
fn report<'a>(case: &'a Json<'a>) -> Report<'a> {
    let word = |at: &'a Json<'a>, name: &str| at.get(name).and_then(Json::as_text);
    let mut report = Report { error: case.get("shape").cloned(), ..Report::default() };
    report.system = word(case, "db").map(Cow::from);
    report.driver = word(case, "driver").map(Cow::from);
    report.operation.phase = Phase::Execute;
    report.operation.transaction = Transaction::None;
    report.operation.operation_key = Token::key("measure-1");
    report.context.authorized = true;
    report.attempt.max = Some(3);
    if let Some(operation) = case.get("operation") {
        report.operation.effect = Effect::reading(word(operation, "effect"));
        report.operation.phase = Phase::reading(word(operation, "phase"));
        report.operation.transaction = Transaction::reading(word(operation, "transaction"));
    }
    report
}
