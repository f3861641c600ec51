//! Measures recognition on a corpus: `measure FILE.jsonl [--blind] [--verbose]`.
//!
//! Every case is judged as the corpus labels it: one autocommit write while executing, SQL of the tool, an
//! authorised caller, a key given, attempt 1 of 3 (a case may bring its own operation). `--blind` withholds system and
//! driver.

use std::env;
use std::fs;
use std::process::ExitCode;

use retort::codes::{Code, Proof};
use retort::intake;
use retort::json::Json;
use retort::recognise::{self, Finding};
use retort::report::Report;

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
    let mut over = 0;
    let mut outcome_right = 0;
    for line in text.lines() {
        let case = Json::read(line).expect("a case is JSON");
        let id = case.get("id").and_then(Json::as_text).unwrap_or_default();
        if only.is_some_and(|only| only != id) {
            continue;
        }
        let word = |name: &str| case.get(name).and_then(Json::as_text).map(|text| text.into());
        let mut report = Report { error: case.get("shape").cloned(), ..Report::default() };
        report.operation.phase = retort::words::Phase::Execute;
        if !has("--blind") {
            report.system = word("db");
            report.driver = word("driver");
        }
        let evidence = intake::collect(&report);
        let finding = recognise::recognise(&evidence, &report);
        let expect = case.get("expect").expect("a case has its expectation");
        let words = |name: &str| -> Vec<&str> {
            expect.get(name).map(|list| list.items().iter().filter_map(Json::as_text).collect()).unwrap_or_default()
        };
        let (code, outcome) = verdict(&finding);
        total += 1;
        let code_right = words("codes").contains(&code);
        right += usize::from(code_right);
        let is_over = outcome != "unknown" && !words("outcomes").contains(&outcome);
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
    println!("{total} cases, code {right}, outcome {outcome_right}, over {over}");
    ExitCode::SUCCESS
}

/// What the finding becomes for one autocommit write while executing.
fn verdict(finding: &Finding) -> (&'static str, &'static str) {
    let outcome = match finding.proof {
        Proof::NeverSent => "not_started",
        Proof::Rejected | Proof::SaysNotCommitted => "not_committed",
        Proof::Refused if finding.system.undoes(retort::words::Unit::Statement) => "not_committed",
        Proof::SaysCommitted => "committed",
        _ => "unknown",
    };
    let code = match finding.code {
        Code::UnknownObject | Code::InvalidQuery => Code::ContractBroken,
        code => code,
    };
    let code = match (outcome, finding.proof) {
        ("unknown", Proof::Partial) => Code::PartialOutcome,
        ("unknown", _) => Code::OutcomeUnknown,
        _ => code,
    };
    (code.as_str(), outcome)
}
