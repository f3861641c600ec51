//! The operation remembers: no later attempt makes an earlier one undone.

use std::borrow::Cow;

use fastrand::Rng;
use retort::codes::Code;
use retort::json::Json;
use retort::observe::summarise;
use retort::report::{Report, Token};
use retort::words::{Cancel, Dedupe, Effect, Outcome, Phase, Prior, Receipt, Replays, Transaction, Unit};

/// Printed with a failure: it fixes the sequences.
const SEED: u64 = 0x5eed_0008;
const SEQUENCES: u32 = 100_000;

fn condition(code: Code) -> Json<'static> {
    Json::Object(vec![(Cow::Borrowed("condition"), Json::Text(Cow::Borrowed(code.as_str())))])
}

fn report(code: Code, phase: Phase, transaction: Transaction) -> Report<'static> {
    let mut report = Report { error: Some(condition(code)), ..Report::default() };
    // Whether something exists is no secret here: a concealed outcome would hide the join.
    report.context.authorized = true;
    (report.operation.phase, report.operation.transaction) = (phase, transaction);
    report
}

fn outcome(report: &Report<'_>) -> Outcome {
    retort::evaluate(report).envelope.outcome()
}

/// The outcome that a word for earlier attempts stands for.
fn earlier(prior: Prior) -> Outcome {
    match prior {
        Prior::None | Prior::NotStarted => Outcome::NotStarted,
        Prior::NotCommitted => Outcome::NotCommitted,
        Prior::Unknown => Outcome::Unknown,
        Prior::Committed => Outcome::Committed,
    }
}

fn as_prior(outcome: Outcome) -> Prior {
    match outcome {
        Outcome::NotStarted => Prior::NotStarted,
        Outcome::NotCommitted => Prior::NotCommitted,
        Outcome::Unknown => Prior::Unknown,
        Outcome::Committed => Prior::Committed,
    }
}

/// Runs `each` for every code, phase and state of the transaction.
fn for_every_code(mut each: impl FnMut(Report<'static>, &str)) -> u32 {
    let mut cases = 0;
    for code in Code::ALL {
        for phase in Phase::ALL {
            for transaction in Transaction::ALL {
                let name = format!("{code:?} {phase:?} {transaction:?}");
                each(report(*code, *phase, *transaction), &name);
                cases += 1;
            }
        }
    }
    cases
}

#[test]
fn the_outcome_is_the_join_of_all_attempts_for_every_code() {
    let cases = for_every_code(|mut report, name| {
        let alone = outcome(&report);
        for prior in Prior::ALL {
            report.attempt.prior = *prior;
            assert_eq!(outcome(&report), alone.join(earlier(*prior)), "{name} after {prior:?}");
        }
    });
    println!("{cases} attempts, each after {} kinds of earlier attempts", Prior::ALL.len());
}

#[test]
fn attempts_hidden_in_the_driver_count_as_unknown_ones_for_every_code() {
    for_every_code(|mut report, name| {
        let alone = outcome(&report);
        report.operation.replays = Replays::Possible;
        let hidden = match report.operation.phase.is_before_sending() {
            true if !retort::evaluate(&report).diagnostic.phase_conflict => alone,
            _ => alone.join(Outcome::Unknown),
        };
        assert_eq!(outcome(&report), hidden, "{name}");
    });
}

#[test]
fn drivers_that_count_their_own_attempts_are_believed() {
    let came = |error: &str| {
        let report = format!(
            r#"{{"error": {error}, "system": "dynamodb", "operation": {{"phase": "execute", "transaction": "none"}}}}"#
        );
        outcome(&Report::read(&report))
    };
    let failed = r#""name": "ConditionalCheckFailedException", "$fault": "client""#;
    assert_eq!(
        [
            came(&format!(r#"{{{failed}, "$metadata": {{"httpStatusCode": 400, "attempts": 1}}}}"#)),
            came(&format!(r#"{{{failed}, "$metadata": {{"httpStatusCode": 400, "attempts": 2}}}}"#)),
            came(
                r#"{"Error": {"Code": "ConditionalCheckFailedException"}, "ResponseMetadata": {"HTTPStatusCode": 400, "RetryAttempts": 0}}"#
            ),
            came(
                r#"{"Error": {"Code": "ConditionalCheckFailedException"}, "ResponseMetadata": {"HTTPStatusCode": 400, "RetryAttempts": 1}}"#
            ),
        ],
        [Outcome::NotCommitted, Outcome::Unknown, Outcome::NotCommitted, Outcome::Unknown]
    );
}

#[test]
fn a_conflict_after_an_unknown_attempt_may_be_our_own_doing() {
    for code in [Code::UniqueViolation, Code::VersionConflict, Code::NotFound, Code::AlreadyExists] {
        let mut report = report(code, Phase::Execute, Transaction::None);
        report.attempt.prior = Prior::Unknown;
        let verdict = retort::evaluate(&report);
        assert_eq!(
            (verdict.envelope.code(), verdict.envelope.outcome(), verdict.envelope.retryable()),
            (Code::OutcomeUnknown, Outcome::Unknown, false),
            "{code:?}"
        );
    }
}

fn pick<T: Copy>(dice: &mut Rng, all: &[T]) -> T {
    all[dice.usize(0..all.len())]
}

/// One attempt of a random sequence.
fn draw(dice: &mut Rng, effect: Effect, dedupe: Dedupe) -> Report<'static> {
    let mut report = report(pick(dice, Code::ALL), pick(dice, Phase::ALL), pick(dice, Transaction::ALL));
    report.context.authorized = dice.bool();
    report.cancel = if dice.u32(0..8) == 0 { pick(dice, Cancel::ALL) } else { Cancel::None };
    report.seed = dice.u32(..);
    let operation = &mut report.operation;
    (operation.effect, operation.dedupe) = (effect, dedupe);
    operation.unit = pick(dice, Unit::ALL);
    operation.operation_key = Token::key("k-1");
    operation.replays = if dice.u32(0..8) == 0 { Replays::Possible } else { Replays::None };
    operation.receipt = if dice.u32(0..4) == 0 { pick(dice, Receipt::ALL) } else { Receipt::None };
    operation.fenced = dice.u32(0..4) == 0;
    operation.steps_done = u32::from(dice.u32(0..16) == 0);
    report
}

#[test]
fn no_sequence_of_attempts_forgets_what_may_have_happened() {
    let mut dice = Rng::with_seed(SEED);
    let mut attempts = 0;
    for sequence in 0..SEQUENCES {
        let effect = pick(&mut dice, Effect::ALL);
        let dedupe = pick(&mut dice, Dedupe::ALL);
        let (mut prior, mut records) = (Prior::None, Vec::new());
        for number in 1..=dice.u32(2..=6) {
            let mut report = draw(&mut dice, effect, dedupe);
            (report.attempt.number, report.attempt.prior) = (number, prior);
            let verdict = retort::evaluate(&report);
            let (envelope, operation) = (&verdict.envelope, &report.operation);
            let context =
                || format!("seed {SEED:#x} sequence {sequence} attempt {number}: {report:?}\n{envelope:?}");
            let outcome = verdict.attempt.outcome;
            let may_lower =
                dedupe == Dedupe::Enforced || (operation.receipt == Receipt::Absent && operation.fenced);
            if effect == Effect::Read {
                assert!(outcome.is_without_effect(), "a read changes nothing; {}", context());
            } else {
                assert!(prior != Prior::Committed || outcome == Outcome::Committed, "{}", context());
                assert!(
                    prior != Prior::Unknown || !outcome.is_without_effect() || may_lower,
                    "only a fence or an enforced key lowers unknown; {}",
                    context()
                );
                assert!(
                    operation.receipt != Receipt::Committed || outcome == Outcome::Committed,
                    "a receipt is believed; {}",
                    context()
                );
                let is_repeatable = effect == Effect::IdempotentWrite || dedupe == Dedupe::Enforced;
                assert!(
                    !envelope.retryable() || outcome.is_without_effect() || is_repeatable,
                    "what may be retried is safe to retry; {}",
                    context()
                );
            }
            prior = as_prior(outcome);
            records.push(verdict.attempt);
            attempts += 1;
        }
        let operation = summarise(&records);
        let (first, last) = (records.first(), records.last());
        let before = &records[..records.len() - 1];
        assert_eq!(
            (
                operation.attempts as usize,
                operation.first_code,
                operation.final_code,
                Some(operation.outcome)
            ),
            (
                records.len(),
                first.map(|record| record.error_type),
                last.map(|record| record.error_type),
                last.map(|record| record.outcome)
            )
        );
        assert_eq!(
            operation.total_delay_ms,
            before.iter().filter_map(|record| record.retry_delay_ms).sum::<u32>()
        );
        assert_eq!(
            operation.duplicates_possible,
            before.iter().any(|record| !record.outcome.is_without_effect())
        );
    }
    println!("seed {SEED:#x}: {SEQUENCES} operations, {attempts} attempts");
}
