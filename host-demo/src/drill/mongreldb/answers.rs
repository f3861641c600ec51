//! Refusals of every status, and keys that are repeated.

use serde_json::{Value, json};

use super::{Caller, Case, Daemon, NOWHERE, Request, TIMES};
use crate::drill::Error;
use crate::drill::failures::Outcome;

impl Daemon<'_> {
    /// Answers that refuse, one of every status.
    pub(super) async fn answers(&self) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new("answers of every status");
        for id in 0..TIMES {
            let update = |value: &str| format!("UPDATE ledger SET balance = {value} WHERE id = {id}");
            let endless = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 100000000) \
                SELECT max(i) FROM n";
            let by = |caller, request| Request { caller, ..request };
            let put = |table: &str, value: Value| {
                let cells = json!([1, id, 2, value]);
                Request::post("/kit/txn", json!({ "ops": [{ "put": { "table": table, "cells": cells } }] }))
            };
            let at_once = json!({ "sql": update("1"), "timeout_ms": 0 });
            let too_long = json!({ "sql": endless, "timeout_ms": 50 });
            let cases = [
                Case::of("401", by(Caller::Nobody, Request::sql(update("1"))), 401, "CREDENTIALS_REJECTED"),
                Case::of("403", by(Caller::User, put("ledger", json!(1))), 403, "NOT_AUTHORIZED"),
                Case::of("404", put(NOWHERE, json!(1)), 404, "CONTRACT_BROKEN"),
                Case::of("400", Request::post("/sql", at_once), 400, "INVALID_ARGUMENT"),
                Case::of("409", put("ledger", json!("canary")), 409, "INVALID_ARGUMENT"),
                // Its UPDATE takes values only.
                Case::of("500", Request::sql(update("balance + 1")), 500, "DATABASE_ERROR"),
                Case {
                    effect: "read",
                    ..Case::of("504", Request::post("/sql", too_long), 504, "DB_TIMEOUT")
                },
            ];
            for case in &cases {
                self.fails(case, &mut outcome).await?;
            }
            let balance = self.balance(id).await?;
            outcome.check(balance == 0, || format!("nothing was committed, and the row holds {balance}"));
        }
        Ok(outcome)
    }

    /// A key repeated is applied once, and refused with another payload.
    pub(super) async fn keys(&self) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new("idempotency keys");
        for id in TIMES..2 * TIMES {
            let key = format!("drill-{id}");
            let update = |value: u32| format!("UPDATE ledger SET balance = {value} WHERE id = {id}");
            self.apply(&update(1), Some(&key)).await?;
            // Another client's write in between: a second application of the first would undo it.
            self.apply(&update(2), None).await?;
            self.apply(&update(1), Some(&key)).await?;
            let other = json!({ "sql": update(3), "idempotency_key": key });
            self.fails(
                &Case::of("another payload", Request::post("/sql", other), 409, "KEY_REUSED"),
                &mut outcome,
            )
            .await?;
            let balance = self.balance(id).await?;
            outcome.check(balance == 2, || format!("applied once, then 2, and the row holds {balance}"));
        }
        Ok(outcome)
    }
}
