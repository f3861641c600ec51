//! Three kinds of client: one obeys Retort's verdicts, two retry by rules of thumb.

use std::borrow::Cow;

use retort::Verdict;
use retort::decide;
use retort::json::Json;
use retort::reconcile;
use retort::report::{Report, Token};
use retort::words::{Cleanup, Dedupe, Next, Outcome, Prior, Scope};

use super::server::{Failure, World};
use super::{Job, Protection, Told};

/// The whole time of one operation, in milliseconds.
pub const DEADLINE_MS: u32 = 30_000;
/// How long one attempt usually takes, in milliseconds.
const EXPECTED_MS: u32 = 200;
/// Attempts of the clients that retry by rules of thumb: as many as Retort's default policy has.
const ATTEMPTS: u32 = 3;
/// Look-ups of a receipt before a person is asked.
const LOOK_UPS: u32 = 8;

/// The words that servers with rules of thumb take for "try again": those that peers look for in messages.
const CONNECTION_WORDS: &[&str] =
    &["connect", "timeout", "reset", "lock", "closed", "unavailable", "terminat"];

/// How a client decides about a retry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Client {
    /// Retries whatever failed.
    AnyError,
    /// Retries what sounds like a connection's or a lock's trouble.
    ConnectionWords,
    /// Obeys Retort.
    Retort,
    /// Obeys Retort, but leaves connections as they are.
    RetortWithoutCleanup,
}

/// How one operation ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ending {
    /// What the caller is told.
    pub told: Told,
    /// Attempts after the first.
    pub retries: u32,
    /// Look-ups of a receipt.
    pub look_ups: u32,
    /// Was the last failure one that no repetition mends?
    pub is_permanent: bool,
}

/// Carries one operation out. `tokens` is the budget that all operations share, where there is one.
pub fn run(client: Client, world: &mut World, tokens: &mut Option<u32>, seed: u32) -> Ending {
    match client {
        Client::AnyError => rule_of_thumb(world, |_| true),
        Client::ConnectionWords => rule_of_thumb(world, |failure| {
            let words = failure.seen.words.to_lowercase();
            CONNECTION_WORDS.iter().any(|word| words.contains(word))
        }),
        Client::Retort | Client::RetortWithoutCleanup => {
            let cleans = client == Client::Retort;
            Obedient { world, tokens, seed, cleans, prior: Prior::None, number: 1, look_ups: 0 }.run()
        }
    }
}

/// Retries the whole operation with backoff, on a clean connection; in the end, failed is failed.
fn rule_of_thumb(world: &mut World, retries: impl Fn(&Failure) -> bool) -> Ending {
    let mut number = 1;
    loop {
        let Err(failure) = world.attempt(None) else {
            return Ending { told: Told::Applied, retries: number - 1, look_ups: 0, is_permanent: false };
        };
        world.clean_up(Cleanup::DiscardConnection);
        if number == ATTEMPTS || !retries(&failure) {
            let is_permanent = failure.is_permanent;
            return Ending { told: Told::NotApplied, retries: number - 1, look_ups: 0, is_permanent };
        }
        world.wait(100 << number);
        number += 1;
    }
}

/// What to do after a verdict.
enum Step {
    /// Another attempt, from the start or from one statement of the open transaction.
    Again(Option<usize>),
    /// The end.
    End(Told),
}

/// The client that does what the decision says, and nothing else.
struct Obedient<'w> {
    world: &'w mut World,
    tokens: &'w mut Option<u32>,
    seed: u32,
    cleans: bool,
    prior: Prior,
    number: u32,
    look_ups: u32,
}

impl Obedient<'_> {
    fn run(mut self) -> Ending {
        let mut from = None;
        loop {
            let (told, is_permanent) = match self.world.attempt(from) {
                Ok(()) => {
                    *self.tokens = self.tokens.map(|tokens| decide::budget(tokens, "success", 500));
                    (Told::Applied, false)
                }
                Err(failure) => match self.obey(&failure) {
                    Step::Again(step) => {
                        (from, self.number) = (step, self.number + 1);
                        continue;
                    }
                    Step::End(told) => (told, failure.is_permanent),
                },
            };
            return Ending { told, retries: self.number - 1, look_ups: self.look_ups, is_permanent };
        }
    }

    fn obey(&mut self, failure: &Failure) -> Step {
        let mut verdict = retort::evaluate(&self.report(failure));
        loop {
            let decision = &verdict.decision;
            let keeps_transaction = verdict.envelope.retryable() && decision.scope == Scope::Statement;
            if self.cleans && !keeps_transaction {
                self.world.clean_up(decision.cleanup);
            }
            let outcome = verdict.envelope.outcome();
            self.prior = prior(outcome);
            match decision.action {
                Next::Retry | Next::Resubmit => {
                    self.world.wait(decision.delay_ms.unwrap_or(0));
                    *self.tokens = decision.tokens_left;
                    return Step::Again(keeps_transaction.then_some(failure.step));
                }
                Next::Reconcile if self.look_ups < LOOK_UPS => {
                    self.world.wait(decision.delay_ms.unwrap_or(0));
                    verdict = self.look_up(failure, &verdict);
                }
                _ => return Step::End(told(outcome)),
            }
        }
    }

    /// Looks the key up; from the third time on only after an attempt to fence the earlier attempts off.
    fn look_up(&mut self, failure: &Failure, earlier: &Verdict) -> Verdict {
        self.look_ups += 1;
        let fenced = self.look_ups > 2 && self.world.fence();
        let mut report = self.report(failure);
        report.operation.receipt = self.world.look_up();
        report.operation.fenced = fenced;
        let envelope = &earlier.envelope;
        reconcile::earlier_attempt(&mut report, envelope.code(), envelope.outcome(), false);
        retort::evaluate(&report)
    }

    fn report(&self, failure: &Failure) -> Report<'static> {
        let Job { dialect, effect, protection, retention_ms, .. } = self.world.job;
        let elapsed = u32::try_from(self.world.now).unwrap_or(u32::MAX);
        let mut report = Report {
            error: Json::read(failure.seen.error).ok(),
            system: Some(Cow::Borrowed(dialect.as_str())),
            seed: self.seed,
            ..Report::default()
        };
        let operation = &mut report.operation;
        (operation.effect, operation.phase) = (effect, failure.phase);
        (operation.transaction, operation.steps_done) = (failure.transaction, failure.steps_done);
        operation.replays = failure.replays;
        (operation.dedupe, operation.operation_key, operation.key_constraint) = match protection {
            Protection::Plain => (Dedupe::None, None, None),
            Protection::Receipt => {
                (Dedupe::Receipt, Token::key("k-1"), Some(Cow::Borrowed(dialect.key_constraint())))
            }
            Protection::Enforced => (Dedupe::Enforced, Token::key("k-1"), None),
        };
        operation.key_expires_ms =
            (protection == Protection::Enforced).then(|| retention_ms.saturating_sub(elapsed));
        let attempt = &mut report.attempt;
        (attempt.number, attempt.prior, attempt.tokens) = (self.number, self.prior, *self.tokens);
        (attempt.elapsed_ms, attempt.deadline_ms) = (Some(elapsed), Some(DEADLINE_MS));
        (attempt.expected_ms, attempt.server_retry_after_ms) = (Some(EXPECTED_MS), failure.retry_after_ms);
        report
    }
}

/// The outcome of the attempts so far, as the next report carries it.
fn prior(outcome: Outcome) -> Prior {
    match outcome {
        Outcome::NotStarted => Prior::NotStarted,
        Outcome::NotCommitted => Prior::NotCommitted,
        Outcome::Unknown => Prior::Unknown,
        Outcome::Committed => Prior::Committed,
    }
}

fn told(outcome: Outcome) -> Told {
    match outcome {
        Outcome::NotStarted | Outcome::NotCommitted => Told::NotApplied,
        Outcome::Committed => Told::Applied,
        Outcome::Unknown => Told::InDoubt,
    }
}
