//! The ledger: writes through the fault proxy by the client that only obeys the envelope, with the daemon's idempotency
//! keys and without, of one statement and of several operations; then what the daemon holds after a restart.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use fastrand::Rng;
use indicatif::ProgressBar;
use reqwest::Client as Http;
use serde_json::{Value, json};
use tokio::task::{JoinSet, block_in_place};

use super::{Daemon, Request, answer, exchange};
use crate::adapters;
use crate::drill::Error;
use crate::drill::failures::Outcome;
use crate::drill::ledger::{Claimed, Client, Policy, Script, Step, Totals};
use crate::drill::line::Line;
use crate::drill::place::Place;
use crate::drill::writers::{COMPARED, OBEYS, POLICIES};

/// Writes of a lane begin this far apart.
const LANE: u64 = 1_000_000;
/// Operations of a transaction.
const OPERATIONS: u64 = 3;
/// The daemon keeps so many keys of a caller for a day, and refuses more.
const KEYS: u64 = 1_000;
/// How long the client waits for an answer. The daemon syncs every write to the disk.
const PATIENCE: Duration = Duration::from_secs(2);

/// How a write is made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Arm {
    /// One statement.
    Statement,
    /// A transaction of several operations.
    Operations,
}

const ARMS: [(Arm, bool, &str); 4] = [
    (Arm::Statement, true, "key"),
    (Arm::Operations, true, "several operations with a key"),
    (Arm::Statement, false, "statement"),
    (Arm::Operations, false, "several operations"),
];

impl Arm {
    /// The request of the write `id`.
    fn script(self, id: u64, has_key: bool) -> Script {
        let key = has_key.then(|| format!("ledger-{id}"));
        let (line, mark, unit) = match self {
            Arm::Statement => {
                let sql = format!("INSERT INTO changes (write_id) VALUES ({id})");
                let body = json!({ "sql": sql, "idempotency_key": key });
                (format!("/sql {body}"), "INSERT", "statement")
            }
            Arm::Operations => {
                let put = json!({ "put": { "table": "changes", "cells": [2, id] } });
                let operations = vec![put; OPERATIONS as usize];
                let body = json!({ "ops": operations, "idempotency_key": key });
                (format!("/kit/txn {body}"), "ops", "many")
            }
        };
        Script { key, ..Script::alone(Step::alone(line), mark, unit) }
    }

    /// The rows that it makes.
    fn rows(self) -> u64 {
        match self {
            Arm::Statement => 1,
            Arm::Operations => OPERATIONS,
        }
    }
}

/// The daemon over HTTP: a path and a body are a statement here.
pub struct HttpLine {
    client: Http,
    base: String,
}

impl HttpLine {
    /// A client that waits so long for an answer, and keeps no connection that may have been cut.
    pub fn new(url: &str, patience: Duration) -> Result<HttpLine, Value> {
        let client = Http::builder().timeout(patience).pool_max_idle_per_host(0).build();
        let client = client.map_err(|error| adapters::reqwest(&error))?;
        Ok(HttpLine { client, base: url.trim_end_matches('/').to_owned() })
    }
}

#[async_trait]
impl Line for HttpLine {
    async fn run(&mut self, line: &str) -> Result<(), Value> {
        let (path, body) = line.split_once(' ').unwrap_or((line, ""));
        let request = Request::post(path, serde_json::from_str(body).unwrap_or_default());
        match exchange(request.to(&self.client, &self.base)).await {
            Ok((200, _)) => Ok(()),
            Ok((status, body)) => Err(answer(status, &body)),
            Err(error) => Err(adapters::reqwest(&error)),
        }
    }
}

/// What a lane of writes came to.
struct Lane {
    name: String,
    arm: Arm,
    first: u64,
    totals: Totals,
    claims: Vec<Claimed>,
}

/// Runs it: the figures by arm and policy, and whether each transaction took effect as a whole.
pub(super) async fn run(
    daemon: &Daemon<'_>,
    place: &Arc<Place>,
    (writes, seed): (u64, u64),
    progress: &ProgressBar,
) -> Result<(BTreeMap<String, Totals>, Outcome), Error> {
    daemon
        .apply("CREATE TABLE changes (id BIGINT PRIMARY KEY AUTO_INCREMENT, write_id BIGINT NOT NULL)", None)
        .await?;
    let share = writes.div_ceil(ARMS.len() as u64);
    let mut lanes = JoinSet::new();
    let mut first = 0;
    for (arm, has_key, arm_name) in ARMS {
        for (policy, policy_name) in POLICIES {
            let count = match policy {
                Policy::Envelope if has_key => share.min(KEYS / 2),
                Policy::Envelope => share,
                // The others have no use for a key.
                _ if has_key => continue,
                _ => share.min(COMPARED),
            };
            let own = Arc::new(place.another().await?);
            let storm = Some(Rng::with_seed(seed));
            let contract = Arc::clone(daemon.contract);
            let mut client = Client::new(contract, own, *policy, storm).waiting(PATIENCE);
            let mut lane = Lane {
                name: format!("{arm_name}: {policy_name}"),
                arm,
                first,
                totals: Totals::default(),
                claims: Vec::new(),
            };
            let progress = if *policy_name == OBEYS { progress.clone() } else { ProgressBar::hidden() };
            lanes.spawn(async move {
                for number in 0..count {
                    let script = arm.script(first + number, has_key);
                    lane.claims.push(client.write(&script, &mut lane.totals).await);
                    progress.inc(1);
                }
                lane
            });
            first += LANE;
        }
    }
    let lanes = lanes.join_all().await;
    // Whatever a cut connection has left at work is over when the daemon has ended; and what it holds has to outlast that.
    let server =
        place.served.as_ref().and_then(|served| served.upstream.own.as_ref()).ok_or(Error::NoServer)?;
    block_in_place(|| server.stop().and_then(|()| server.start_again()))?;
    compare(daemon, lanes).await
}

/// Compares the claims with the rows.
async fn compare(
    daemon: &Daemon<'_>,
    lanes: Vec<Lane>,
) -> Result<(BTreeMap<String, Totals>, Outcome), Error> {
    let mut whole = Outcome::new("several operations, all or none");
    let mut figures = BTreeMap::new();
    for Lane { name, arm, first, mut totals, claims } in lanes {
        let select = format!(
            "SELECT write_id, count(*) AS n FROM changes WHERE write_id >= {first} AND write_id < {} GROUP BY write_id",
            first + LANE
        );
        let rows = daemon.send(&Request::sql(select)).await?.1;
        let counted = |row: &Value| Some((row["write_id"].as_u64()?, row["n"].as_u64()?));
        let rows: BTreeMap<u64, u64> = rows.as_array().into_iter().flatten().filter_map(counted).collect();
        for (id, claimed) in (first..).zip(claims) {
            let count = rows.get(&id).copied().unwrap_or_default();
            if arm == Arm::Operations {
                whole.check(count % OPERATIONS == 0, || format!("{count} rows of a transaction"));
            }
            totals.compare(claimed, count.div_ceil(arm.rows()));
        }
        figures.insert(name, totals);
    }
    Ok((figures, whole))
}
