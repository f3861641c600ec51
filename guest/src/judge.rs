//! Finding × operation → category and outcome: what happened to the write.
//!
//! The table of the contract, row by row, is [`attempt_outcome`]; what the operation remembers of earlier
//! attempts, receipts and keys is [`operation_outcome`].

use crate::codes::{Code, Proof};
use crate::recognise::{Finding, Marks};
use crate::report::{Operation, Report};
use crate::sanitise::{self, Dialect};
use crate::systems::System;
use crate::words::{
    Cancel, Connection, Dedupe, Effect, Origin, Outcome, Phase, Prior, Receipt, Replays, Transaction, Unit,
};

/// What happened, as far as it can be known.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The condition, as it concerns this caller: origin, permission and policy are taken into account.
    pub code: Code,
    /// The operation's outcome: this attempt's joined with the earlier ones'.
    pub outcome: Outcome,
    /// May a part of the operation have been applied?
    pub is_partial: bool,
    /// Is repeating the operation harmless whatever its outcome?
    pub is_repeatable: bool,
    /// Is the repetition harmless because the server enforces the operation key?
    pub is_key_enforced: bool,
    /// Must the envelope not tell "not allowed" from "does not exist"?
    pub is_concealed: bool,
    /// What the operation does, a read that writes counted as a write.
    pub effect: Effect,
    /// The phase, where the evidence did not contradict it.
    pub phase: Phase,
    /// Did the evidence contradict the host's phase?
    pub phase_conflict: bool,
    /// What the error proves.
    pub proof: Proof,
    /// Side facts of the condition.
    pub marks: Marks,
    /// The state of the connection.
    pub connection: Connection,
    /// The server's own wait before a retry, in milliseconds.
    pub retry_after_ms: Option<u32>,
}

/// Judges a finding by the operation that met it.
pub fn judge(finding: &Finding, report: &Report<'_>) -> Judgement {
    let operation = &report.operation;
    let effect = effect(operation, finding.system);
    let Conditioned { mut code, proof, marks, is_concealed } = condition(finding, report);
    let (phase, phase_conflict) = believed_phase(operation, proof, marks);
    let attempt = Attempted { system: finding.system, operation, phase, proof, marks, cancel: report.cancel };
    let is_read = effect == Effect::Read;
    let is_key_enforced = !is_read && has_enforced_key(operation) && proof != Proof::SaysUnknown;
    let is_repeatable = is_key_enforced || matches!(effect, Effect::Read | Effect::IdempotentWrite);

    let (outcome, is_partial) = match is_read {
        true => (read_outcome(&attempt, earlier_outcome(&attempt, finding, report)), false),
        false => operation_outcome(&attempt, finding, report),
    };
    let is_applied = finding.is_key_violation || operation.receipt == Receipt::Committed;
    code = match (outcome, code) {
        (Outcome::Committed, _) if is_applied => Code::AlreadyApplied,
        (Outcome::Committed, Code::AlreadyApplied | Code::ResultLost) => code,
        (Outcome::Committed, _) => Code::ResultLost,
        (Outcome::Unknown, _) if operation.receipt == Receipt::Pending => Code::InProgress,
        (Outcome::Unknown, Code::OutcomeUnknown) if is_repeatable => Code::ConnectionLost,
        (Outcome::NotStarted | Outcome::NotCommitted, Code::OutcomeUnknown | Code::ResultLost) => {
            Code::ConnectionLost
        }
        (Outcome::NotStarted | Outcome::NotCommitted, Code::PartialOutcome | Code::AlreadyApplied) => {
            Code::DatabaseError
        }
        _ => code,
    };
    Judgement {
        code,
        outcome,
        is_partial,
        is_repeatable,
        is_key_enforced,
        is_concealed: is_concealed && outcome.is_without_effect(),
        effect,
        phase,
        phase_conflict,
        proof,
        marks,
        connection: connection(phase, proof, marks),
        retry_after_ms: finding.retry_after_ms,
    }
}

/// A read whose statement writes is a write.
fn effect(operation: &Operation<'_>, system: System) -> Effect {
    let writes = |statement: &str| sanitise::writes(statement, Dialect::parse(system.as_str()));
    match operation.effect {
        Effect::Read if operation.statement.as_deref().is_some_and(writes) => Effect::Write,
        effect => effect,
    }
}

/// A finding as it concerns this caller.
struct Conditioned {
    code: Code,
    proof: Proof,
    marks: Marks,
    is_concealed: bool,
}

/// Takes origin, permission, policy and cancel into account.
fn condition(finding: &Finding, report: &Report<'_>) -> Conditioned {
    let is_pinned = report.operation.origin == Origin::Tool;
    let is_silent = matches!(finding.proof, Proof::Nothing | Proof::Lost);
    let plain = |code| Conditioned { code, proof: finding.proof, marks: finding.marks, is_concealed: false };
    match finding.code {
        code if report.cancel != Cancel::None && (code.is_transient() || is_silent) => plain(Code::Cancelled),
        Code::UnknownObject | Code::InvalidQuery if is_pinned => plain(Code::ContractBroken),
        Code::UnknownObject | Code::NotFound | Code::NotAuthorized if !report.context.authorized => {
            concealed(finding)
        }
        Code::UniqueViolation | Code::FkViolation | Code::ExclusionViolation
            if report.policy.conceal_conflicts =>
        {
            plain(Code::StateConflict)
        }
        code => plain(code),
    }
}

/// "Not allowed" and "does not exist" are one condition: also what they prove must not tell them apart.
fn concealed(finding: &Finding) -> Conditioned {
    let proof = match finding.proof {
        Proof::NeverSent | Proof::Rejected | Proof::Refused | Proof::SaysNotCommitted | Proof::Nothing => {
            Proof::Rejected
        }
        Proof::Lost | Proof::Partial | Proof::SaysCommitted | Proof::SaysUnknown => finding.proof,
    };
    Conditioned { code: Code::NotAuthorized, proof, marks: Marks::default(), is_concealed: true }
}

/// The host's phase, unless the evidence or the host's own word on the transaction contradicts it.
fn believed_phase(operation: &Operation<'_>, proof: Proof, marks: Marks) -> (Phase, bool) {
    let was_sent = marks.executed
        || proof == Proof::SaysCommitted
        || matches!(
            operation.transaction,
            Transaction::Committing | Transaction::Committed | Transaction::Prepared
        );
    match operation.phase.is_before_sending() && was_sent {
        true => (Phase::Unknown, true),
        false => (operation.phase, false),
    }
}

/// Does the server itself refuse or replay this key, and will it still?
fn has_enforced_key(operation: &Operation<'_>) -> bool {
    operation.dedupe == Dedupe::Enforced
        && operation.operation_key.is_some()
        && operation.key_expires_ms.is_none_or(|left| left > 0)
}

/// A read changes nothing: only whether it reached the server is left to say.
fn read_outcome(attempt: &Attempted<'_, '_>, earlier: Outcome) -> Outcome {
    let is_answer_to_statement =
        matches!(attempt.phase, Phase::Send | Phase::Execute | Phase::Fetch | Phase::Unknown);
    let never_sent =
        attempt.phase.is_before_sending() || (is_answer_to_statement && attempt.proof == Proof::NeverSent);
    match never_sent && earlier == Outcome::NotStarted {
        true => Outcome::NotStarted,
        false => Outcome::NotCommitted,
    }
}

/// What one attempt is judged by.
struct Attempted<'a, 'r> {
    system: System,
    operation: &'a Operation<'r>,
    phase: Phase,
    proof: Proof,
    marks: Marks,
    cancel: Cancel,
}

/// The operation's outcome, and whether a part may have been applied: this attempt's outcome joined with what
/// earlier attempts, applied steps, receipts and keys say.
fn operation_outcome(attempt: &Attempted<'_, '_>, finding: &Finding, report: &Report<'_>) -> (Outcome, bool) {
    let operation = attempt.operation;
    match operation.receipt {
        Receipt::Committed => return (Outcome::Committed, false),
        Receipt::Pending => {}
        _ if finding.is_key_violation => return (Outcome::Committed, false),
        _ => {}
    }
    let (mut outcome, mut is_partial) = attempt_outcome(attempt);
    if operation.steps_done > 0 && outcome.is_without_effect() {
        (outcome, is_partial) = (Outcome::Unknown, true);
    }
    // Of an unreadable report only a phase before sending is believed.
    if report.is_unreadable && !attempt.phase.is_before_sending() {
        outcome = outcome.join(Outcome::Unknown);
    }
    let earlier = earlier_outcome(attempt, finding, report);
    if earlier != Outcome::Unknown || !is_answer_for_key(attempt) {
        outcome = outcome.join(earlier);
    }
    let is_in_flight = finding.code == Code::InProgress && outcome == Outcome::Unknown;
    if operation.receipt == Receipt::Pending || is_in_flight {
        return (outcome.join(Outcome::Unknown), false);
    }
    let is_fenced_off = operation.receipt == Receipt::Absent && operation.fenced && !is_partial;
    match outcome == Outcome::Unknown && is_fenced_off {
        true => (Outcome::NotCommitted, false),
        false => (outcome, is_partial && outcome == Outcome::Unknown),
    }
}

/// What earlier attempts came to, those included that the driver may have made by itself.
fn earlier_outcome(attempt: &Attempted<'_, '_>, finding: &Finding, report: &Report<'_>) -> Outcome {
    let prior = match report.attempt.prior {
        Prior::None | Prior::NotStarted => Outcome::NotStarted,
        Prior::NotCommitted => Outcome::NotCommitted,
        Prior::Unknown => Outcome::Unknown,
        Prior::Committed => Outcome::Committed,
    };
    let may_have_repeated = finding.has_hidden_attempts || attempt.operation.replays == Replays::Possible;
    match may_have_repeated && !attempt.phase.is_before_sending() {
        true => prior.join(Outcome::Unknown),
        false => prior,
    }
}

/// Has the server, which looks an enforced key up before it executes, answered for the key and not only for this
/// attempt? Then an earlier attempt had no effect either.
fn is_answer_for_key(attempt: &Attempted<'_, '_>) -> bool {
    has_enforced_key(attempt.operation)
        && match attempt.proof {
            Proof::Refused => attempt.marks.executed,
            Proof::SaysNotCommitted => true,
            _ => false,
        }
}

/// The table of the contract: what one attempt of a write did, and whether a part of it may have been applied.
fn attempt_outcome(attempt: &Attempted<'_, '_>) -> (Outcome, bool) {
    let Attempted { system, operation, phase, proof, marks, cancel } = *attempt;
    let transaction = operation.transaction;
    let rolls_back = system.rolls_back(operation.unit);
    let is_undone = matches!(transaction, Transaction::Open | Transaction::Failed | Transaction::RolledBack);
    match (proof, phase, transaction) {
        // The server says so itself. Only the host's certainty of a COMMIT stands against its no.
        (Proof::SaysCommitted, _, _) => (Outcome::Committed, false),
        (Proof::SaysNotCommitted, _, Transaction::Committed) => (Outcome::Unknown, false),
        (Proof::SaysNotCommitted, _, _) => (Outcome::NotCommitted, false),
        (Proof::SaysUnknown, _, _) => (Outcome::Unknown, false),
        _ if phase.is_before_sending() => (Outcome::NotStarted, false),
        (_, Phase::Done, _) | (_, _, Transaction::Committed) => (Outcome::Committed, false),
        (_, _, Transaction::Prepared) => (Outcome::Unknown, false),
        // COMMIT was written: only codes that abort it for certain prove anything, and only about what it covers.
        (_, Phase::Commit, _) | (_, _, Transaction::Committing) => {
            match marks.aborts_commit && system.profile().commit_is_atomic && rolls_back {
                true => (Outcome::NotCommitted, false),
                false => (Outcome::Unknown, false),
            }
        }
        // Uncommitted work is undone, also when the connection dies; what commits by itself stays.
        _ if is_undone && rolls_back => (Outcome::NotCommitted, false),
        // An error of ROLLBACK itself says nothing about the statements before it.
        (_, Phase::Rollback, _) => (Outcome::Unknown, false),
        // Where a change of the schema commits, it commits what the transaction did before, also if it is then refused.
        _ if is_undone && operation.unit == Unit::Ddl && proof == Proof::Rejected => (Outcome::Unknown, true),
        _ => autocommit_outcome(system, operation.unit, proof, cancel),
    }
}

/// What an error in autocommit did to one unit of work.
fn autocommit_outcome(system: System, unit: Unit, proof: Proof, cancel: Cancel) -> (Outcome, bool) {
    let is_one_statement = matches!(unit, Unit::Statement | Unit::Many | Unit::Ddl);
    let undone =
        |is_undone| if is_undone { (Outcome::NotCommitted, false) } else { (Outcome::Unknown, true) };
    match proof {
        Proof::NeverSent => (Outcome::NotStarted, false),
        Proof::Rejected => undone(is_one_statement),
        Proof::Refused => undone(system.undoes(unit)),
        // The server reported the cancelled statement aborted: a refusal like any other.
        Proof::Nothing | Proof::Lost if cancel == Cancel::Confirmed => undone(system.undoes(unit)),
        Proof::Partial => (Outcome::Unknown, true),
        _ => (Outcome::Unknown, false),
    }
}

/// What the error says about the connection.
fn connection(phase: Phase, proof: Proof, marks: Marks) -> Connection {
    match proof {
        _ if marks.connection_lost => Connection::Lost,
        _ if phase.is_before_sending() => Connection::None,
        Proof::NeverSent => Connection::None,
        Proof::Nothing | Proof::Lost => Connection::Unknown,
        _ => Connection::Alive,
    }
}
