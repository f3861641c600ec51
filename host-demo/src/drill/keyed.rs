//! The ledger's arm with keys: an MCP client that obeys the envelope, and asks for the receipt where it says so.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::faults::{At, Fault};
use super::ledger::{Claimed, Totals};
use super::session::{self, Answer, Session};
use super::{Error, Place, Target};
use crate::Contract;
use crate::serve::Role;

/// Orders of the ledger begin here, above the seeded ones.
const FIRST: i64 = 1_000;
/// The most calls for one write.
const MOST_CALLS: u32 = 20;

/// Makes so many writes, one order and one key each.
pub async fn run(
    contract: Box<dyn Contract>,
    place: &Place,
    writes: u64,
    mut dice: Rng,
    progress: &ProgressBar,
) -> Result<Totals, Error> {
    let host = session::host(contract, place, 4).await?;
    let session = Session::open(&host, Role::Writer).await?;
    let last = FIRST + i64::try_from(writes).unwrap_or(i64::MAX - FIRST);
    for id in FIRST..last {
        let row = format!("INSERT INTO orders VALUES ({id}, 'north', '{id}@drill.example', 'open', 1)");
        place.shop(&row).await?;
    }
    let mut totals = Totals::default();
    let mut claims = Vec::new();
    for id in FIRST..last {
        claims.push((id, write(&session, place, id, &mut dice, &mut totals).await?));
        progress.inc(1);
    }
    place.faults.arm("", None);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let rows = place.shop_rows("SELECT order_id, count(*) FROM changes GROUP BY order_id").await?;
    let applied: BTreeMap<i64, i64> = rows.into_iter().collect();
    for (id, claimed) in claims {
        totals.compare(claimed, applied.get(&id).copied().unwrap_or_default().unsigned_abs());
    }
    Ok(totals)
}

async fn write(
    session: &Session,
    place: &Place,
    id: i64,
    dice: &mut Rng,
    totals: &mut Totals,
) -> Result<Claimed, Error> {
    totals.writes += 1;
    let key = format!("ledger-{id}");
    let change = json!({ "operation_key": key, "order_id": id, "status": "shipped" });
    let mut was_unknown = false;
    let mut claimed = Claimed::Unknown;
    for _ in 0..MOST_CALLS {
        totals.attempts += 1;
        let is_lost = arm(place, dice);
        if place.target == Target::Sqlite && is_lost {
            // The call, or its answer, is lost between client and server; the client makes it again, as it must.
            if dice.bool() {
                session.call("update_status", change.clone()).await?;
            }
            was_unknown = true;
            continue;
        }
        let envelope = match session.call("update_status", change.clone()).await? {
            Answer::Success(_) => {
                claimed = Claimed::Committed;
                break;
            }
            Answer::Failure(envelope) => envelope,
        };
        if envelope["outcome"] == "unknown"
            && !was_unknown
            && !place.faults.left_client()
            && place.target != Target::Sqlite
        {
            totals.needless_unknown += 1;
        }
        claimed = claim(&envelope);
        if envelope["next"] == "reconcile" {
            was_unknown = true;
            wait(&envelope["check_after_ms"]).await;
            claimed = reconcile(session, place, &key, dice).await?;
            match claimed {
                Claimed::Committed => break,
                // The receipt proves that nothing happened and that nothing will: the write may be made again.
                Claimed::NotCommitted => continue,
                Claimed::Unknown => continue,
            }
        }
        if envelope["retryable"] != true {
            break;
        }
        wait(&envelope["retry_after_ms"]).await;
    }
    totals.resolved += u64::from(was_unknown && claimed != Claimed::Unknown);
    Ok(claimed)
}

/// Asks for the receipt, through faults as well.
async fn reconcile(session: &Session, place: &Place, key: &str, dice: &mut Rng) -> Result<Claimed, Error> {
    for _ in 0..MOST_CALLS {
        if place.target != Target::Sqlite {
            let plan = (dice.u32(..4) == 0).then(|| (At::Message(dice.u32(..6)), Fault::CutAfter));
            place.faults.arm("COMMIT", plan);
        }
        match session.call("receipt", json!({ "operation_key": key })).await? {
            Answer::Success(value) => return Ok(claim(&value["envelope"])),
            Answer::Failure(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
    Ok(Claimed::Unknown)
}

/// Plans the next fault: six calls of ten. Says for SQLite whether the call or its answer is to be lost.
fn arm(place: &Place, dice: &mut Rng) -> bool {
    if dice.u32(..10) < 4 {
        place.faults.arm("COMMIT", None);
        return false;
    }
    let fault = if dice.u32(..20) == 0 { Fault::BlackHole } else { Fault::ALL[dice.usize(..3)] };
    let at = if dice.bool() { At::Text("COMMIT") } else { At::Message(dice.u32(..16)) };
    place.faults.arm("COMMIT", Some((at, fault)));
    true
}

fn claim(envelope: &Value) -> Claimed {
    match envelope["outcome"].as_str() {
        Some("committed") => Claimed::Committed,
        Some("not_started" | "not_committed") => Claimed::NotCommitted,
        _ => Claimed::Unknown,
    }
}

async fn wait(milliseconds: &Value) {
    tokio::time::sleep(Duration::from_millis(milliseconds.as_u64().unwrap_or_default())).await;
}
