//! Statements that are cancelled, and what a look at them says.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Case, Daemon, MOMENT, Request, TIMES, answer};
use crate::drill::Error;
use crate::drill::failures::Outcome;
use crate::drill::ledger::Claimed;

/// Rows of the statements that are cancelled during their execution: enough for a moment that can be met.
const ROWS: u64 = 1_000;

impl Daemon<'_> {
    /// A statement cancelled before it begins has no effect, and says so.
    pub(super) async fn cancelled_before(&self) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new("cancelled before the start");
        for id in 2 * TIMES..3 * TIMES {
            let query_id = format!("{id:032x}");
            let (status, body) = self.control(Method::POST, &query_id, "/cancel").await?;
            outcome.check(status == 202, || format!("the cancel: {status} {body}"));
            let update = format!("UPDATE ledger SET balance = 1 WHERE id = {id}");
            let update = json!({ "sql": update, "query_id": query_id });
            self.fails(&Case::of("cancelled", Request::post("/sql", update), 499, "CANCELLED"), &mut outcome)
                .await?;
            let balance = self.balance(id).await?;
            outcome.check(balance == 0, || format!("cancelled, and the row holds {balance}"));
        }
        Ok(outcome)
    }

    /// A statement over many rows, cancelled at one moment of its time after another, takes effect as a whole or not at
    /// all, and its answer says which.
    pub(super) async fn cancelled_during(&self) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new("cancelled during execution");
        self.apply("CREATE TABLE wide (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)", None).await?;
        let rows: Vec<String> = (0..ROWS).map(|id| format!("({id}, 0)")).collect();
        self.apply(&format!("INSERT INTO wide VALUES {}", rows.join(",")), None).await?;
        let update = |value: u64| format!("UPDATE wide SET balance = {value} WHERE id >= 0");
        let begun = Instant::now();
        self.apply(&update(1), None).await?;
        let whole = begun.elapsed();
        for number in 0..TIMES {
            let (value, query_id) = (number + 2, format!("{:032x}", 1_000 + number));
            let body = json!({ "sql": update(value), "query_id": query_id });
            let statement = Request::post("/sql", body);
            let cancel = async {
                // Its number is not known before it has begun, and a cancel would come before the start.
                self.awaited(&query_id, MOMENT, |status| status["status"].is_string()).await?;
                sleep(whole.mul_f64(number as f64 / TIMES as f64)).await;
                self.control(Method::POST, &query_id, "/cancel").await
            };
            let (answered, _) = tokio::try_join!(self.send(&statement), cancel)?;
            let claimed = self.claim(answered.0, &answered.1, &mut outcome);
            let new = format!("SELECT count(*) AS n FROM wide WHERE balance = {value}");
            let new = self.send(&Request::sql(new)).await?.1[0]["n"].as_u64();
            let holds = match new {
                Some(0) => claimed == Claimed::NotCommitted,
                Some(ROWS) => claimed == Claimed::Committed,
                _ => false,
            };
            outcome.check(holds, || format!("{claimed:?}, and {new:?} rows of {ROWS} are new"));
        }
        let codes = outcome.codes.clone();
        outcome.check(codes.contains_key("CANCELLED"), || format!("none was cancelled, but {codes:?}"));
        Ok(outcome)
    }

    /// A cancel that comes after the end changes nothing, and its answer says what the statement did.
    pub(super) async fn cancelled_after(&self) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new("cancelled after the end");
        for id in 3 * TIMES..4 * TIMES {
            let query_id = format!("{id:032x}");
            let update = format!("UPDATE ledger SET balance = 1 WHERE id = {id}");
            let body = json!({ "sql": update, "query_id": query_id });
            let (status, body) = self.send(&Request::post("/sql", body)).await?;
            outcome.check(status == 200, || format!("the statement: {status} {body}"));
            let (status, body) = self.control(Method::POST, &query_id, "/cancel").await?;
            let envelope = self.judge("write", answer(status, &body));
            let holds = envelope["outcome"] == "committed" && envelope["next"] == "done";
            outcome.check(holds, || format!("{status} {body} came to {envelope}"));
            outcome.count(&envelope);
            let balance = self.balance(id).await?;
            outcome.check(balance == 1, || format!("committed, and the row holds {balance}"));
        }
        Ok(outcome)
    }

    /// Looks at a statement until its status is as wanted, or the time is over.
    pub(super) async fn awaited(
        &self,
        query_id: &str,
        patience: Duration,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Result<(u16, Value), Error> {
        let ends = Instant::now() + patience;
        loop {
            let (status, body) = self.control(Method::GET, query_id, "").await?;
            if is_wanted(&body) || Instant::now() > ends {
                return Ok((status, body));
            }
            sleep(Duration::from_millis(2)).await;
        }
    }

    /// What an answer says of the statement's effect.
    pub(super) fn claim(&self, status: u16, body: &Value, outcome: &mut Outcome) -> Claimed {
        if status == 200 && body["error"].is_null() && body["status"].is_null() {
            return Claimed::Committed;
        }
        let envelope = self.judge("write", answer(status, body));
        outcome.count(&envelope);
        Claimed::of(&envelope)
    }
}
