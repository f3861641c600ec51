//! MongrelDB's own daemon: what its answers over HTTP come to through the contract, and whether its data agree.

use std::sync::Arc;

use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::failures::Outcome;
use super::servers::Server;
use super::{Error, Target};
use crate::Contract;

/// How often each request is made.
const TIMES: u64 = 10;
/// The token that may do everything.
const TOKEN: &str = "canary-token";
/// A user who may do nothing, and the password.
const USER: (&str, &str) = ("canary_user", "canary-password");
/// No table has this name.
const NOWHERE: &str = "canary_nowhere";

/// Who asks.
#[derive(Clone, Copy, Debug)]
enum Caller {
    Nobody,
    User,
    Token,
}

/// A request, and what its answer must come to.
struct Case {
    name: &'static str,
    effect: &'static str,
    caller: Caller,
    method: Method,
    path: String,
    body: Value,
    status: u16,
    code: &'static str,
}

impl Case {
    /// A statement of the tool's that writes.
    fn sql(name: &'static str, statement: String, status: u16, code: &'static str) -> Case {
        Case::post(name, "/sql", json!({ "sql": statement }), status, code)
    }

    fn post(name: &'static str, path: &str, body: Value, status: u16, code: &'static str) -> Case {
        let (effect, path) = ("write", String::from(path));
        Case { name, effect, caller: Caller::Token, method: Method::POST, path, body, status, code }
    }
}

/// Sends requests to the daemon, and asks the contract about the answers.
struct Daemon<'a> {
    contract: &'a Arc<dyn Contract>,
    client: Client,
    base: String,
}

/// Runs it.
pub async fn run(contract: &Arc<dyn Contract>) -> Result<Vec<Outcome>, Error> {
    let server = tokio::task::block_in_place(|| Server::start(Target::Mongreldb))?;
    let daemon = Daemon { contract, client: Client::new(), base: format!("http://{}", server.address()) };
    daemon.apply("CREATE TABLE ledger (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)", None).await?;
    let rows: Vec<String> = (0..4 * TIMES).map(|id| format!("({id}, 0)")).collect();
    daemon.apply(&format!("INSERT INTO ledger VALUES {}", rows.join(",")), None).await?;
    daemon.apply(&format!("CREATE USER {} WITH PASSWORD '{}'", USER.0, USER.1), None).await?;
    Ok(vec![daemon.answers().await?, daemon.keys().await?, daemon.cancels().await?])
}

/// The daemon's arguments besides its folder and port.
pub const ARGUMENTS: [&str; 3] = ["--auth-users", "--auth-token", TOKEN];

impl Daemon<'_> {
    async fn send(&self, case: &Case) -> Result<(u16, Value), Error> {
        let mut request = self.client.request(case.method.clone(), format!("{}{}", self.base, case.path));
        request = match case.caller {
            Caller::Nobody => request,
            Caller::User => request.basic_auth(USER.0, Some(USER.1)),
            Caller::Token => request.bearer_auth(TOKEN),
        };
        if !case.body.is_null() {
            request = request.json(&case.body);
        }
        let response = request.send().await?;
        let status = response.status().as_u16();
        let text = response.text().await?;
        Ok((status, serde_json::from_str(&text).unwrap_or(Value::String(text))))
    }

    /// Runs a statement that must succeed.
    async fn apply(&self, sql: &str, key: Option<&str>) -> Result<(), Error> {
        let body = json!({ "sql": sql, "idempotency_key": key });
        let (status, body) = self.send(&Case::post("", "/sql", body, 200, "")).await?;
        match status {
            200 => Ok(()),
            _ => Err(Error::Task(format!("MongrelDB refused {sql}: {body}"))),
        }
    }

    async fn balance(&self, id: u64) -> Result<Value, Error> {
        let select = Case::sql("", format!("SELECT balance FROM ledger WHERE id = {id}"), 200, "");
        Ok(self.send(&select).await?.1[0]["balance"].clone())
    }

    fn judge(&self, case: &Case, status: u16, body: &Value) -> Value {
        let report = json!({
            "error": { "status": status, "body": body },
            "system": "mongreldb",
            "operation": { "effect": case.effect, "phase": "execute", "transaction": "none" },
            "context": { "authorized": true },
            "seed": 7,
        });
        let verdict: Value =
            serde_json::from_str(&self.contract.evaluate(&report.to_string())).unwrap_or_default();
        verdict["envelope"].clone()
    }

    /// Makes the request; its answer must be a failure of this status and code, without effect and without a word of
    /// the daemon's.
    async fn fails(&self, case: &Case, outcome: &mut Outcome) -> Result<(), Error> {
        let (status, body) = self.send(case).await?;
        let envelope = self.judge(case, status, &body);
        let holds = status == case.status
            && envelope["code"] == case.code
            && matches!(envelope["outcome"].as_str(), Some("not_started" | "not_committed"));
        outcome.check(holds, || format!("{}: {status} {body} came to {envelope}", case.name));
        outcome.check(!envelope.to_string().contains("canary"), || format!("a leak: {envelope}"));
        outcome.count(&envelope);
        Ok(())
    }

    async fn answers(&self) -> Result<Outcome, Error> {
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
    async fn keys(&self) -> Result<Outcome, Error> {
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

    /// A statement cancelled before it begins has no effect, and says so.
    async fn cancels(&self) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new("cancelled before the start");
        for id in 2 * TIMES..3 * TIMES {
            let query_id = format!("{id:032x}");
            let cancel = Case::post("", &format!("/queries/{query_id}/cancel"), Value::Null, 202, "");
            let (status, body) = self.send(&cancel).await?;
            outcome.check(status == 202, || format!("the cancel: {status} {body}"));
            let update = format!("UPDATE ledger SET balance = 1 WHERE id = {id}");
            let update = json!({ "sql": update, "query_id": query_id });
            self.fails(&Case::post("cancelled", "/sql", update, 499, "CANCELLED"), &mut outcome).await?;
            let balance = self.balance(id).await?;
            outcome.check(balance == 0, || format!("cancelled, and the row holds {balance}"));
        }
        Ok(outcome)
    }
}
