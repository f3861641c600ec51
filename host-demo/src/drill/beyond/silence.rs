//! Answers that never come, to each message of a call in turn.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::connections_left;
use crate::Contract;
use crate::drill::Error;
use crate::drill::failures::Outcome;
use crate::drill::faults::{At, Fault};
use crate::drill::place::Place;
use crate::drill::session::{self, Answer, POOL, Session};
use crate::serve::Role;

/// The limit for a whole call.
const DEADLINE: Duration = Duration::from_millis(200);
/// Messages of a report, and of giving its connection back.
const MESSAGES: u32 = 9;

/// Runs it: calls end in time, and the pool keeps its connections.
pub async fn run(contract: &Arc<dyn Contract>, place: &Place, outcome: &mut Outcome) -> Result<(), Error> {
    let place = place.another().await?;
    let host = session::host(Arc::clone(contract), &place, DEADLINE).await?;
    let session = Session::open(&host, Role::Reader).await?;
    for number in 0..MESSAGES {
        place.faults.plan(Some((At::Message(number), Fault::BlackHole)));
        if let Answer::Failure(envelope) = session.call("report", json!({})).await? {
            let holds = envelope["outcome"] == "not_committed" || envelope["outcome"] == "not_started";
            outcome.check(holds, || format!("a read: {envelope}"));
            outcome.count(&envelope);
        }
        place.faults.plan(None);
    }
    let left = connections_left(&host).await;
    outcome.check(left == POOL, || format!("only {left} of {POOL} connections were left"));
    session.close().await;
    drop(host);
    place.quiet().await
}
