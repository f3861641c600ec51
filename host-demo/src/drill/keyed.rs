//! An MCP client that does what envelopes say and nothing else: with keys, and with the receipt where they ask for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use fastrand::Rng;
use serde_json::{Value, json};

use super::faults::{At, Fault};
use super::ledger::{Claimed, Totals};
use super::place::Place;
use super::session::{self, Answer, Session};
use super::writers::Writer;
use super::{Error, Target};
use crate::Contract;
use crate::serve::Role;

/// Orders of the drill begin here, above the seeded ones.
const FIRST: u64 = 1_000;
/// The most calls for one write.
const MOST_CALLS: u32 = 20;

/// What a client that obeys holds on to.
pub struct Obedient<'a> {
    /// Its session with the MCP server.
    pub session: &'a Session,
    /// Where the oracle is.
    pub place: &'a Place,
    /// What breaks by chance; `None` where nothing does.
    pub storm: Option<&'a mut Rng>,
}

/// A writer with keys, through an MCP server of its own.
pub struct Keyed {
    place: Arc<Place>,
    session: Session,
    storm: Option<Rng>,
}

impl Keyed {
    /// A writer of so many writes, one order and one key each.
    pub async fn open(
        contract: Arc<dyn Contract>,
        place: Arc<Place>,
        writes: u64,
        storm: Option<Rng>,
    ) -> Result<Keyed, Error> {
        let host = session::host(contract, &place, Duration::from_millis(600)).await?;
        let session = Session::open(&host, Role::Writer).await?;
        add_orders(&place, FIRST, writes).await?;
        Ok(Keyed { place, session, storm })
    }
}

#[async_trait]
impl Writer for Keyed {
    async fn write(&mut self, number: u64, totals: &mut Totals) -> Result<Claimed, Error> {
        let id = FIRST + number;
        let key = format!("ledger-{id}");
        let change = json!({ "operation_key": key, "order_id": id, "status": "shipped" });
        let storm = self.storm.as_mut();
        Obedient { session: &self.session, place: &self.place, storm }.write(change, totals).await
    }

    async fn applied(self: Box<Self>) -> Result<BTreeMap<u64, u64>, Error> {
        let Keyed { place, session, .. } = *self;
        place.faults.arm("", None);
        session.close().await;
        place.quiet().await?;
        changes(&place, FIRST).await
    }
}

/// Adds open orders, one for each write.
pub async fn add_orders(place: &Place, first: u64, count: u64) -> Result<(), Error> {
    let row = |id: u64| format!("({id}, 'north', '{id}@drill.example', 'open', 1)");
    let rows: Vec<String> = (first..first + count).map(row).collect();
    for some in rows.chunks(500) {
        place.execute(&format!("INSERT INTO orders VALUES {}", some.join(","))).await?;
    }
    Ok(())
}

/// How often each order from `first` on was changed, counted from 0.
pub async fn changes(place: &Place, first: u64) -> Result<BTreeMap<u64, u64>, Error> {
    let rows = format!("SELECT order_id, count(*) FROM changes WHERE order_id >= {first} GROUP BY order_id");
    let rows = place.look(&rows).await?;
    Ok(rows.into_iter().map(|(id, count)| (id.unsigned_abs() - first, count.unsigned_abs())).collect())
}

impl Obedient<'_> {
    /// Makes a change, and says what became of it.
    pub async fn write(&mut self, change: Value, totals: &mut Totals) -> Result<Claimed, Error> {
        totals.writes += 1;
        let is_embedded = self.place.target == Target::Sqlite;
        let mut was_unknown = false;
        let mut claimed = Claimed::Unknown;
        for _ in 0..MOST_CALLS {
            totals.attempts += 1;
            if self.arm() && is_embedded {
                // The call, or its answer, is lost between client and server; the client makes it again, as it must.
                if self.storm.as_mut().is_some_and(|dice| dice.bool()) {
                    self.session.call("update_status", change.clone()).await?;
                }
                was_unknown = true;
                continue;
            }
            let envelope = match self.session.call("update_status", change.clone()).await? {
                Answer::Success(_) => {
                    claimed = Claimed::Committed;
                    break;
                }
                Answer::Failure(envelope) => envelope,
            };
            totals.meet(&envelope);
            let is_unknown = envelope["outcome"] == "unknown";
            if is_unknown && !was_unknown && !is_embedded && !self.place.faults.left_client() {
                totals.needless_unknown += 1;
            }
            claimed = Claimed::of(&envelope);
            if envelope["next"] == "reconcile" {
                was_unknown = true;
                wait(&envelope["check_after_ms"]).await;
                claimed = self.reconcile(&change["operation_key"]).await?;
                if claimed == Claimed::Committed {
                    break;
                }
                // The receipt proves that nothing happened and that nothing will, or the key protects the next call.
                continue;
            }
            was_unknown |= is_unknown;
            if envelope["retryable"] != true {
                break;
            }
            wait(&envelope["retry_after_ms"]).await;
        }
        totals.resolved += u64::from(was_unknown && claimed != Claimed::Unknown);
        Ok(claimed)
    }

    /// Asks for the receipt, through faults as well.
    pub async fn reconcile(&mut self, key: &Value) -> Result<Claimed, Error> {
        for _ in 0..MOST_CALLS {
            if let Some(dice) = self.storm.as_mut().filter(|_| self.place.target != Target::Sqlite) {
                let plan = (dice.u32(..4) == 0).then(|| (At::Message(dice.u32(..6)), Fault::CutAfter));
                self.place.faults.arm("COMMIT", plan);
            }
            match self.session.call("receipt", json!({ "operation_key": key })).await? {
                Answer::Success(value) => return Ok(Claimed::of(&value["envelope"])),
                Answer::Failure(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
        Ok(Claimed::Unknown)
    }

    /// Plans the next fault: six calls of ten. Says whether there is one.
    fn arm(&mut self) -> bool {
        let faults = &self.place.faults;
        let Some(dice) = &mut self.storm else {
            faults.watch("COMMIT");
            return false;
        };
        if dice.u32(..10) < 4 {
            faults.arm("COMMIT", None);
            return false;
        }
        let fault = if dice.u32(..20) == 0 { Fault::BlackHole } else { Fault::CUTS[dice.usize(..3)] };
        let at = if dice.bool() { At::Text("COMMIT") } else { At::Message(dice.u32(..16)) };
        faults.arm("COMMIT", Some((at, fault)));
        true
    }
}

async fn wait(milliseconds: &Value) {
    tokio::time::sleep(Duration::from_millis(milliseconds.as_u64().unwrap_or_default())).await;
}
