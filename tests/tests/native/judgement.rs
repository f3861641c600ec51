//! Every combination of what judging looks at, against the laws and against the independent reading.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use retort::codes::{Code, Proof};
use retort::decide::{Decision, decide};
use retort::judge::judge;
use retort::recognise::{Finding, Marks};
use retort::report::{Report, Token};
use retort::systems::System;
use retort::words::{
    Cancel, Category, Cleanup, Dedupe, Effect, Next, Origin, Outcome, Phase, Prior, Receipt, Replays,
    Transaction, Unit,
};
use retort_tests::reading::{self, Expected};

const EXECUTED: Marks = Marks { executed: true, ..PLAIN };
const ABORTS: Marks = Marks { aborts_commit: true, ..PLAIN };
const BOTH: Marks = Marks { executed: true, aborts_commit: true, ..PLAIN };
const RECALLED: Marks = Marks { recalled: true, ..PLAIN };
const PLAIN: Marks = Marks {
    aborts_commit: false,
    executed: false,
    keeps_transaction: false,
    client_timeout: false,
    connection_lost: false,
    recalled: false,
};

/// At least one condition of each kind for every proof. Concealed ones come first.
const CONDITIONS: &[(Proof, Code, Marks)] = &[
    (Proof::Rejected, Code::NotAuthorized, PLAIN),
    (Proof::Refused, Code::NotAuthorized, PLAIN),
    (Proof::Rejected, Code::NotFound, PLAIN),
    (Proof::Refused, Code::NotFound, PLAIN),
    (Proof::Rejected, Code::UnknownObject, PLAIN),
    (Proof::Nothing, Code::DatabaseError, PLAIN),
    (Proof::Nothing, Code::RateLimited, RECALLED),
    (Proof::NeverSent, Code::PoolBusy, PLAIN),
    (Proof::NeverSent, Code::CredentialsRejected, PLAIN),
    (Proof::Rejected, Code::InvalidQuery, PLAIN),
    (Proof::Rejected, Code::RateLimited, PLAIN),
    (Proof::Refused, Code::LockTimeout, PLAIN),
    (Proof::Refused, Code::Deadlock, ABORTS),
    (Proof::Refused, Code::SerializationFailure, BOTH),
    (Proof::Refused, Code::UniqueViolation, EXECUTED),
    (Proof::Refused, Code::FkViolation, BOTH),
    (Proof::Lost, Code::ConnectionLost, PLAIN),
    (Proof::Lost, Code::DbTimeout, Marks { client_timeout: true, ..PLAIN }),
    (Proof::Lost, Code::Cancelled, PLAIN),
    (Proof::Lost, Code::DataCorrupted, PLAIN),
    (Proof::Partial, Code::PartialOutcome, EXECUTED),
    (Proof::Partial, Code::RateLimited, PLAIN),
    (Proof::SaysNotCommitted, Code::CommitRolledBack, PLAIN),
    (Proof::SaysNotCommitted, Code::UniqueViolation, EXECUTED),
    (Proof::SaysCommitted, Code::AlreadyApplied, PLAIN),
    (Proof::SaysCommitted, Code::ResultLost, PLAIN),
    (Proof::SaysUnknown, Code::OutcomeUnknown, EXECUTED),
    (Proof::SaysUnknown, Code::ConnectionLost, PLAIN),
    (Proof::SaysUnknown, Code::InProgress, PLAIN),
];

/// How many of [`CONDITIONS`] are "not allowed" or "does not exist".
const CONCEALED: usize = 5;

fn findings(system: System) -> Vec<Finding> {
    let plain = CONDITIONS.iter().map(|(proof, code, marks)| Finding {
        code: *code,
        proof: *proof,
        marks: *marks,
        ..Finding::unrecognised(system)
    });
    let key = Finding {
        code: Code::UniqueViolation,
        proof: Proof::Refused,
        marks: EXECUTED,
        is_key_violation: true,
        ..Finding::unrecognised(system)
    };
    let hidden = [(Proof::NeverSent, Code::ConnectionFailed), (Proof::Refused, Code::Deadlock)].map(
        |(proof, code)| Finding { code, proof, has_hidden_attempts: true, ..Finding::unrecognised(system) },
    );
    plain.chain([key]).chain(hidden).collect()
}

/// Disagreements by what was expected and what came, with how often and one example.
#[derive(Default)]
struct Disagreements(BTreeMap<String, (u64, String)>);

impl Disagreements {
    fn note(&mut self, kind: String, example: impl FnOnce() -> String) {
        self.0.entry(kind).or_insert_with(|| (0, example())).0 += 1;
    }

    fn merge(&mut self, other: Disagreements) {
        for (kind, (count, example)) in other.0 {
            self.0.entry(kind).or_insert((0, example)).0 += count;
        }
    }

    fn assert_none(&self) {
        let mut text = String::new();
        for (kind, (count, example)) in &self.0 {
            let _ = writeln!(text, "{count:>10} × {kind}\n             {example}");
        }
        assert!(self.0.is_empty(), "{} kinds of disagreement:\n{text}", self.0.len());
    }
}

/// Judges every finding under one report, and checks what comes.
fn check(findings: &[Finding], report: &Report, found: &mut Disagreements) -> u64 {
    let mut concealed = None;
    for (index, finding) in findings.iter().enumerate() {
        let judgement = judge(finding, report);
        let decision = decide(&judgement, report);
        let expected = reading::read(finding, report);
        let came = Expected {
            code: decision.code,
            category: decision.category,
            outcome: if judgement.is_concealed { Outcome::NotCommitted } else { judgement.outcome },
            retryable: decision.retryable,
            phase_conflict: judgement.phase_conflict,
        };
        if expected != came {
            found.note(
                format!("expected {expected:?}\n           × came     {came:?} for {:?}", finding.proof),
                || describe(finding, report),
            );
        }
        for law in broken_laws(finding, report, judgement.outcome, &decision) {
            found.note(format!("{law}: {came:?}"), || describe(finding, report));
        }
        let is_concealed = index < CONCEALED
            && !report.context.authorized
            && (finding.code != Code::UnknownObject || report.operation.origin == Origin::Model);
        if is_concealed {
            let seen =
                (judgement.outcome, decision.code, decision.category, decision.action, decision.delay_ms);
            if *concealed.get_or_insert(seen) != seen {
                found.note(format!("law 5: {seen:?} is not {concealed:?}"), || describe(finding, report));
            }
        }
    }
    findings.len() as u64
}

/// The laws as far as one judgement and decision show them.
fn broken_laws<'a>(
    finding: &'a Finding,
    report: &'a Report,
    outcome: Outcome,
    decision: &'a Decision,
) -> impl Iterator<Item = &'static str> + 'a {
    let operation = &report.operation;
    let writes = operation.effect != Effect::Read;
    let enforced = operation.dedupe == Dedupe::Enforced
        && operation.operation_key.is_some()
        && operation.key_expires_ms != Some(0);
    let repeatable = operation.effect != Effect::Write || enforced;
    let fenced = operation.receipt == Receipt::Absent && operation.fenced;
    let unknown = outcome == Outcome::Unknown;
    [
        ("law 3: unsafe retry", !decision.retryable || outcome.is_without_effect() || repeatable),
        (
            "law 3: a delay without a retry or a look-up",
            decision.delay_ms.is_none() || decision.retryable || decision.action == Next::Reconcile,
        ),
        (
            "law 3: unknown and not retryable",
            !unknown || decision.retryable || decision.category == Category::UnknownOutcome,
        ),
        (
            "law 4: an unrecognised error is retryable",
            !(finding.proof == Proof::Nothing && decision.retryable),
        ),
        (
            "law 8: a commit is forgotten",
            !(writes && report.attempt.prior == Prior::Committed) || outcome == Outcome::Committed,
        ),
        (
            "law 8: a doubt is forgotten",
            !(writes && report.attempt.prior == Prior::Unknown && outcome.is_without_effect())
                || fenced
                || enforced,
        ),
        (
            "a receipt is forgotten",
            !(writes && operation.receipt == Receipt::Committed) || outcome == Outcome::Committed,
        ),
        ("a read has an effect", writes || outcome.is_without_effect()),
        (
            "only an explicit no lowers COMMIT",
            !(writes
                && operation.phase == Phase::Commit
                && outcome.is_without_effect()
                && !finding.marks.aborts_commit
                && finding.proof != Proof::SaysNotCommitted)
                || fenced
                || decision.code == Code::NotAuthorized,
        ),
        (
            "an open transaction is left behind",
            !matches!(operation.transaction, Transaction::Open | Transaction::Failed)
                || decision.cleanup != Cleanup::None,
        ),
        ("done without a commit", (decision.action == Next::Done) == (outcome == Outcome::Committed)),
    ]
    .into_iter()
    .filter_map(|(law, holds)| (!holds).then_some(law))
}

fn describe(finding: &Finding, report: &Report) -> String {
    let operation = &report.operation;
    format!(
        "{:?} {:?} {:?} aborts {} executed {} key {} hidden {} | {:?} {:?} {:?} {:?} steps {} replays {:?} | cancel {:?} receipt {:?} \
         fenced {} dedupe {:?} expires {:?} prior {:?} origin {:?} authorized {} attempt {}",
        finding.system,
        finding.proof,
        finding.code,
        finding.marks.aborts_commit,
        finding.marks.executed,
        finding.is_key_violation,
        finding.has_hidden_attempts,
        operation.effect,
        operation.phase,
        operation.transaction,
        operation.unit,
        operation.steps_done,
        operation.replays,
        report.cancel,
        operation.receipt,
        operation.fenced,
        operation.dedupe,
        operation.key_expires_ms,
        report.attempt.prior,
        operation.origin,
        report.context.authorized,
        report.attempt.number,
    )
}

fn report_with_key() -> Report<'static> {
    let mut report = Report::default();
    report.operation.operation_key = Token::key("order-4711");
    report.context.trace_id = Token::identifier("0af7651916cd43dd8448eb211c80319c");
    report
}

/// Receipts with and without the fence that makes an absent one count.
fn receipts() -> impl Iterator<Item = (Receipt, bool)> {
    Receipt::ALL
        .iter()
        .map(|receipt| (*receipt, false))
        .chain([(Receipt::Absent, true), (Receipt::Expired, true)])
}

/// Keys that expire and keys that have expired.
const KEYS: &[(Dedupe, Option<u32>)] = &[
    (Dedupe::None, None),
    (Dedupe::Receipt, None),
    (Dedupe::Enforced, None),
    (Dedupe::Enforced, Some(3_600_000)),
    (Dedupe::Enforced, Some(0)),
];

/// Runs `each` for every effect and phase, on as many threads as there are effects.
fn for_every_effect(each: impl Fn(&mut Report<'static>, &mut Disagreements) -> u64 + Sync) {
    let mut found = Disagreements::default();
    let mut cases = 0;
    std::thread::scope(|scope| {
        let each = &each;
        let threads: Vec<_> = Effect::ALL
            .iter()
            .map(|effect| {
                scope.spawn(move || {
                    let (mut found, mut report, mut cases) = (Disagreements::default(), report_with_key(), 0);
                    report.operation.effect = *effect;
                    for phase in Phase::ALL {
                        report.operation.phase = *phase;
                        cases += each(&mut report, &mut found);
                    }
                    (cases, found)
                })
            })
            .collect();
        for thread in threads {
            let (more, others) = thread.join().expect("a judging thread does not panic");
            cases += more;
            found.merge(others);
        }
    });
    println!("{cases} cases judged");
    found.assert_none();
}

#[test]
fn every_combination_of_words_is_judged_as_the_contract_reads() {
    let findings = findings(System::Postgresql);
    for_every_effect(|report, found| {
        let mut cases = 0;
        for transaction in Transaction::ALL {
            report.operation.transaction = *transaction;
            for unit in Unit::ALL {
                report.operation.unit = *unit;
                for cancel in Cancel::ALL {
                    report.cancel = *cancel;
                    for (receipt, fenced) in receipts() {
                        (report.operation.receipt, report.operation.fenced) = (receipt, fenced);
                        for (dedupe, expires) in KEYS {
                            (report.operation.dedupe, report.operation.key_expires_ms) = (*dedupe, *expires);
                            for prior in Prior::ALL {
                                report.attempt.prior = *prior;
                                for origin in Origin::ALL {
                                    report.operation.origin = *origin;
                                    for authorized in [false, true] {
                                        report.context.authorized = authorized;
                                        cases += check(&findings, report, found);
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        cases
    });
}

#[test]
fn every_kind_of_system_is_judged_by_what_it_can_undo() {
    let mut profiles = Vec::new();
    let systems: Vec<_> = System::ALL
        .iter()
        .filter(|system| {
            let profile = system.profile();
            let shape = (
                profile.atomicity,
                profile.ddl_commits,
                profile.procedure_commits,
                profile.commit_is_atomic,
                profile.has_transactions,
            );
            let is_new = !profiles.contains(&shape);
            profiles.push(shape);
            is_new
        })
        .map(|system| findings(*system))
        .collect();
    assert!(systems.len() >= 6, "the systems differ in at least six ways");
    for_every_effect(|report, found| {
        let mut cases = 0;
        for findings in &systems {
            for transaction in Transaction::ALL {
                report.operation.transaction = *transaction;
                for unit in Unit::ALL {
                    report.operation.unit = *unit;
                    for steps_done in [0, 2] {
                        report.operation.steps_done = steps_done;
                        for replays in Replays::ALL {
                            report.operation.replays = *replays;
                            for prior in [Prior::None, Prior::Unknown] {
                                report.attempt.prior = prior;
                                for number in [1, 3] {
                                    report.attempt.number = number;
                                    for (dedupe, expires) in KEYS {
                                        (report.operation.dedupe, report.operation.key_expires_ms) =
                                            (*dedupe, *expires);
                                        cases += check(findings, report, found);
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        cases
    });
}
