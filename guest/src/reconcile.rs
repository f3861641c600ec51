//! An earlier verdict and what its receipt says → a verdict.
//!
//! One mechanism: the earlier envelope becomes the report of a condition with a prior outcome, and is judged like
//! any other.

use alloc::borrow::Cow;
use alloc::vec;

use crate::codes::Code;
use crate::json::Json;
use crate::report::{Report, Token};
use crate::words::{Outcome, Phase, Prior, Receipt, Transaction};

/// The report that an earlier verdict (or envelope) becomes, with what is known of its key now.
///
/// Members: `verdict` or `envelope`, `receipt`, `fenced`, `payload_differs`, and `operation`, `attempt`, `context`,
/// `policy`, `seed`, `system` as in a report. What cannot be read is an unreadable report.
pub fn read(text: &str) -> Report<'_> {
    let mut report = Report::read(text);
    let Ok(json) = Json::read(text) else { return report };
    let earlier = json.get("verdict").or(json.get("envelope"));
    let envelope = earlier.and_then(|earlier| earlier.get("envelope")).or(earlier);
    let text = |name: &str| envelope.and_then(|envelope| envelope.get(name)).and_then(Json::as_text);
    let (Some(code), outcome) = (text("code").and_then(Code::parse), Outcome::reading(text("outcome")))
    else {
        report.is_unreadable = true;
        return report;
    };
    if report.operation.operation_key.is_none() {
        report.operation.operation_key = text("operation_key").and_then(Token::key);
    }
    if report.context.trace_id.is_none() {
        report.context.trace_id = text("trace_id").and_then(Token::identifier);
    }
    if let Some(receipt) = json.get("receipt").and_then(Json::as_text) {
        report.operation.receipt = Receipt::reading(Some(receipt));
    }
    report.operation.fenced |= json.get("fenced").and_then(Json::as_bool) == Some(true);
    let payload_differs = json.get("payload_differs").and_then(Json::as_bool) == Some(true);
    earlier_attempt(&mut report, code, outcome, payload_differs);
    report
}

/// Turns a report into that of the earlier attempt, whose code and outcome are known.
pub fn earlier_attempt(report: &mut Report<'_>, code: Code, outcome: Outcome, payload_differs: bool) {
    let operation = &mut report.operation;
    let mut condition = match code {
        Code::OutcomeUnknown | Code::InProgress => Code::ConnectionLost,
        code => code,
    };
    if payload_differs {
        // This call's payload was refused before anything of it was sent, whatever became of the key's own.
        condition = Code::KeyReused;
        operation.receipt = Receipt::None;
        operation.phase = Phase::Validate;
        operation.transaction = Transaction::None;
    } else {
        (operation.phase, operation.transaction, report.attempt.prior) = match outcome {
            Outcome::NotStarted => (Phase::Acquire, Transaction::None, Prior::NotStarted),
            // Nothing more is to come, also where the system has no ROLLBACK.
            Outcome::NotCommitted => (Phase::Acquire, Transaction::None, Prior::NotCommitted),
            Outcome::Committed => (Phase::Done, Transaction::Committed, Prior::Committed),
            Outcome::Unknown => (Phase::Unknown, Transaction::Unknown, Prior::Unknown),
        };
    }
    let name = Json::Text(Cow::Borrowed(condition.as_str()));
    report.error = Some(Json::Object(vec![(Cow::Borrowed("condition"), name)]));
}
