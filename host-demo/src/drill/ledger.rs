//! Writes through faults by clients that hold to a policy, and the database's own word on what became of them.

use std::time::Duration;

use fastrand::Rng;
use serde::Serialize;
use serde_json::{Value, json};

use super::faults::{At, Fault, Faults};
use super::line::{Failed, Line, Lines};
use crate::Contract;

/// The most attempts of one write.
const MOST_ATTEMPTS: u32 = 6;

/// How a write is made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Arm {
    /// `balance = balance + 1` in autocommit, without any key.
    Autocommit,
    /// The same in an explicit transaction.
    Transaction,
    /// One statement over several rows, in autocommit.
    SeveralRows,
    /// A transaction that failed before its COMMIT, by a host that looks before it commits.
    FailedCommit,
}

/// What a client does with an error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Policy {
    /// What the envelope says.
    Envelope,
    /// Repeats on any error.
    AnyError,
    /// Repeats where the message has a word that sounds like the connection.
    Words,
}

/// What a client says of a write in the end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Claimed {
    /// It took effect.
    Committed,
    /// It did not.
    NotCommitted,
    /// It does not know.
    Unknown,
}

/// Counts over many writes.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Totals {
    /// Writes.
    pub writes: u64,
    /// Attempts.
    pub attempts: u64,
    /// Writes that took effect more than once.
    pub applied_twice: u64,
    /// Claims that the database contradicts.
    pub false_claims: u64,
    /// Writes whose outcome stayed unknown.
    pub unknown: u64,
    /// Writes that were unknown for a time and were then resolved.
    pub resolved: u64,
    /// Verdicts of unknown although the client had never sent what could have had an effect.
    pub needless_unknown: u64,
}

impl Totals {
    /// Adds a write's claim, compared with how often it really took effect.
    pub fn compare(&mut self, claimed: Claimed, applied: u64) {
        self.applied_twice += u64::from(applied > 1);
        self.unknown += u64::from(claimed == Claimed::Unknown);
        let contradicts = match claimed {
            Claimed::Committed => applied == 0,
            Claimed::NotCommitted => applied > 0,
            Claimed::Unknown => false,
        };
        self.false_claims += u64::from(contradicts);
    }

    /// The sum of two counts.
    pub fn add(&mut self, other: &Totals) {
        self.writes += other.writes;
        self.attempts += other.attempts;
        self.applied_twice += other.applied_twice;
        self.false_claims += other.false_claims;
        self.unknown += other.unknown;
        self.resolved += other.resolved;
        self.needless_unknown += other.needless_unknown;
    }
}

/// A client without keys.
pub struct Client<'a> {
    /// Who judges, where the policy asks.
    pub contract: &'a dyn Contract,
    /// OpenTelemetry's name of the system.
    pub system: &'static str,
    /// Where it writes.
    pub lines: Lines,
    /// What breaks.
    pub faults: Faults,
    /// What it does with an error.
    pub policy: Policy,
    line: Option<Box<dyn Line>>,
}

/// What one attempt came to.
struct Attempted {
    failed: Failed,
    phase: &'static str,
    transaction: &'static str,
}

impl<'a> Client<'a> {
    /// A client that has not connected yet.
    pub fn new(
        contract: &'a dyn Contract,
        system: &'static str,
        lines: Lines,
        faults: Faults,
        policy: Policy,
    ) -> Client<'a> {
        Client { contract, system, lines, faults, policy, line: None }
    }

    /// Makes the write `id`, and says what it believes became of it.
    pub async fn write(&mut self, arm: Arm, id: u64, dice: &mut Rng, totals: &mut Totals) -> Claimed {
        totals.writes += 1;
        let mut prior = String::from("none");
        for number in 1..=MOST_ATTEMPTS {
            totals.attempts += 1;
            self.faults.arm(arm.mark(), plan(arm, dice));
            let Err(attempted) = self.attempt(arm, id).await else { return Claimed::Committed };
            if self.policy != Policy::Envelope {
                self.line = None;
                if self.policy == Policy::Words && !sounds_like_the_connection(&attempted.failed.error) {
                    return Claimed::NotCommitted;
                }
                continue;
            }
            let verdict = self.judge(arm, &attempted, number, &prior, dice);
            self.clean(verdict["decision"]["cleanup"].as_str().unwrap_or_default()).await;
            let envelope = &verdict["envelope"];
            let outcome = envelope["outcome"].as_str().unwrap_or("unknown");
            if outcome == "unknown" && prior != "unknown" && !self.faults.left_client() {
                totals.needless_unknown += 1;
            }
            if envelope["retryable"] != true {
                return match outcome {
                    "unknown" => Claimed::Unknown,
                    "committed" => Claimed::Committed,
                    _ => Claimed::NotCommitted,
                };
            }
            prior = outcome.to_owned();
            tokio::time::sleep(Duration::from_millis(envelope["retry_after_ms"].as_u64().unwrap_or(1))).await;
        }
        // Out of attempts: the other policies only know that the last one failed.
        Claimed::NotCommitted
    }

    async fn attempt(&mut self, arm: Arm, id: u64) -> Result<(), Attempted> {
        if self.line.is_none() {
            let line = self.lines.connect().await;
            self.line =
                Some(line.map_err(|failed| Attempted { failed, phase: "connect", transaction: "none" })?);
        }
        let Some(line) = &mut self.line else { return Ok(()) };
        let sets_one = format!("UPDATE ledger SET balance = balance + 1 WHERE id = {id}");
        let sets_three =
            format!("UPDATE ledger SET balance = balance + 1 WHERE id BETWEEN {id} AND {}", id + 2);
        let (sets_one, sets_three) = (sets_one.as_str(), sets_three.as_str());
        let steps: Vec<(&str, &'static str, &'static str)> = match arm {
            Arm::Autocommit => vec![(sets_one, "execute", "none")],
            Arm::SeveralRows => vec![(sets_three, "execute", "none")],
            Arm::Transaction => {
                vec![
                    ("BEGIN", "execute", "open"),
                    (sets_one, "execute", "open"),
                    ("COMMIT", "commit", "committing"),
                ]
            }
            Arm::FailedCommit => vec![("BEGIN", "execute", "open"), (sets_one, "execute", "open")],
        };
        for (sql, phase, transaction) in steps {
            line.run(sql).await.map_err(|failed| Attempted { failed, phase, transaction })?;
        }
        if arm == Arm::FailedCommit {
            // The caller's code passes over this error, as much code does; a COMMIT would say ROLLBACK and no error.
            let _ = line.run("SELECT no_such_column FROM ledger").await;
            return match line.run("SELECT 1").await {
                Ok(()) => line.run("COMMIT").await,
                Err(_) => Err(Failed { error: json!({ "condition": "COMMIT_ROLLED_BACK" }), cancel: "none" }),
            }
            .map_err(|failed| Attempted { failed, phase: "commit", transaction: "failed" });
        }
        Ok(())
    }

    fn judge(&self, arm: Arm, attempted: &Attempted, number: u32, prior: &str, dice: &mut Rng) -> Value {
        let report = json!({
            "error": attempted.failed.error,
            "system": self.system,
            "operation": {
                "effect": "write", "phase": attempted.phase, "transaction": attempted.transaction,
                "unit": if arm == Arm::SeveralRows { "many" } else { "statement" },
            },
            "attempt": { "number": number, "max": MOST_ATTEMPTS, "prior": prior },
            "cancel": attempted.failed.cancel,
            "context": { "authorized": true },
            "policy": { "base_ms": 2, "cap_ms": 20 },
            "seed": dice.u32(..),
        });
        serde_json::from_str(&self.contract.evaluate(&report.to_string())).unwrap_or_default()
    }

    async fn clean(&mut self, cleanup: &str) {
        let is_kept = match (&mut self.line, cleanup) {
            (Some(_), "none") => true,
            (Some(line), "rollback") => line.run("ROLLBACK").await.is_ok(),
            _ => false,
        };
        if !is_kept {
            self.line = None;
        }
    }
}

impl Arm {
    /// What is in the message that can have an effect.
    pub fn mark(self) -> &'static str {
        match self {
            Arm::Autocommit | Arm::SeveralRows => "balance",
            Arm::Transaction | Arm::FailedCommit => "COMMIT",
        }
    }
}

/// Breaks six attempts of ten: mostly at the message that can have an effect, else at another one.
fn plan(arm: Arm, dice: &mut Rng) -> Option<(At, Fault)> {
    if dice.u32(..10) < 4 {
        return None;
    }
    let at = match dice.u32(..4) {
        0 => At::Message(dice.u32(..3)),
        1 => At::Text("balance"),
        _ => At::Text(arm.mark()),
    };
    // A black hole costs the client its whole patience: one in ten is enough.
    let fault = if dice.u32(..10) == 0 { Fault::BlackHole } else { Fault::ALL[dice.u32(..3) as usize] };
    Some((at, fault))
}

fn sounds_like_the_connection(error: &Value) -> bool {
    const WORDS: &[&str] =
        &["connection", "reset", "broken pipe", "timeout", "timed out", "closed", "eof", "network"];
    let text = error.to_string().to_ascii_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}
