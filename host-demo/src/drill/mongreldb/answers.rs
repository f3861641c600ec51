//! Refusals of every status, and keys that are repeated.

use serde_json::{Value, json};

use super::{Caller, Case, Daemon, NOWHERE, TIMES};
use crate::drill::Error;
use crate::drill::failures::Outcome;

impl Daemon<'_> {
    /// Answers that refuse, one of every status.
    pub(super) async fn answers(&self) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new("answers of every status");
        for id in 0..TIMES {
            let update = |value: &str| format!("UPDATE ledger SET balance = {value} WHERE id = {id}");
            let put =
                |table: &str, cells: Value| json!({ "ops": [{ "put": { "table": table, "cells": cells } }] });
            let endless = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 100000000) \
                SELECT max(i) FROM n";
            let cases = [
                Case { caller: Caller::Nobody, ..Case::sql("401", update("1"), 401, "CREDENTIALS_REJECTED") },
                Case {
                    caller: Caller::User,
                    ..Case::post(
                        "403",
                        "/kit/txn",
                        put("ledger", json!([1, id, 2, 1])),
                        403,
                        "NOT_AUTHORIZED",
                    )
                },
                Case::post("404", "/kit/txn", put(NOWHERE, json!([1, id, 2, 1])), 404, "CONTRACT_BROKEN"),
                Case::post(
                    "400",
                    "/sql",
                    json!({ "sql": update("1"), "timeout_ms": 0 }),
                    400,
                    "INVALID_ARGUMENT",
                ),
                Case::post(
                    "409",
                    "/kit/txn",
                    put("ledger", json!([1, id, 2, "canary"])),
                    409,
                    "INVALID_ARGUMENT",
                ),
                // Its UPDATE takes values only.
                Case::sql("500", update("balance + 1"), 500, "DATABASE_ERROR"),
                Case {
                    effect: "read",
                    ..Case::post(
                        "504",
                        "/sql",
                        json!({ "sql": endless, "timeout_ms": 50 }),
                        504,
                        "DB_TIMEOUT",
                    )
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
            self.fails(&Case::post("another payload", "/sql", other, 409, "KEY_REUSED"), &mut outcome)
                .await?;
            let balance = self.balance(id).await?;
            outcome.check(balance == 2, || format!("applied once, then 2, and the row holds {balance}"));
        }
        Ok(outcome)
    }
}
