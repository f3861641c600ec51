//! Recognition over the corpora: how often code, category and outcome are right, and that no outcome is claimed
//! that an error does not prove.
//!
//! `dev.jsonl`, `further.jsonl` and `mongreldb.jsonl` hold errors that were met in the wild or provoked; `drivers.jsonl` one
//! invented error per shape that drivers and wrappers give; `open.jsonl` errors that leave the outcome open, some
//! of them made to look as if they did not.

use std::fs;

use retort::evaluate;
use retort::json::Json;
use retort::report::{Report, Token};
use retort::words::{Outcome, Phase, Transaction};

/// What the cases of a corpus got right.
#[derive(Debug, Default)]
struct Score {
    cases: usize,
    codes: usize,
    categories: usize,
    outcomes: usize,
    claimed: Vec<String>,
    missed: Vec<String>,
}

impl Score {
    /// Is a count at least so many percent of the cases?
    fn is_at_least(&self, count: usize, percent: usize) -> bool {
        count * 100 >= self.cases * percent
    }
}

/// The text of a corpus.
fn corpus(name: &str) -> String {
    let path = format!("{}/corpus/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A plain write in autocommit while executing, with an error.
fn executing<'a>(error: Option<&Json<'a>>) -> Report<'a> {
    let mut report = Report { error: error.cloned(), ..Report::default() };
    report.operation.phase = Phase::Execute;
    report.operation.transaction = Transaction::None;
    report.operation.operation_key = Token::key("key-1");
    report.context.authorized = true;
    report.attempt.max = Some(3);
    report
}

/// Scores a corpus, with system and driver given or withheld.
fn score(name: &str, is_blind: bool) -> Score {
    let text = corpus(name);
    let mut score = Score::default();
    for line in text.lines() {
        let case = Json::read(line).expect("a case is JSON");
        let word = |field: &str| case.get(field).and_then(Json::as_text);
        let mut report = executing(case.get("shape"));
        if !is_blind {
            report.system = word("db").map(Into::into);
            report.driver = word("driver").map(Into::into);
        }
        let envelope = evaluate(&report).envelope;
        let accepts = |field: &str, found: &str| {
            let accepted = case.get("expect").and_then(|expect| expect.get(field));
            accepted.is_none_or(|accepted| accepted.items().iter().any(|one| one.as_text() == Some(found)))
        };
        let (code, outcome) = (envelope.code(), envelope.outcome());
        let may_retry =
            case.get("expect").and_then(|expect| expect.get("retryable_ok")).and_then(Json::as_bool);
        let is_code_right = accepts("codes", code.as_str());
        let is_outcome_right = accepts("outcomes", outcome.as_str());
        score.cases += 1;
        score.codes += usize::from(is_code_right);
        score.categories += usize::from(accepts("categories", code.category().as_str()));
        score.outcomes += usize::from(is_outcome_right);
        let id = || format!("{}: {code:?} {outcome:?}", word("id").unwrap_or_default());
        if (outcome != Outcome::Unknown && !is_outcome_right)
            || (envelope.retryable() && may_retry == Some(false))
        {
            score.claimed.push(id());
        }
        if !is_code_right {
            score.missed.push(id());
        }
    }
    score
}

#[test]
fn real_errors_are_recognised_where_system_and_driver_are_given() {
    let score = score("dev.jsonl", false);
    assert_eq!(score.claimed, Vec::<String>::new());
    assert!(score.is_at_least(score.codes, 98), "{score:?}");
    assert!(score.is_at_least(score.categories, 98), "{score:?}");
    assert!(score.is_at_least(score.outcomes, 98), "{score:?}");
}

#[test]
fn real_errors_are_recognised_by_their_shape_alone() {
    let score = score("dev.jsonl", true);
    assert_eq!(score.claimed, Vec::<String>::new());
    assert!(score.is_at_least(score.codes, 97), "{score:?}");
    assert!(score.is_at_least(score.categories, 97), "{score:?}");
    assert!(score.is_at_least(score.outcomes, 98), "{score:?}");
}

#[test]
fn further_errors_are_recognised_as_they_were_labelled_before_the_first_run() {
    let score = score("further.jsonl", false);
    assert_eq!(score.claimed, Vec::<String>::new());
    assert!(score.is_at_least(score.codes, 98), "{score:?}");
    assert!(score.is_at_least(score.categories, 98), "{score:?}");
    assert!(score.is_at_least(score.outcomes, 98), "{score:?}");
}

#[test]
fn the_daemon_s_replies_are_recognised() {
    let score = score("mongreldb.jsonl", false);
    assert_eq!(score.claimed, Vec::<String>::new());
    assert_eq!(score.missed, Vec::<String>::new());
}

#[test]
fn every_driver_s_and_wrapper_s_shape_is_recognised() {
    let score = score("drivers.jsonl", false);
    assert_eq!(score.claimed, Vec::<String>::new());
    assert_eq!(score.missed, Vec::<String>::new());
}

#[test]
fn shapes_without_a_name_are_recognised_and_claim_no_more() {
    let score = score("drivers.jsonl", true);
    assert_eq!(score.claimed, Vec::<String>::new());
    assert!(score.is_at_least(score.codes, 97), "{score:?}");
}

#[test]
fn errors_that_leave_the_outcome_open_stay_unknown() {
    let text = corpus("open.jsonl");
    for line in text.lines() {
        let case = Json::read(line).expect("a case is JSON");
        for is_blind in [false, true] {
            let mut report = executing(case.get("error"));
            if !is_blind {
                report.system = case.get("system").and_then(Json::as_text).map(Into::into);
            }
            let envelope = evaluate(&report).envelope;
            let found = (envelope.outcome(), envelope.retryable());
            assert_eq!(found, (Outcome::Unknown, false), "{line}, blind: {is_blind}");
        }
    }
}
