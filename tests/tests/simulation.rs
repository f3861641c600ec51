//! A simulated client that obeys the verdicts, against a simulated database that fails in every way it can.

use retort::json::Json;
use retort::report::Report;
use retort::words::{Effect, Phase};
use retort_tests::simulation::{Client, Tally};

/// Printed with the figures: it fixes the operations and everything that goes wrong.
const SEED: u64 = 0x5eed_2026;
const OPERATIONS: u64 = 100_000;
/// The retry tokens that all operations share.
const BUDGET: Option<u32> = Some(500);

const HEADING: &str = "                          duplicates half-applied   lost  phantoms  given up  in doubt  retries  look-ups";

/// What holds for a client that obeys, in any weather.
fn assert_laws(tally: &Tally) {
    assert_eq!(tally.operations, OPERATIONS, "every operation ends");
    assert_eq!(tally.duplicates, 0, "never applied twice");
    assert_eq!(tally.lost, 0, "never reported as without effect when applied");
    assert_eq!(tally.halves, 0, "never half applied without saying so");
    assert_eq!(tally.phantoms, 0, "never reported as applied when it was not");
    assert!(tally.retries <= 2 * OPERATIONS, "at most three attempts");
    assert!(tally.longest_ms < 120_000, "no operation goes on for ever: {} ms", tally.longest_ms);
}

#[test]
fn an_obedient_client_never_applies_twice_and_never_denies_what_was_applied() {
    for (faults_percent, tokens) in [(5, BUDGET), (20, BUDGET), (60, BUDGET), (60, None), (95, None)] {
        let tally = Tally::of(Client::Retort, OPERATIONS, faults_percent, tokens, SEED);
        let budget = if tokens.is_some() { "with the budget" } else { "without a budget" };
        println!(
            "seed {SEED:#x}, {OPERATIONS} operations, faults in {faults_percent} % of the attempts, {budget}"
        );
        println!("{HEADING}\nRetort                    {tally}");
        assert_laws(&tally);
    }
}

#[test]
fn a_client_that_skips_the_cleanup_breaks_the_laws() {
    let tally = Tally::of(Client::RetortWithoutCleanup, OPERATIONS, 20, BUDGET, SEED);
    println!("{HEADING}\nRetort without cleanup    {tally}");
    assert!(
        tally.halves > 0 && tally.duplicates > 0,
        "what is left open gets committed with what comes next"
    );
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let tally = |seed| Tally::of(Client::Retort, 10_000, 20, BUDGET, seed);
    assert_eq!(tally(SEED), tally(SEED));
    assert_ne!(tally(SEED), tally(SEED + 1));
}

#[test]
fn rules_of_thumb_apply_twice_and_lose_where_retort_does_neither() {
    println!("seed {SEED:#x}, {OPERATIONS} operations, faults in 20 % of the attempts\n{HEADING}");
    let tallies = [
        ("retry on any error", Client::AnyError),
        ("retry on connection words", Client::ConnectionWords),
        ("Retort", Client::Retort),
    ]
    .map(|(name, client)| {
        let tally = Tally::of(client, OPERATIONS, 20, BUDGET, SEED);
        println!("{name:<25} {tally}");
        tally
    });
    let [any_error, connection_words, retort] = tallies;
    assert_laws(&retort);
    for thumb in [any_error, connection_words] {
        assert!(thumb.duplicates > 0 && thumb.lost > 0, "the weather is bad enough to tell them apart");
    }
}

/// Attempts made while the database is gone for everybody, and the retry tokens left.
fn outage(condition: &str, phase: Phase, operations: u32, mut tokens: Option<u32>) -> (u32, Option<u32>) {
    let error = format!(r#"{{"condition": "{condition}"}}"#);
    let mut attempts = 0;
    for seed in 0..operations {
        let mut report = Report { error: Json::read(&error).ok(), seed, ..Report::default() };
        (report.operation.effect, report.operation.phase) = (Effect::Read, phase);
        loop {
            attempts += 1;
            report.attempt.tokens = tokens;
            let verdict = retort::evaluate(&report);
            tokens = verdict.decision.tokens_left;
            if !verdict.envelope.retryable() {
                break;
            }
            report.attempt.number += 1;
        }
    }
    (attempts, tokens)
}

#[test]
fn under_a_full_outage_the_budget_keeps_retries_from_multiplying_the_load() {
    const OPERATIONS: u32 = 1_000;
    for (condition, phase, retries) in [
        ("CONNECTION_FAILED", Phase::Connect, 100),
        ("DB_UNAVAILABLE", Phase::Execute, 100),
        ("DB_TIMEOUT", Phase::Execute, 50),
    ] {
        let (with, left) = outage(condition, phase, OPERATIONS, Some(500));
        let (without, _) = outage(condition, phase, OPERATIONS, None);
        println!(
            "{condition:<18} {OPERATIONS} operations: {:.2} attempts each with the budget, {:.2} without",
            f64::from(with) / f64::from(OPERATIONS),
            f64::from(without) / f64::from(OPERATIONS),
        );
        assert_eq!((with, left), (OPERATIONS + retries, Some(0)), "{condition}: at most 1.1 attempts each");
        assert_eq!(without, 3 * OPERATIONS, "{condition}: every attempt is used without a budget");
    }
}

#[test]
fn replicas_that_share_the_budget_retry_as_little_as_one_process() {
    let mut tokens = Some(500);
    let mut attempts = 0;
    for _replica in 0..10 {
        let (more, left) = outage("CONNECTION_FAILED", Phase::Connect, 1_000, tokens);
        (attempts, tokens) = (attempts + more, left);
    }
    assert_eq!((attempts, tokens), (10_100, Some(0)));
}
