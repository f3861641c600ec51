//! The eight failures of the contract, each many times, through a real MCP client.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use super::faults::{At, Fault};
use super::keyed::{self, Obedient};
use super::ledger::{Claimed, Totals};
use super::place::Place;
use super::session::{self, Answer, Session};
use super::{Error, Target};
use crate::Contract;
use crate::serve::{Host, Role};

/// How often each failure is made.
const TIMES: u32 = 10;
/// Orders of the cancelled calls begin here.
const CANCELLED: u64 = 500;
/// How long the moment of a cancel, or a connection, is waited for.
const MOMENT: Duration = Duration::from_secs(5);

/// What became of one failure.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Which.
    pub name: &'static str,
    /// Checks made.
    pub checks: u64,
    /// Checks that did not hold.
    pub wrong: u64,
    /// The first that did not, for whoever mends it.
    pub first_wrong: Option<String>,
    /// Why it could not be made here.
    pub skipped: Option<String>,
    /// How often each public code was met, where that is counted.
    pub codes: BTreeMap<String, u64>,
}

impl Outcome {
    /// Nothing checked yet.
    pub fn new(name: &'static str) -> Outcome {
        Outcome { name, checks: 0, wrong: 0, first_wrong: None, skipped: None, codes: BTreeMap::new() }
    }

    /// Counts an envelope's code.
    pub fn count(&mut self, envelope: &Value) {
        *self.codes.entry(envelope["code"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }

    /// Takes over the codes that writers met.
    pub fn meet(&mut self, totals: &Totals) {
        for (code, count) in &totals.codes {
            *self.codes.entry(code.clone()).or_default() += count;
        }
    }

    /// Counts a check.
    pub fn check(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        self.checks += 1;
        if !holds {
            self.wrong += 1;
            self.first_wrong.get_or_insert_with(otherwise);
        }
    }
}

/// What all parts share.
struct Drill<'a> {
    place: &'a Place,
    host: Arc<Host>,
    writer: Session,
    envelopes: Vec<Value>,
    keys: u32,
}

/// Makes them all.
pub async fn run(contract: Arc<dyn Contract>, place: &Place) -> Result<Vec<Outcome>, Error> {
    let host = session::host(contract, place, Duration::from_secs(2)).await?;
    let writer = Session::open(&host, Role::Writer).await?;
    let mut drill = Drill { place, host, writer, envelopes: Vec::new(), keys: 0 };
    let mut outcomes = vec![
        drill.arguments().await?,
        drill.authorization().await?,
        drill.timeouts().await?,
        drill.cancels().await?,
        drill.broken_contract().await?,
        drill.dropped().await?,
    ];
    outcomes.push(drill.leaks());
    outcomes.push(drill.diagnostics());
    Ok(outcomes)
}

impl Drill<'_> {
    async fn fails(&mut self, tool: &'static str, arguments: Value) -> Result<Value, Error> {
        match self.writer.call(tool, arguments).await? {
            Answer::Failure(envelope) => {
                self.envelopes.push(envelope.clone());
                Ok(envelope)
            }
            Answer::Success(value) => Ok(json!({ "code": "", "success": value })),
        }
    }

    /// The failure of a call that gets as far as the database: a pool that is busy with what broke before is waited for.
    async fn fails_there(&mut self, tool: &'static str, arguments: &Value) -> Result<Value, Error> {
        let ends = Instant::now() + MOMENT;
        loop {
            let envelope = self.fails(tool, arguments.clone()).await?;
            if envelope["code"] != "POOL_BUSY" || Instant::now() > ends {
                return Ok(envelope);
            }
            let pause = envelope["retry_after_ms"].as_u64().unwrap_or_default();
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    }

    fn change(&mut self) -> Value {
        self.keys += 1;
        json!({ "operation_key": format!("drill-{}", self.keys), "order_id": 1, "status": "shipped" })
    }

    async fn arguments(&mut self) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new("invalid arguments");
        let cases = [
            ("report", json!({ "limit": "canary-9917" }), "INVALID_ARGUMENT"),
            ("report", json!({ "limit": 0 }), "OUT_OF_RANGE"),
            ("report", json!({ "limit": 101 }), "OUT_OF_RANGE"),
            ("report", json!({ "status": "canary-9917" }), "UNSUPPORTED_VALUE"),
            ("report", json!({ "canary-9917": 1 }), "INVALID_ARGUMENT"),
            ("query", json!({}), "MISSING_ARGUMENT"),
            ("update_status", json!({ "order_id": 1, "status": "open" }), "MISSING_ARGUMENT"),
            ("update_status", json!({ "operation_key": "", "order_id": 1, "status": "open" }), "INVALID_KEY"),
        ];
        for (tool, arguments, code) in std::iter::repeat_n(cases, TIMES as usize).flatten() {
            let envelope = self.fails(tool, arguments).await?;
            let holds = envelope["code"] == code
                && matches!(envelope["outcome"].as_str(), Some("not_started" | "not_committed"));
            outcome.check(holds, || format!("{code} was expected: {envelope}"));
        }
        Ok(outcome)
    }

    async fn authorization(&mut self) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new("authorization removed");
        let suspended = Session::open(&self.host, Role::Suspended).await?;
        let mut first: Option<Value> = None;
        for number in 0..TIMES {
            let calls = [
                ("report", json!({ "limit": 5 })),
                ("query", json!({ "sql": format!("SELECT {number} FROM nowhere") })),
            ];
            for (tool, arguments) in calls {
                let Answer::Failure(mut envelope) = suspended.call(tool, arguments).await? else {
                    outcome.check(false, || format!("{tool} was allowed"));
                    continue;
                };
                self.envelopes.push(envelope.clone());
                envelope["trace_id"].take();
                outcome.check(envelope["code"] == "NOT_AUTHORIZED", || format!("{envelope}"));
                let first = first.get_or_insert_with(|| envelope.clone());
                outcome.check(*first == envelope, || format!("a hint: {first} and {envelope}"));
            }
        }
        Ok(outcome)
    }

    async fn timeouts(&mut self) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new("pool, statement and client timeouts");
        let mut held = Vec::new();
        while let Ok(session) = self.host.store.acquire().await {
            held.push(session);
        }
        for _ in 0..TIMES {
            let change = self.change();
            let envelope = self.fails("update_status", change).await?;
            let holds = envelope["code"] == "POOL_BUSY"
                && envelope["outcome"] == "not_started"
                && envelope["retryable"] == true;
            outcome.check(holds, || format!("POOL_BUSY was expected: {envelope}"));
        }
        for session in held {
            session.clean("none").await;
        }
        if let Some(slow) = self.slow_query() {
            for _ in 0..3 {
                let envelope = self.fails_there("query", &json!({ "sql": slow })).await?;
                let holds = envelope["code"] == "DB_TIMEOUT" && envelope["outcome"] == "not_committed";
                outcome.check(holds, || format!("a statement timeout was expected: {envelope}"));
            }
        }
        if self.is_served() {
            for _ in 0..3 {
                self.place.faults.arm("COMMIT", Some((At::Text("COMMIT"), Fault::BlackHole)));
                let change = self.change();
                let key = change["operation_key"].clone();
                let envelope = self.fails_there("update_status", &change).await?;
                let holds = envelope["outcome"] == "unknown"
                    && envelope["operation_key"] == key
                    && envelope["retryable"] == false;
                outcome.check(holds, || format!("an unknown outcome was expected: {envelope}"));
            }
        }
        Ok(outcome)
    }

    /// A statement of the model's that runs too long; `None` where the server takes none, or no role may be made for it.
    fn slow_query(&self) -> Option<&'static str> {
        match self.place.target {
            Target::Sqlite => Some(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) AS most FROM n",
            ),
            Target::Postgres if self.place.is_given() => None,
            Target::Postgres => Some("SELECT pg_sleep(30)::text AS slept"),
            Target::Mariadb | Target::Mysql | Target::Mongreldb => None,
        }
    }

    /// Cancels a call before, during and after its execution, asks for the receipt, makes the call again, and compares
    /// what came of it with the database.
    async fn cancels(&mut self) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new("cancel before, during and after");
        let times = u64::from(TIMES) * 3;
        keyed::add_orders(self.place, CANCELLED, times).await?;
        let mut claims = Vec::new();
        for number in 0..times {
            let key = format!("cancelled-{number}");
            let change = json!({ "operation_key": key, "order_id": CANCELLED + number, "status": "shipped" });
            let faults = self.place.faults.clone();
            let statement = match number % 3 {
                0 => None,
                // The tenant is a value of the change itself, in a statement that was prepared earlier.
                1 => Some(At::Text("north")),
                _ => Some(At::Text("COMMIT")),
            };
            // Without a server between, a call is over as soon as it has begun.
            faults.arm("COMMIT", statement.map(|at| (at, Fault::BlackHole)).filter(|_| self.is_served()));
            let moment = async {
                let ends = Instant::now() + MOMENT;
                while faults.is_planned() && Instant::now() < ends {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            self.writer.cancel("update_status", change.clone(), moment).await?;
            faults.plan(None);
            let mut client = Obedient { session: &self.writer, place: self.place, storm: None };
            let settled = client.reconcile(&change["operation_key"]).await?;
            outcome.check(settled != Claimed::Unknown, || String::from("an open outcome after a fence"));
            let claimed = client.write(change, &mut Totals::default()).await?;
            let holds = claimed == Claimed::Committed || settled == Claimed::NotCommitted;
            outcome.check(holds, || format!("first {settled:?}, then {claimed:?}"));
            claims.push((number, claimed));
        }
        let applied = keyed::changes(self.place, CANCELLED).await?;
        for (number, claimed) in claims {
            let times = applied.get(&number).copied().unwrap_or_default();
            outcome.check(claimed.agrees(times), || format!("{claimed:?}, and applied {times} times"));
        }
        Ok(outcome)
    }

    fn is_served(&self) -> bool {
        self.place.target != Target::Sqlite
    }

    async fn broken_contract(&mut self) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new("a broken view and a changed column");
        let intact = "CREATE VIEW report_v1 AS SELECT id, tenant, status, cents FROM orders";
        let renamed = "CREATE VIEW report_v1 AS SELECT id, tenant, status, cents AS amount FROM orders";
        for broken in [None, Some(renamed)] {
            self.place.execute("DROP VIEW report_v1").await?;
            if let Some(view) = broken {
                self.place.execute(view).await?;
            }
            for _ in 0..TIMES {
                let envelope = self.fails_there("report", &json!({ "limit": 5 })).await?;
                let holds = envelope["code"] == "CONTRACT_BROKEN" && envelope["retryable"] == false;
                outcome.check(holds, || format!("CONTRACT_BROKEN was expected: {envelope}"));
            }
            if broken.is_some() {
                self.place.execute("DROP VIEW report_v1").await?;
            }
            self.place.execute(intact).await?;
        }
        let mended = self.fails_there("report", &json!({})).await?;
        outcome.check(mended["code"] == "", || format!("the mended view failed: {mended}"));
        Ok(outcome)
    }

    async fn dropped(&mut self) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new("connection dropped around a commit");
        if !self.is_served() {
            return Ok(outcome);
        }
        for number in 0..TIMES {
            let fault = if number % 2 == 0 { Fault::CutBefore } else { Fault::CutAfter };
            self.place.faults.arm("COMMIT", Some((At::Text("COMMIT"), fault)));
            let change = self.change();
            let key = change["operation_key"].clone();
            let envelope = self.fails_there("update_status", &change).await?;
            let holds = envelope["code"] == "OUTCOME_UNKNOWN"
                && envelope["next"] == "reconcile"
                && envelope["operation_key"] == key;
            outcome.check(holds, || format!("OUTCOME_UNKNOWN was expected: {envelope}"));
            let expected = if fault == Fault::CutBefore { Claimed::NotCommitted } else { Claimed::Committed };
            let mut client = Obedient { session: &self.writer, place: self.place, storm: None };
            let settled = client.reconcile(&key).await?;
            outcome.check(settled == expected, || format!("{expected:?} was expected: {settled:?}"));
        }
        Ok(outcome)
    }

    /// Nothing of statements, data, names, hosts or passwords in any public error.
    fn leaks(&self) -> Outcome {
        const CANARIES: &[&str] = &[
            "canary",
            "example",
            "amina",
            "orders",
            "report_v1",
            "retort_receipts",
            "SELECT",
            "UPDATE",
            "INSERT",
            "nowhere",
            "127.0.0.1",
            "postgres",
            "mysql",
            "root",
            "sqlite",
            ".rs",
            "/tmp",
            "sqlx",
            "pg_sleep",
        ];
        let mut outcome = Outcome::new("no statement or value in public errors");
        for envelope in &self.envelopes {
            let text = envelope.to_string();
            let found = CANARIES.iter().find(|canary| text.contains(**canary));
            outcome.check(found.is_none(), || format!("{found:?} in {text}"));
        }
        outcome
    }

    /// Every trace id finds its complete diagnostic.
    fn diagnostics(&self) -> Outcome {
        let mut outcome = Outcome::new("every trace id resolves");
        let Ok(store) = self.host.diagnostics.lock() else {
            outcome.check(false, || String::from("the diagnostics' store is gone"));
            return outcome;
        };
        for envelope in &self.envelopes {
            let trace_id = envelope["trace_id"].as_str().unwrap_or_default();
            let entries = store.find(trace_id).unwrap_or_default();
            let diagnostic: Value = entries
                .first()
                .and_then(|entry| serde_json::from_str(&entry.diagnostic).ok())
                .unwrap_or_default();
            let is_complete = ["code", "rule", "phase", "transaction", "tool"]
                .iter()
                .all(|field| diagnostic[field].is_string());
            outcome.check(is_complete && diagnostic["code"] == envelope["code"], || {
                format!("{trace_id}: {diagnostic}")
            });
        }
        outcome
    }
}
