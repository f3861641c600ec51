//! Answers that are lost on the way: what the driver threw leaves the outcome open, and a look at the statement settles it.

use reqwest::Client;
use serde_json::{Value, json};

use super::{Daemon, GRACE, MOMENT, Request, TIMES, exchange};
use crate::adapters;
use crate::drill::Error;
use crate::drill::failures::Outcome;
use crate::drill::faults::{At, Fault};
use crate::drill::ledger::Claimed;
use crate::drill::place::Place;

impl Daemon<'_> {
    /// Cuts the connection before and after the request's last byte was forwarded, and with the answer.
    pub(super) async fn lost(&self, place: &Place) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new("answers lost on the way");
        let proxied = place.proxied().ok_or(Error::NoServer)?;
        let base = proxied.trim_end_matches('/');
        for id in 4 * TIMES..5 * TIMES {
            let fault = Fault::CUTS[id as usize % Fault::CUTS.len()];
            let query_id = format!("{id:032x}");
            let update = format!("UPDATE ledger SET balance = 1 WHERE id = {id}");
            let body = json!({ "sql": update, "query_id": query_id });
            place.faults.arm("UPDATE", Some((At::Text("UPDATE"), fault)));
            // A client of its own: no connection that was cut before is used again.
            let request = Request::post("/sql", body);
            let Err(error) = exchange(request.to(&Client::new(), base)).await else {
                outcome.check(false, || format!("{fault:?}: there was an answer"));
                continue;
            };
            let envelope = self.judge("write", adapters::reqwest(&error));
            outcome.check(envelope["outcome"] == "unknown", || format!("{fault:?}: {envelope}"));
            outcome.count(&envelope);
            let patience = if fault == Fault::CutAfter { MOMENT } else { GRACE };
            let has_ended = |status: &Value| status["terminal_state"].is_string();
            let (status, body) = self.awaited(&query_id, patience, has_ended).await?;
            // Where the daemon does not know it, its last byte may still be on the way: that settles nothing.
            let settled = match status {
                404 => Claimed::Unknown,
                _ => self.claim(status, &body, &mut outcome),
            };
            let applied = self.balance(id).await?.as_u64().unwrap_or_default();
            let expected = match fault {
                Fault::CutBefore => settled == Claimed::Unknown && applied == 0,
                Fault::CutAfter => settled == Claimed::Committed && applied == 1,
                _ => settled.agrees(applied),
            };
            outcome.check(expected, || format!("{fault:?}: {settled:?}, and the row holds {applied}"));
        }
        Ok(outcome)
    }
}
