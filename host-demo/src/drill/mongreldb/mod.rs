//! MongrelDB's own daemon: what its answers over HTTP come to through the contract, and whether its data agree.

mod answers;
mod cancels;
mod lost;
pub mod writes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use indicatif::ProgressBar;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use super::failures::Outcome;
use super::place::Place;
use super::{DatabaseFigures, Error, Part, Target};
use crate::Contract;

/// How often each request is made.
const TIMES: u64 = 10;
/// How long the end of a statement is waited for.
const MOMENT: Duration = Duration::from_secs(30);
/// How long one is waited for that the daemon may never have heard of.
const GRACE: Duration = Duration::from_secs(1);
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

/// A request to the daemon.
struct Request {
    caller: Caller,
    method: Method,
    path: String,
    body: Value,
}

impl Request {
    fn post(path: &str, body: Value) -> Request {
        Request { caller: Caller::Token, method: Method::POST, path: String::from(path), body }
    }

    fn sql(statement: String) -> Request {
        Request::post("/sql", json!({ "sql": statement }))
    }

    /// The request as a client sends it to this base.
    fn to(&self, client: &Client, base: &str) -> RequestBuilder {
        let request = client.request(self.method.clone(), format!("{base}{}", self.path));
        let request = match self.caller {
            Caller::Nobody => request,
            Caller::User => request.basic_auth(USER.0, Some(USER.1)),
            Caller::Token => request.bearer_auth(TOKEN),
        };
        if self.body.is_null() { request } else { request.json(&self.body) }
    }
}

/// A request that fails, and what its answer must come to.
struct Case {
    name: &'static str,
    effect: &'static str,
    request: Request,
    status: u16,
    code: &'static str,
}

impl Case {
    /// A write's.
    fn of(name: &'static str, request: Request, status: u16, code: &'static str) -> Case {
        Case { name, effect: "write", request, status, code }
    }
}

/// Sends requests to the daemon, and asks the contract about the answers.
struct Daemon<'a> {
    contract: &'a Arc<dyn Contract>,
    client: Client,
    base: String,
}

/// Runs the parts that are asked for.
pub async fn run(
    contract: &Arc<dyn Contract>,
    includes: impl Fn(Part) -> bool,
    (writes, seed): (u64, u64),
    progress: &ProgressBar,
) -> Result<DatabaseFigures, Error> {
    let target = Target::Mongreldb;
    let place = Arc::new(Place::start(target).await?);
    let mut figures =
        DatabaseFigures { database: target.name(), ledger: BTreeMap::new(), failures: Vec::new() };
    let daemon = Daemon::of(contract, &place)?;
    if includes(Part::Failures) {
        progress.set_message(format!("{}: failures", target.name()));
        daemon.lay_out().await?;
        figures.failures = vec![
            daemon.answers().await?,
            daemon.keys().await?,
            daemon.cancelled_before().await?,
            daemon.cancelled_during().await?,
            daemon.cancelled_after().await?,
            daemon.lost(&place).await?,
        ];
    }
    if includes(Part::Ledger) {
        progress.set_message(format!("{}: ledger", target.name()));
        progress.set_length(writes);
        let (ledger, whole) = writes::run(&daemon, &place, (writes, seed), progress).await?;
        figures.ledger = ledger;
        figures.failures.push(whole);
    }
    Ok(figures)
}

/// The daemon's arguments besides its folder and port.
pub const ARGUMENTS: [&str; 3] = ["--auth-users", "--auth-token", TOKEN];

/// An answer as a report's `error`.
fn answer(status: u16, body: &Value) -> Value {
    json!({ "status": status, "body": body })
}

/// Status and body of the answer.
async fn exchange(request: RequestBuilder) -> reqwest::Result<(u16, Value)> {
    let response = request.send().await?;
    let status = response.status().as_u16();
    let text = response.text().await?;
    Ok((status, serde_json::from_str(&text).unwrap_or(Value::String(text))))
}

impl<'a> Daemon<'a> {
    /// The place's daemon, past the proxy.
    fn of(contract: &'a Arc<dyn Contract>, place: &Place) -> Result<Daemon<'a>, Error> {
        let served = place.served.as_ref().ok_or(Error::NoServer)?;
        Ok(Daemon { contract, client: Client::new(), base: format!("http://{}", served.upstream.address()) })
    }

    /// Rows to write to, and the user who may do nothing.
    async fn lay_out(&self) -> Result<(), Error> {
        self.apply("CREATE TABLE ledger (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)", None).await?;
        let rows: Vec<String> = (0..5 * TIMES).map(|id| format!("({id}, 0)")).collect();
        self.apply(&format!("INSERT INTO ledger VALUES {}", rows.join(",")), None).await?;
        self.apply(&format!("CREATE USER {} WITH PASSWORD '{}'", USER.0, USER.1), None).await
    }

    async fn send(&self, request: &Request) -> Result<(u16, Value), Error> {
        Ok(exchange(request.to(&self.client, &self.base)).await?)
    }

    /// Runs a statement that must succeed.
    async fn apply(&self, sql: &str, key: Option<&str>) -> Result<(), Error> {
        let body = json!({ "sql": sql, "idempotency_key": key });
        let (status, body) = self.send(&Request::post("/sql", body)).await?;
        match status {
            200 => Ok(()),
            _ => Err(Error::Task(format!("MongrelDB refused {sql}: {body}"))),
        }
    }

    async fn balance(&self, id: u64) -> Result<Value, Error> {
        let select = Request::sql(format!("SELECT balance FROM ledger WHERE id = {id}"));
        Ok(self.send(&select).await?.1[0]["balance"].clone())
    }

    /// What the daemon answers to a look at a statement, or to its cancel.
    async fn control(&self, method: Method, query_id: &str, verb: &str) -> Result<(u16, Value), Error> {
        let path = format!("/queries/{query_id}{verb}");
        self.send(&Request { method, ..Request::post(&path, Value::Null) }).await
    }

    /// The envelope of what the daemon answered, or the driver threw.
    fn judge(&self, effect: &str, error: Value) -> Value {
        let report = json!({
            "error": error,
            "system": "mongreldb",
            "operation": { "effect": effect, "phase": "execute", "transaction": "none" },
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
        let (status, body) = self.send(&case.request).await?;
        let envelope = self.judge(case.effect, answer(status, &body));
        let holds = status == case.status
            && envelope["code"] == case.code
            && matches!(envelope["outcome"].as_str(), Some("not_started" | "not_committed"));
        outcome.check(holds, || format!("{}: {status} {body} came to {envelope}", case.name));
        outcome.check(!envelope.to_string().contains("canary"), || format!("a leak: {envelope}"));
        outcome.count(&envelope);
        Ok(())
    }
}
