//! What the whole shape says beyond the one candidate that counts.

use alloc::string::String;

use super::Finding;
use crate::codes::{Code, Proof};
use crate::intake::{Evidence, Fault, OwnWords, SignKind};
use crate::report::Report;
use crate::words::Phase;

/// Applies what the shape says.
pub(super) fn apply(finding: &mut Finding, evidence: &Evidence, report: &Report<'_>, is_of_server: bool) {
    if evidence.is_releasing && finding.proof != Proof::NeverSent {
        // The pool was taking the connection back: this says nothing about the statement before.
        finding.proof = Proof::Lost;
    }
    labels(finding, evidence);
    bulk(finding, evidence);
    own_words(finding, evidence.own_words);
    finding.op_index = evidence.op_index.or(evidence.bulk.first_failed);
    finding.retry_after_ms = evidence.retry_after_ms;
    finding.is_key_violation = is_key_violation(finding, evidence, report);
    finding.has_hidden_attempts = has_hidden_attempts(finding, evidence, is_of_server);
}

/// Drivers whose pool and whose statements time out with one class, told apart only by the class of the cause:
/// driver, class, and the cause that only the pool's timeout has.
const POOL_TIMEOUTS: &[(&str, &str, &str)] = &[("asyncpg", "TimeoutError", "CancelledError")];

/// A timeout or a loss that no server reported can mean any phase: the stack or the cause tells it, or the host's
/// word where that is before sending.
pub(super) fn place(finding: &mut Finding, evidence: &Evidence, phase: Phase) {
    let is_ambiguous = finding.marks.client_timeout || finding.marks.connection_lost;
    if finding.proof != Proof::Lost || !is_ambiguous {
        return;
    }
    finding.code = match phase {
        Phase::Acquire => Code::PoolBusy,
        Phase::Connect => Code::ConnectionFailed,
        _ if evidence.is_connecting => Code::ConnectionFailed,
        Phase::Validate | Phase::Authorize | Phase::Unknown if is_pool_timeout(evidence) => Code::PoolBusy,
        _ => return,
    };
    finding.proof = Proof::NeverSent;
}

/// Is this the timeout of a pool that shares its class with that of statements?
fn is_pool_timeout(evidence: &Evidence) -> bool {
    let has_class = |fault: &Fault, class: &str| {
        let mut classes = fault.signs.iter().filter(|sign| sign.kind == SignKind::Class);
        classes.any(|sign| sign.text.rsplit('.').next() == Some(class))
    };
    POOL_TIMEOUTS.iter().any(|(driver, class, cause)| {
        let [outer, causes @ ..] = evidence.faults.as_slice() else { return false };
        evidence.driver.is_some_and(|known| known.name == *driver)
            && has_class(outer, class)
            && causes.iter().any(|fault| has_class(fault, cause))
    })
}

/// What a label proves, and the code of an error that nothing else names.
const LABELS: &[(&str, Proof)] =
    &[("NoWritesPerformed", Proof::SaysNotCommitted), ("UnknownTransactionCommitResult", Proof::SaysUnknown)];

/// Labels of the server and the driver.
fn labels(finding: &mut Finding, evidence: &Evidence) {
    let has = |name: &str| evidence.labels.iter().any(|label| label == name);
    if let Some((_, proof)) = LABELS.iter().rev().find(|(name, _)| has(name)) {
        finding.proof = *proof;
    }
    if evidence.has_write_concern_error && finding.proof != Proof::SaysNotCommitted {
        finding.proof = Proof::SaysUnknown;
    }
}

/// Bulk writes: a part may stand, unless the error counts none.
fn bulk(finding: &mut Finding, evidence: &Evidence) {
    let bulk = evidence.bulk;
    if bulk.is_cancelled_whole {
        finding.proof = Proof::SaysNotCommitted;
        return;
    }
    if !bulk.is_bulk || finding.proof == Proof::SaysNotCommitted {
        return;
    }
    if bulk.done == Some(0) && bulk.failed > 0 {
        return;
    }
    finding.code = Code::PartialOutcome;
    finding.proof = Proof::Partial;
    finding.rule = String::from("shape/bulk");
}

/// The server's own words: only a plain no proves no, and words that contradict each other prove nothing.
fn own_words(finding: &mut Finding, words: OwnWords) {
    finding.proof = match words {
        OwnWords { part: true, .. } => Proof::Partial,
        OwnWords { yes: true, no: false, unknown: false, .. } => Proof::SaysCommitted,
        OwnWords { yes: false, no: true, unknown: false, .. } => Proof::SaysNotCommitted,
        OwnWords { yes: false, no: false, unknown: false, .. } => return,
        _ => Proof::SaysUnknown,
    };
}

/// Does the violated constraint carry the operation key's name? A qualified name counts by its last part.
fn is_key_violation(finding: &Finding, evidence: &Evidence, report: &Report<'_>) -> bool {
    let Some(key) = report.operation.key_constraint.as_deref() else { return false };
    finding.code == Code::UniqueViolation
        && evidence.constraints.iter().any(|constraint| is_same_constraint(constraint, key))
}

/// `key` and `table.key`, `schema.table.key` name one constraint.
fn is_same_constraint(one: &str, other: &str) -> bool {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    !one.is_empty() && !other.is_empty() && (ends(one, other) || ends(other, one))
}

/// Did the driver send the request more than once?
///
/// Its own count decides where it gives one. A driver that is only known to repeat after a lost connection makes
/// a definite answer of the server no less definite: there its row counts only where the answer is missing, or
/// where a later try of its own did not reach the server.
fn has_hidden_attempts(finding: &Finding, evidence: &Evidence, is_of_server: bool) -> bool {
    match evidence.attempts {
        Some(attempts) => attempts > 1,
        None => {
            let is_open = matches!(finding.proof, Proof::Nothing | Proof::Lost)
                || (finding.proof == Proof::NeverSent && !is_of_server);
            is_open && evidence.driver.is_some_and(|driver| driver.replays)
        }
    }
}
