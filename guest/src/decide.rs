//! Judgement → retry decision: whether, after how long, how much of it, and what to clean up first.

use serde::Serialize;

use crate::codes::{Code, Proof};
use crate::hash::Hash;
use crate::judge::Judgement;
use crate::report::Report;
use crate::words::{
    Cancel, Category, Cleanup, Connection, Effect, Next, Outcome, Phase, Reason, Scope, Transaction,
};

/// Tokens a retry costs.
pub const RETRY_COST: u32 = 5;
/// Tokens a retry after a timeout costs.
pub const TIMEOUT_COST: u32 = 10;
/// Tokens a success gives back.
pub const SUCCESS_REFUND: u32 = 1;

/// What the program does. `code`, `category` and `retryable` are the envelope's.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decision {
    /// The published code.
    #[serde(skip)]
    pub code: Code,
    /// The published category.
    #[serde(skip)]
    pub category: Category,
    /// May the same call be made again?
    #[serde(skip)]
    pub retryable: bool,
    /// The next step.
    pub action: Next,
    /// Milliseconds to wait before a retry or a look-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u32>,
    /// How much to repeat.
    pub scope: Scope,
    /// What to do with the connection before any envelope leaves the host.
    pub cleanup: Cleanup,
    /// Why.
    pub reason: Reason,
    /// Attempts left after this one.
    pub attempts_left: u32,
    /// Retry tokens left once the decision is carried out. Absent where no budget is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_left: Option<u32>,
}

/// Decides by the contract's retry rules.
pub fn decide(judgement: &Judgement, report: &Report<'_>) -> Decision {
    let number = report.attempt.number.max(1);
    let max = report.attempt.max.unwrap_or(report.policy.max_attempts);
    let attempts_left = max.saturating_sub(number);
    let delay = delay(judgement, report, number);
    let cost = if judgement.code == Code::DbTimeout || judgement.marks.client_timeout {
        TIMEOUT_COST
    } else {
        RETRY_COST
    };

    let refusal = refusal(judgement, report, attempts_left, delay, cost);
    let retryable = refusal.is_none();
    let is_unknown = judgement.outcome == Outcome::Unknown && !retryable;
    let code = match judgement.code {
        code if !is_unknown || code == Code::InProgress => code,
        _ if judgement.is_partial => Code::PartialOutcome,
        _ => Code::OutcomeUnknown,
    };
    let action = next(judgement, report, code, retryable);
    Decision {
        code,
        category: if is_unknown { Category::UnknownOutcome } else { code.category() },
        retryable,
        action,
        delay_ms: (retryable || action == Next::Reconcile).then_some(delay),
        scope: scope(judgement, report, retryable),
        cleanup: cleanup(judgement, report),
        reason: refusal.unwrap_or(match judgement.outcome {
            Outcome::Unknown => Reason::Repeatable,
            _ => Reason::NoEffect,
        }),
        attempts_left,
        tokens_left: report
            .attempt
            .tokens
            .map(|tokens| if retryable { tokens.saturating_sub(cost) } else { tokens }),
    }
}

/// The retry tokens after an event: `retry`, `retry_after_timeout`, `success`. Any other word changes nothing.
pub fn budget(tokens: u32, event: &str, capacity: u32) -> u32 {
    match event {
        "retry" => tokens.saturating_sub(RETRY_COST),
        "retry_after_timeout" => tokens.saturating_sub(TIMEOUT_COST),
        "success" => tokens.saturating_add(SUCCESS_REFUND),
        _ => tokens,
    }
    .min(capacity)
}

/// Why not to retry; `None`: retry.
fn refusal(
    judgement: &Judgement,
    report: &Report<'_>,
    attempts_left: u32,
    delay: u32,
    cost: u32,
) -> Option<Reason> {
    let is_safe = judgement.outcome.is_without_effect() || judgement.is_repeatable;
    let finish = delay.saturating_add(report.attempt.expected_ms.unwrap_or(0));
    let elapsed = report.attempt.elapsed_ms.unwrap_or(0);
    let is_late =
        report.attempt.deadline_ms.is_some_and(|deadline| elapsed.saturating_add(finish) >= deadline);
    let needs_key = judgement.outcome == Outcome::Unknown && judgement.is_key_enforced;
    let key_expires =
        report.operation.key_expires_ms.filter(|_| needs_key && judgement.effect == Effect::Write);
    if report.is_unreadable {
        Some(Reason::ToolFault)
    } else if judgement.outcome == Outcome::Committed {
        Some(Reason::Committed)
    } else if judgement.code == Code::InProgress {
        Some(Reason::InFlight)
    } else if judgement.outcome == Outcome::Unknown && !(judgement.code.is_transient() && is_safe) {
        Some(Reason::OutcomeUnknown)
    } else if judgement.proof == Proof::Nothing {
        Some(Reason::Unrecognised)
    } else if !judgement.code.is_transient() {
        Some(Reason::NotTransient)
    } else if attempts_left == 0 {
        Some(Reason::Attempts)
    } else if is_late {
        Some(Reason::Deadline)
    } else if key_expires.is_some_and(|left| finish >= left) {
        Some(Reason::KeyExpired)
    } else if report.attempt.tokens.is_some_and(|tokens| tokens < cost) {
        Some(Reason::Budget)
    } else {
        None
    }
}

/// Exponential backoff with equal jitter: half fixed, half spread, never below the base and never above the cap. A
/// server's own wait beats the cap.
fn delay(judgement: &Judgement, report: &Report<'_>, number: u32) -> u32 {
    let policy = &report.policy;
    let base = policy.base_ms.max(1).saturating_mul(judgement.code.lasting().factor());
    let doubling = 1u32.checked_shl(number).unwrap_or(u32::MAX);
    let longest = base.saturating_mul(doubling).min(policy.cap_ms.max(1));
    let shortest = (longest / 2).max(base.min(longest));
    let spread = Hash::new()
        .number(report.seed)
        .text(report.context.operation_id.as_ref().map_or("", |id| id.as_str()))
        .number(number)
        .below((longest - shortest).saturating_add(1));
    let server = report.attempt.server_retry_after_ms.max(judgement.retry_after_ms).unwrap_or(0);
    shortest.saturating_add(spread).max(server)
}

/// The next step.
fn next(judgement: &Judgement, report: &Report<'_>, code: Code, retryable: bool) -> Next {
    let is_write = judgement.effect != Effect::Read;
    let can_look_up = is_write && report.operation.operation_key.is_some();
    if judgement.is_concealed {
        Next::Escalate
    } else if retryable && judgement.outcome == Outcome::Unknown && judgement.is_key_enforced {
        Next::Resubmit
    } else if retryable {
        Next::Retry
    } else if judgement.outcome == Outcome::Unknown || code.next() == Next::Reconcile {
        if can_look_up { Next::Reconcile } else { Next::Escalate }
    } else {
        code.next()
    }
}

/// How much a retry repeats. A host loop that keeps its transaction may repeat the statement alone.
fn scope(judgement: &Judgement, report: &Report<'_>, retryable: bool) -> Scope {
    match report.operation.transaction {
        Transaction::Open if retryable && judgement.marks.keeps_transaction => Scope::Statement,
        Transaction::Open | Transaction::Failed if retryable => Scope::Transaction,
        _ => Scope::Operation,
    }
}

/// What the host does with the connection before any envelope leaves it.
fn cleanup(judgement: &Judgement, report: &Report<'_>) -> Cleanup {
    let transaction = report.operation.transaction;
    let is_answered = matches!(judgement.connection, Connection::Alive);
    let may_run_on =
        judgement.marks.client_timeout || matches!(report.cancel, Cancel::Requested | Cancel::Failed);
    let is_ending =
        matches!(judgement.phase, Phase::Commit | Phase::Rollback) || transaction == Transaction::Committing;
    // What was begun and not ended is rolled back even where this statement never left.
    let is_open = matches!(transaction, Transaction::Open | Transaction::Failed);
    if judgement.phase.is_before_sending() {
        if is_open { Cleanup::Rollback } else { Cleanup::None }
    } else if may_run_on && !is_answered {
        Cleanup::CancelThenDiscard
    } else if judgement.connection == Connection::Lost
        || judgement.proof == Proof::Lost
        || (is_ending && !is_answered)
    {
        Cleanup::DiscardConnection
    } else if is_open || (judgement.connection != Connection::None && may_be_open(transaction)) {
        Cleanup::Rollback
    } else {
        Cleanup::None
    }
}

/// Can a transaction be left open on the connection? SQLite's stays open after a COMMIT that met a lock.
fn may_be_open(transaction: Transaction) -> bool {
    matches!(
        transaction,
        Transaction::Open | Transaction::Failed | Transaction::Committing | Transaction::Unknown
    )
}
