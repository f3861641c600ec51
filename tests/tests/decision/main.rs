//! What the program is told to do: retries, cancellation, keys, conditions the host raises, and what is remembered.

mod backoff;
mod cancellation;
mod conditions;
mod keys;
mod memory;
mod retry;

use retort::Verdict;
use retort::report::Report;

/// Judges a report.
fn evaluate(report: &str) -> Verdict {
    let read = Report::read(report);
    assert!(!read.is_unreadable, "the test's own report is JSON: {report}");
    retort::evaluate(&read)
}

/// A verdict on one line: what the model reads, and what the program does.
fn line(verdict: &Verdict) -> String {
    let (envelope, decision) = (&verdict.envelope, &verdict.decision);
    format!(
        "{} {} {} {} {} | {} {} {}",
        envelope.code().as_str(),
        envelope.category().as_str(),
        envelope.outcome().as_str(),
        if envelope.retryable() { "retryable" } else { "final" },
        envelope.next().as_str(),
        decision.scope.as_str(),
        decision.cleanup.as_str(),
        decision.reason.as_str(),
    )
}

/// Compares the lines of several reports with what is expected of them.
fn assert_lines(rows: &[(&str, &str)]) {
    let came: Vec<_> = rows.iter().map(|(report, _)| (*report, line(&evaluate(report)))).collect();
    let expected: Vec<_> = rows.iter().map(|(report, line)| (*report, String::from(*line))).collect();
    assert_eq!(expected, came);
}
