//! A long run in which nothing waits for a clock: every fault is at a counted message, and nothing times out.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{account, connections_left};
use crate::Contract;
use crate::drill::failures::Outcome;
use crate::drill::faults::{At, Fault};
use crate::drill::keyed::{self, Obedient};
use crate::drill::ledger::Totals;
use crate::drill::place::Place;
use crate::drill::session::{self, POOL, Session};
use crate::drill::{Error, Target};
use crate::serve::Role;

/// Writes.
const WRITES: u64 = 500;
/// Orders begin here.
const FIRST: u64 = 100_000;
/// Longer than anything here takes: no deadline is met.
const DEADLINE: Duration = Duration::from_secs(60);
/// Messages of a write, so that the fault meets each of them in turn.
const MESSAGES: u32 = 20;

/// Runs it.
pub async fn run(contract: &Arc<dyn Contract>, place: &Place, outcome: &mut Outcome) -> Result<(), Error> {
    let place = place.another().await?;
    let host = session::host(Arc::clone(contract), &place, DEADLINE).await?;
    let session = Session::open(&host, Role::Writer).await?;
    keyed::add_orders(&place, FIRST, WRITES).await?;
    let mut totals = Totals::default();
    let mut claims = Vec::new();
    for number in 0..WRITES {
        let fault = Fault::CUTS[number as usize % 3];
        if place.target != Target::Sqlite {
            place.faults.plan(Some((At::Message(number as u32 % MESSAGES), fault)));
        }
        let key = format!("long-{number}");
        let change = json!({ "operation_key": key, "order_id": FIRST + number, "status": "shipped" });
        let mut client = Obedient { session: &session, place: &place, storm: None };
        claims.push((number, client.write(change, &mut totals).await?));
        place.faults.plan(None);
        if number % 10 == 0 {
            let settled = client.reconcile(&key.into()).await?;
            let claimed = claims.last().map(|(_, claimed)| *claimed);
            outcome
                .check(Some(settled) == claimed, || format!("{claimed:?}, and the receipt says {settled:?}"));
        }
    }
    let left = connections_left(&host).await;
    outcome.check(left == POOL, || format!("only {left} of {POOL} connections were left"));
    session.close().await;
    drop(host);
    place.quiet().await?;
    let applied = keyed::changes(&place, FIRST).await?;
    for (number, claimed) in claims {
        totals.compare(claimed, applied.get(&number).copied().unwrap_or_default());
    }
    account(outcome, "with a key", &totals);
    Ok(())
}
