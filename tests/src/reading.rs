//! A second, independent reading of the contract's table of outcomes, kept as plain rows.
//!
//! It was written from the design's rows and paragraphs before the core was read; where the two disagreed, the
//! design decided. The exhaustive test compares them in both directions, so that "always unknown" fails as well
//! as a guess.
//!
//! Three tables, each read from the top, the first row that matches counts:
//! [`ATTEMPT`] says what one attempt did, [`OPERATION`] what that means for the whole operation, and
//! [`NAMES`] under which code it is published.

use retort::codes::{Code, Proof};
use retort::recognise::{Finding, Marks};
use retort::report::Report;
use retort::words::{
    Cancel, Category, Dedupe, Effect, Origin, Outcome, Phase, Prior, Receipt, Replays, Transaction, Unit,
};

/// What the reading expects of a verdict.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Expected {
    /// The public code.
    pub code: Code,
    /// Its category.
    pub category: Category,
    /// What happened to the write.
    pub outcome: Outcome,
    /// May it be tried again?
    pub retryable: bool,
    /// Did the error contradict the host's phase?
    pub phase_conflict: bool,
}

/// What one attempt did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Did {
    Nothing,
    Undone,
    Part,
    Maybe,
    Everything,
}

/// The transaction as far as it protects the write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Work {
    /// Every statement stands for itself.
    Autocommit,
    /// Not committed, and the unit and the system can roll it back.
    Uncommitted,
    /// COMMIT was written.
    Committing,
    /// COMMIT was confirmed.
    Committed,
    /// ROLLBACK was confirmed, and the unit and the system could.
    RolledBack,
    /// Another coordinator decides.
    Prepared,
}

use Work::{Autocommit, Committed, Committing, Prepared, RolledBack, Uncommitted};

/// Transaction, whether unit and system can roll back (`None`: either), and what the write's work then is.
const WORK: &[(&[Transaction], Option<bool>, Work)] = &[
    (&[Transaction::None, Transaction::Unknown], None, Autocommit),
    (&[Transaction::Open, Transaction::Failed], Some(true), Uncommitted),
    (&[Transaction::RolledBack], Some(true), RolledBack),
    (&[Transaction::Open, Transaction::Failed, Transaction::RolledBack], Some(false), Autocommit),
    (&[Transaction::Committing], None, Committing),
    (&[Transaction::Committed], None, Committed),
    (&[Transaction::Prepared], None, Prepared),
];

/// A further condition of a row.
#[derive(Clone, Copy, Debug)]
enum If {
    Always,
    /// The code is one that aborts COMMIT, and there COMMIT is atomic and the unit's work part of it.
    CommitAborted,
    /// The refusal undoes the whole unit.
    UnitUndone,
    /// The unit is one statement, so a refusal before execution covers it.
    OneStatement,
}

const BEFORE: &[Phase] = &[Phase::Validate, Phase::Authorize, Phase::Acquire, Phase::Connect];
const SENT: &[Phase] = &[Phase::Send, Phase::Execute, Phase::Fetch, Phase::Unknown];
const COMMIT: &[Phase] = &[Phase::Commit];
const ROLLBACK: &[Phase] = &[Phase::Rollback];
const DONE: &[Phase] = &[Phase::Done];
const ANY: &[Phase] = Phase::ALL;

const ALL_WORK: &[Work] = &[Autocommit, Uncommitted, Committing, Committed, RolledBack, Prepared];
const ALL_PROOFS: &[Proof] = &[
    Proof::Nothing,
    Proof::NeverSent,
    Proof::Rejected,
    Proof::Refused,
    Proof::Lost,
    Proof::Partial,
    Proof::SaysNotCommitted,
    Proof::SaysCommitted,
    Proof::SaysUnknown,
];

type Row = (&'static [Phase], &'static [Work], &'static [Proof], If, Did);

/// What one attempt to write did.
#[rustfmt::skip]
const ATTEMPT: &[Row] = &[
    // The server says so itself; a confirmed COMMIT and a denial of it cancel out.
    (ANY,      &[Committed],               &[Proof::SaysNotCommitted], If::Always,        Did::Maybe),
    (ANY,      ALL_WORK,                   &[Proof::SaysNotCommitted], If::Always,        Did::Undone),
    (ANY,      ALL_WORK,                   &[Proof::SaysCommitted],    If::Always,        Did::Everything),
    (ANY,      ALL_WORK,                   &[Proof::SaysUnknown],      If::Always,        Did::Maybe),
    // Nothing was sent.
    (BEFORE,   ALL_WORK,                   ALL_PROOFS,                 If::Always,        Did::Nothing),
    // Everything was confirmed.
    (DONE,     ALL_WORK,                   ALL_PROOFS,                 If::Always,        Did::Everything),
    (ANY,      &[Committed],               ALL_PROOFS,                 If::Always,        Did::Everything),
    // Another coordinator decides.
    (ANY,      &[Prepared],                ALL_PROOFS,                 If::Always,        Did::Maybe),
    // COMMIT was written.
    (COMMIT,   ALL_WORK,                   ALL_PROOFS,                 If::CommitAborted, Did::Undone),
    (COMMIT,   ALL_WORK,                   ALL_PROOFS,                 If::Always,        Did::Maybe),
    (ANY,      &[Committing],              ALL_PROOFS,                 If::CommitAborted, Did::Undone),
    (ANY,      &[Committing],              ALL_PROOFS,                 If::Always,        Did::Maybe),
    // Uncommitted work vanishes with its connection at the latest.
    (ANY,      &[Uncommitted, RolledBack], ALL_PROOFS,                 If::Always,        Did::Undone),
    // An error of ROLLBACK says nothing of what stands for itself.
    (ROLLBACK, &[Autocommit],              ALL_PROOFS,                 If::Always,        Did::Maybe),
    // Autocommit.
    (SENT,     &[Autocommit],              &[Proof::NeverSent],        If::Always,        Did::Nothing),
    (SENT,     &[Autocommit],              &[Proof::Rejected],         If::OneStatement,  Did::Undone),
    (SENT,     &[Autocommit],              &[Proof::Refused],          If::UnitUndone,    Did::Undone),
    (SENT,     &[Autocommit],              &[Proof::Rejected, Proof::Refused, Proof::Partial], If::Always, Did::Part),
    (SENT,     &[Autocommit],              &[Proof::Lost, Proof::Nothing], If::Always,    Did::Maybe),
];

/// What the operation's other facts say: a condition on them, and what it makes of the operation.
#[derive(Clone, Copy, Debug)]
enum Fact {
    /// The receipt is there.
    Receipt,
    /// This attempt did everything.
    ThisAttempt,
    /// An earlier attempt did.
    EarlierAttempt,
    /// The receipt is pending, or the server says that the key is in flight.
    Pending,
    /// The violated constraint is the operation key's own.
    KeyViolation,
    /// This attempt left a part behind: a receipt of the whole cannot deny that.
    Part,
    /// The receipt is absent, and no attempt can commit any more.
    AbsentAndFenced,
    /// This attempt, or one before it, may have had an effect.
    MayHave,
    /// Every attempt that reached the server was undone.
    Undone,
    /// Nothing reached the server.
    NeverSent,
}

/// How an operation is published.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum As {
    /// Under this code whatever the condition was.
    Code(Code),
    /// `RESULT_LOST`, or `ALREADY_APPLIED` where the server said that.
    Applied,
    /// Under the condition's own code.
    Condition,
    /// Under the condition's own code while it may be repeated; else under this one.
    ConditionOr(Code),
}

/// What the operation came to.
#[rustfmt::skip]
const OPERATION: &[(Fact, Outcome, As)] = &[
    (Fact::Receipt,         Outcome::Committed,    As::Code(Code::AlreadyApplied)),
    (Fact::ThisAttempt,     Outcome::Committed,    As::Applied),
    (Fact::EarlierAttempt,  Outcome::Committed,    As::Applied),
    (Fact::Pending,         Outcome::Unknown,      As::Code(Code::InProgress)),
    (Fact::KeyViolation,    Outcome::Committed,    As::Code(Code::AlreadyApplied)),
    (Fact::Part,            Outcome::Unknown,      As::ConditionOr(Code::PartialOutcome)),
    (Fact::AbsentAndFenced, Outcome::NotCommitted, As::Condition),
    (Fact::MayHave,         Outcome::Unknown,      As::ConditionOr(Code::OutcomeUnknown)),
    (Fact::Undone,          Outcome::NotCommitted, As::Condition),
    (Fact::NeverSent,       Outcome::NotStarted,   As::Condition),
];

/// Conditions with another public name: the found code, whose SQL (`None`: anybody's), whether the caller is
/// authorized (`None`: either), and the published code.
#[rustfmt::skip]
const NAMES: &[(Code, Option<Origin>, Option<bool>, Code)] = &[
    (Code::UnknownObject,  Some(Origin::Tool),  None,        Code::ContractBroken),
    (Code::InvalidQuery,   Some(Origin::Tool),  None,        Code::ContractBroken),
    (Code::UnknownObject,  Some(Origin::Model), Some(false), Code::NotAuthorized),
    (Code::NotFound,       None,                Some(false), Code::NotAuthorized),
    (Code::NotAuthorized,  None,                Some(false), Code::NotAuthorized),
    // What speaks of a doubtful or lost outcome has another name where there is no doubt.
    (Code::OutcomeUnknown, None,                None,        Code::ConnectionLost),
    (Code::ResultLost,     None,                None,        Code::ConnectionLost),
    (Code::PartialOutcome, None,                None,        Code::DatabaseError),
    (Code::AlreadyApplied, None,                None,        Code::DatabaseError),
];

/// Reads the tables for one finding.
pub fn read(finding: &Finding, report: &Report) -> Expected {
    let case = Case::new(finding, report);
    if report.operation.effect == Effect::Read { case.read() } else { case.write() }
}

struct Case<'a> {
    finding: &'a Finding,
    report: &'a Report<'a>,
    phase: Phase,
    phase_conflict: bool,
    work: Work,
    proof: Proof,
    marks: Marks,
    code: Code,
}

impl<'a> Case<'a> {
    fn new(finding: &'a Finding, report: &'a Report<'a>) -> Case<'a> {
        let operation = &report.operation;
        let rolls_back = finding.system.rolls_back(operation.unit);
        let work = WORK
            .iter()
            .find(|(words, can, _)| {
                words.contains(&operation.transaction) && can.is_none_or(|can| can == rolls_back)
            })
            .map_or(Autocommit, |(_, _, work)| *work);
        // "Not allowed" and "does not exist" are one condition, so they prove the same as well.
        let is_concealed = name(finding.code, report) == Code::NotAuthorized && !report.context.authorized;
        let undoubted = [Proof::Nothing, Proof::NeverSent, Proof::Refused, Proof::SaysNotCommitted];
        let (mut proof, marks) = match is_concealed {
            true if undoubted.contains(&finding.proof) => (Proof::Rejected, Marks::default()),
            true => (finding.proof, Marks::default()),
            false => (finding.proof, finding.marks),
        };
        // A phase before sending is believed unless only an executed statement, or a COMMIT, explains the facts.
        let phase_conflict = BEFORE.contains(&operation.phase)
            && (marks.executed
                || proof == Proof::SaysCommitted
                || [Committing, Committed, Prepared].contains(&work));
        let phase = if phase_conflict { Phase::Unknown } else { operation.phase };
        // Who cancels does not want a repetition; only the server's own report of the abort is a refusal, and it
        // says nothing about COMMIT.
        let is_silent = [Proof::Nothing, Proof::Lost].contains(&proof);
        let is_cancelled = report.cancel != Cancel::None && (is_silent || finding.code.is_transient());
        let at_commit = phase == Phase::Commit || work == Committing;
        if is_silent && report.cancel == Cancel::Confirmed && !at_commit {
            proof = Proof::Refused;
        }
        let code = if is_cancelled { Code::Cancelled } else { finding.code };
        Case { finding, report, phase, phase_conflict, work, proof, marks, code }
    }

    fn read(&self) -> Expected {
        let never_sent = BEFORE.contains(&self.phase)
            || (SENT.contains(&self.phase) && self.proof == Proof::NeverSent && !self.is_replayed());
        let first = [Prior::None, Prior::NotStarted].contains(&self.report.attempt.prior);
        let outcome = if never_sent && first { Outcome::NotStarted } else { Outcome::NotCommitted };
        self.publish(outcome, As::Condition)
    }

    fn write(&self) -> Expected {
        let did = self.attempt();
        let (_, outcome, publish) = OPERATION
            .iter()
            .find(|(fact, _, _)| self.holds(*fact, did))
            .expect("the last row is for the rest");
        self.publish(*outcome, *publish)
    }

    /// What this attempt did.
    fn attempt(&self) -> Did {
        let (_, _, _, _, did) = ATTEMPT
            .iter()
            .find(|(phases, work, proofs, condition, _)| {
                phases.contains(&self.phase)
                    && work.contains(&self.work)
                    && proofs.contains(&self.proof)
                    && self.meets(*condition)
            })
            .expect("the rows cover every phase, work and proof");
        // Steps are counted where they were applied in autocommit, whatever the transaction is now.
        let steps = self.report.operation.steps_done > 0;
        if steps && [Did::Nothing, Did::Undone].contains(did) { Did::Part } else { *did }
    }

    fn meets(&self, condition: If) -> bool {
        let (system, operation) = (self.finding.system, &self.report.operation);
        let unit = operation.unit;
        match condition {
            If::Always => true,
            If::CommitAborted => {
                self.marks.aborts_commit && system.profile().commit_is_atomic && system.rolls_back(unit)
            }
            If::UnitUndone => system.undoes(unit),
            // A change of the schema that commits by itself ends the transaction that it stands in.
            If::OneStatement if unit == Unit::Ddl => {
                ![Transaction::Open, Transaction::Failed, Transaction::RolledBack]
                    .contains(&operation.transaction)
            }
            If::OneStatement => [Unit::Statement, Unit::Many].contains(&unit),
        }
    }

    fn holds(&self, fact: Fact, did: Did) -> bool {
        let operation = &self.report.operation;
        let prior = self.prior();
        match fact {
            Fact::Receipt => operation.receipt == Receipt::Committed,
            Fact::KeyViolation => self.finding.is_key_violation,
            Fact::ThisAttempt => did == Did::Everything,
            Fact::EarlierAttempt => prior == Prior::Committed,
            Fact::Pending => {
                operation.receipt == Receipt::Pending || (did == Did::Maybe && self.code == Code::InProgress)
            }
            Fact::Part => did == Did::Part,
            Fact::AbsentAndFenced => {
                operation.receipt == Receipt::Absent
                    && operation.fenced
                    && (did == Did::Maybe || prior == Prior::Unknown)
            }
            Fact::MayHave => did == Did::Maybe || prior == Prior::Unknown,
            Fact::Undone => did == Did::Undone || prior == Prior::NotCommitted,
            Fact::NeverSent => true,
        }
    }

    /// What earlier attempts did, those the driver hid included, as far as this attempt does not disprove it.
    fn prior(&self) -> Prior {
        let prior = self.report.attempt.prior;
        if prior == Prior::Committed {
            return prior;
        }
        let prior = if self.is_replayed() { Prior::Unknown } else { prior };
        // A server that enforces the key would have replayed an earlier success instead of executing anew.
        let disproved = self.has_enforced_key()
            && ((self.marks.executed && self.proof == Proof::Refused)
                || self.proof == Proof::SaysNotCommitted);
        if prior == Prior::Unknown && disproved { Prior::None } else { prior }
    }

    fn is_replayed(&self) -> bool {
        !BEFORE.contains(&self.phase)
            && (self.report.operation.replays == Replays::Possible || self.finding.has_hidden_attempts)
    }

    fn has_enforced_key(&self) -> bool {
        let operation = &self.report.operation;
        operation.dedupe == Dedupe::Enforced
            && operation.operation_key.is_some()
            && operation.key_expires_ms != Some(0)
    }

    /// May the operation be repeated although nobody knows what the earlier attempts did?
    fn is_repeatable(&self) -> bool {
        match self.report.operation.effect {
            Effect::Read | Effect::IdempotentWrite => true,
            Effect::Write => self.has_enforced_key() && self.proof != Proof::SaysUnknown,
        }
    }

    /// Nothing but the condition itself is in the way of another attempt.
    fn may_pass(&self) -> bool {
        let most = self.report.attempt.max.unwrap_or(self.report.policy.max_attempts);
        self.report.attempt.number < most && self.proof != Proof::Nothing
    }

    fn publish(&self, outcome: Outcome, publish: As) -> Expected {
        let expected = |code: Code, category, outcome, retryable| Expected {
            code,
            category,
            outcome,
            retryable,
            phase_conflict: self.phase_conflict,
        };
        match publish {
            As::Code(Code::InProgress) => {
                expected(Code::InProgress, Category::UnknownOutcome, outcome, false)
            }
            As::Code(code) => expected(code, code.category(), outcome, false),
            As::Applied => {
                let said = self.code == Code::AlreadyApplied || self.finding.is_key_violation;
                let code = if said { Code::AlreadyApplied } else { Code::ResultLost };
                expected(code, code.category(), outcome, false)
            }
            As::ConditionOr(code) => {
                let condition = name(self.code, self.report);
                if self.is_repeatable() && condition.is_transient() && self.may_pass() {
                    expected(condition, Category::Transient, outcome, true)
                } else {
                    expected(code, Category::UnknownOutcome, outcome, false)
                }
            }
            As::Condition => {
                let authorized = self.report.context.authorized;
                let code = name(self.code, self.report);
                let passes = code.is_transient() && self.may_pass();
                let hidden = code == Code::NotAuthorized && !authorized;
                let outcome = if hidden { Outcome::NotCommitted } else { outcome };
                expected(code, code.category(), outcome, passes)
            }
        }
    }
}

/// The name under which a condition is published to this caller.
fn name(code: Code, report: &Report) -> Code {
    NAMES
        .iter()
        .find(|(found, origin, authorized, _)| {
            *found == code
                && origin.is_none_or(|origin| origin == report.operation.origin)
                && authorized.is_none_or(|authorized| authorized == report.context.authorized)
        })
        .map_or(code, |(_, _, _, published)| *published)
}
