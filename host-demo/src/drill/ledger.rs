//! Writes through faults by clients that hold to a policy, and the database's own word on what became of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::time::timeout;

use super::Target;
use super::faults::{At, Fault};
use super::line::Line;
use super::place::Place;
use crate::Contract;

/// The most attempts of one write.
const MOST_ATTEMPTS: u32 = 6;
/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_millis(400);

/// How long the others are awaited where attempts are to meet.
const MEETING: Duration = Duration::from_secs(10);

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

impl Claimed {
    /// What an envelope says.
    pub fn of(envelope: &Value) -> Claimed {
        match envelope["outcome"].as_str() {
            Some("committed") => Claimed::Committed,
            Some("not_started" | "not_committed") => Claimed::NotCommitted,
            _ => Claimed::Unknown,
        }
    }

    /// Could a write of which this is said have taken effect so often?
    pub fn allows(self, applied: u64) -> bool {
        match self {
            Claimed::Committed => applied > 0,
            Claimed::NotCommitted => applied == 0,
            Claimed::Unknown => true,
        }
    }

    /// The same, and not twice.
    pub fn agrees(self, applied: u64) -> bool {
        self.allows(applied) && applied <= 1
    }
}

/// Counts over many writes.
#[derive(Clone, Debug, Default, Serialize)]
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
    /// How often each public code was met.
    pub codes: BTreeMap<String, u64>,
}

impl Totals {
    /// Counts an envelope's code.
    pub fn meet(&mut self, envelope: &Value) {
        *self.codes.entry(envelope["code"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }

    /// Adds a write's claim, compared with how often it really took effect.
    pub fn compare(&mut self, claimed: Claimed, applied: u64) {
        self.applied_twice += u64::from(applied > 1);
        self.unknown += u64::from(claimed == Claimed::Unknown);
        self.false_claims += u64::from(!claimed.allows(applied));
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
        for (code, count) in &other.codes {
            *self.codes.entry(code.clone()).or_default() += count;
        }
    }
}

/// The statements of a write.
pub struct Script {
    /// In their order.
    pub steps: Vec<Step>,
    /// What is in the message that can have an effect.
    pub mark: &'static str,
    /// `operation.unit` of the report.
    pub unit: &'static str,
    /// The key under which the server itself does it once.
    pub key: Option<String>,
}

/// A statement, and what a report says of it.
pub struct Step {
    sql: String,
    phase: &'static str,
    transaction: &'static str,
    on_error: OnError,
    meets: bool,
}

/// What the calling code makes of a step's error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum OnError {
    /// The write has failed.
    Fails,
    /// Nothing, as much code does.
    PassesOver,
    /// It takes it for the sign that COMMIT would roll back without saying so. A careless host does not look.
    RollsBack,
}

impl Step {
    /// A statement in autocommit.
    pub fn alone(sql: String) -> Step {
        Step { sql, phase: "execute", transaction: "none", on_error: OnError::Fails, meets: false }
    }

    /// A statement of a transaction.
    pub fn within(sql: impl Into<String>) -> Step {
        Step { transaction: "open", ..Step::alone(sql.into()) }
    }

    /// COMMIT.
    pub fn commit() -> Step {
        Step { phase: "commit", transaction: "committing", ..Step::alone(String::from("COMMIT")) }
    }

    /// The same, yet begun only when the other clients have got to theirs.
    pub fn meeting(self) -> Step {
        Step { meets: true, ..self }
    }
}

impl Script {
    /// A transaction.
    pub fn transaction(steps: Vec<Step>) -> Script {
        Script { steps, mark: "COMMIT", unit: "statement", key: None }
    }

    /// One statement.
    pub fn alone(step: Step, mark: &'static str, unit: &'static str) -> Script {
        Script { steps: vec![step], mark, unit, key: None }
    }
}

impl Arm {
    /// The statements of the write `id`.
    pub fn script(self, id: u64) -> Script {
        let one = format!("UPDATE ledger SET balance = balance + 1 WHERE id = {id}");
        let begin = || Step::within("BEGIN");
        match self {
            Arm::Autocommit => Script::alone(Step::alone(one), "balance", "statement"),
            Arm::SeveralRows => {
                let all = format!(
                    "UPDATE ledger SET balance = balance + 1 WHERE id BETWEEN {id} AND {}",
                    id + WIDTH - 1
                );
                Script::alone(Step::alone(all), "balance", "many")
            }
            Arm::Transaction => Script::transaction(vec![begin(), Step::within(one), Step::commit()]),
            Arm::FailedCommit => {
                let mistake = Step::within("SELECT no_such_column FROM ledger");
                let look = Step { phase: "commit", transaction: "failed", ..Step::within("SELECT 1") };
                Script::transaction(vec![
                    begin(),
                    Step::within(one),
                    Step { on_error: OnError::PassesOver, ..mistake },
                    Step { on_error: OnError::RollsBack, ..look },
                    Step::commit(),
                ])
            }
        }
    }
}

/// Rows that belong to a write; only [`Arm::SeveralRows`] changes more than the first.
pub const WIDTH: u64 = 3;

/// A client without keys.
pub struct Client {
    contract: Arc<dyn Contract>,
    place: Arc<Place>,
    policy: Policy,
    /// What breaks by chance; `None` where nothing does.
    storm: Option<Rng>,
    seeds: Rng,
    /// Where attempts meet; only the first does.
    meeting: Option<Arc<Barrier>>,
    /// How long it waits for an answer.
    patience: Duration,
    line: Option<Box<dyn Line>>,
}

/// What one attempt came to.
struct Attempted {
    error: Value,
    phase: &'static str,
    transaction: &'static str,
}

impl Client {
    /// A client that has not connected yet.
    pub fn new(contract: Arc<dyn Contract>, place: Arc<Place>, policy: Policy, storm: Option<Rng>) -> Client {
        let seeds = storm.clone().unwrap_or_else(|| Rng::with_seed(0));
        let patience = PATIENCE + place.slack();
        Client { contract, place, policy, storm, seeds, meeting: None, patience, line: None }
    }

    /// The same, whose first attempt meets others.
    pub fn meeting(self, meeting: Arc<Barrier>) -> Client {
        Client { meeting: Some(meeting), ..self }
    }

    /// The same, which waits so long for an answer.
    pub fn waiting(self, patience: Duration) -> Client {
        Client { patience, ..self }
    }

    /// Makes a write, and says what it believes became of it.
    pub async fn write(&mut self, script: &Script, totals: &mut Totals) -> Claimed {
        totals.writes += 1;
        let mut prior = String::from("none");
        for number in 1..=MOST_ATTEMPTS {
            totals.attempts += 1;
            match &mut self.storm {
                Some(dice) => self.place.faults.arm(script.mark, plan(script.mark, dice)),
                None => self.place.faults.watch(script.mark),
            }
            let Err(attempted) = self.attempt(script).await else {
                totals.resolved += u64::from(prior == "unknown");
                return Claimed::Committed;
            };
            if self.policy != Policy::Envelope {
                self.line = None;
                if self.policy == Policy::Words && !sounds_like_the_connection(&attempted.error) {
                    return Claimed::NotCommitted;
                }
                continue;
            }
            let verdict = self.judge(script, &attempted, number, &prior);
            self.clean(verdict["decision"]["cleanup"].as_str().unwrap_or_default()).await;
            let envelope = &verdict["envelope"];
            totals.meet(envelope);
            let outcome = envelope["outcome"].as_str().unwrap_or("unknown");
            if outcome == "unknown" && prior != "unknown" && !self.place.faults.left_client() {
                totals.needless_unknown += 1;
            }
            if envelope["retryable"] != true {
                return Claimed::of(envelope);
            }
            prior = outcome.to_owned();
            tokio::time::sleep(Duration::from_millis(envelope["retry_after_ms"].as_u64().unwrap_or(1))).await;
        }
        // Out of attempts: the other policies only know that the last one failed.
        Claimed::NotCommitted
    }

    async fn attempt(&mut self, script: &Script) -> Result<(), Attempted> {
        if self.line.is_none() {
            let line = self.place.lines().connect(self.patience).await;
            self.line =
                Some(line.map_err(|error| Attempted { error, phase: "connect", transaction: "none" })?);
        }
        let Some(line) = &mut self.line else { return Ok(()) };
        for Step { sql, phase, transaction, on_error, meets } in &script.steps {
            if *meets && let Some(meeting) = self.meeting.take() {
                let _ = timeout(MEETING, meeting.wait()).await;
            }
            if *on_error == OnError::RollsBack && self.policy != Policy::Envelope {
                continue;
            }
            let Err(error) = line.run(sql).await else { continue };
            let error = match on_error {
                OnError::Fails => error,
                OnError::PassesOver => continue,
                OnError::RollsBack => json!({ "condition": "COMMIT_ROLLED_BACK" }),
            };
            return Err(Attempted { error, phase, transaction });
        }
        Ok(())
    }

    fn judge(&mut self, script: &Script, attempted: &Attempted, number: u32, prior: &str) -> Value {
        let report = json!({
            "error": attempted.error,
            "system": self.place.target.system(),
            "operation": {
                "effect": "write", "phase": attempted.phase, "transaction": attempted.transaction, "unit": script.unit,
                "operation_key": script.key, "dedupe": script.key.as_ref().map(|_| "enforced"),
            },
            "attempt": { "number": number, "max": MOST_ATTEMPTS, "prior": prior },
            "context": { "authorized": true },
            "policy": { "base_ms": 2, "cap_ms": 20 },
            "seed": self.seeds.u32(..),
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

/// Lays the ledger out, for so many writes.
pub async fn lay_out(place: &Place, writes: u64) -> Result<(), super::Error> {
    if place.target == Target::Sqlite {
        place.execute("PRAGMA journal_mode = WAL").await?;
    }
    place.execute("CREATE TABLE ledger (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)").await?;
    let rows: Vec<String> = (0..writes * WIDTH).map(|id| format!("({id}, 0)")).collect();
    for some in rows.chunks(1_000) {
        place.execute(&format!("INSERT INTO ledger VALUES {}", some.join(","))).await?;
    }
    Ok(())
}

/// Breaks six attempts of ten: mostly at the message that can have an effect, else at another one.
fn plan(mark: &'static str, dice: &mut Rng) -> Option<(At, Fault)> {
    if dice.u32(..10) < 4 {
        return None;
    }
    let at = match dice.u32(..4) {
        0 => At::Message(dice.u32(..3)),
        1 => At::Text("balance"),
        _ => At::Text(mark),
    };
    // A black hole costs the client its whole patience: one in ten is enough.
    let fault = if dice.u32(..10) == 0 { Fault::BlackHole } else { Fault::CUTS[dice.usize(..3)] };
    Some((at, fault))
}

fn sounds_like_the_connection(error: &Value) -> bool {
    const WORDS: &[&str] =
        &["connection", "reset", "broken pipe", "timeout", "timed out", "closed", "eof", "network"];
    let text = error.to_string().to_ascii_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}
