//! What a tool does with its database, step by step, so that it is known at any moment how far it has got.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use tokio::sync::Mutex as AsyncMutex;

use super::identity::Identity;
use super::store::{Session, Store};
use super::tools::Violation;
use crate::receipts::{Claim, Key, Lifetimes, LookUp, Scope, Ticket};

/// How far a call has got: what a report says of the operation.
#[derive(Clone, Debug)]
pub struct Stage {
    /// `operation.phase`.
    pub phase: &'static str,
    /// `operation.transaction`.
    pub transaction: &'static str,
    /// `operation.statement`.
    pub statement: Option<String>,
    /// `operation.receipt`, where a look-up said something.
    pub receipt: Option<&'static str>,
    /// The claim on the operation key.
    pub ticket: Option<Ticket>,
    /// Was the claim sent, without an answer yet?
    pub is_claiming: bool,
}

/// The stage of a call, shared with whoever watches over it.
#[derive(Clone, Debug)]
pub struct Progress(Arc<Mutex<Stage>>);

/// The call's session, where its watcher finds it when the call itself is gone.
pub type Held = Arc<AsyncMutex<Option<Box<dyn Session>>>>;

/// Why a call has no result.
#[derive(Debug)]
pub struct Failure {
    /// The driver's error, or a condition that the host names.
    pub error: Value,
    /// What of the arguments breaks a rule.
    pub violations: Vec<Violation>,
    /// `cancel` of the report.
    pub cancel: &'static str,
}

/// A tool's call, ready to run.
#[derive(Clone, Debug)]
pub struct Call {
    /// The tool.
    pub tool: &'static str,
    /// Its checked arguments.
    pub arguments: Map<String, Value>,
    /// Who asks.
    pub identity: Identity,
    /// How long claims and receipts last.
    pub lifetimes: Lifetimes,
    /// When the call came, in milliseconds since the Unix epoch. A fence of a later time stops it.
    pub began_ms: i64,
}

impl Default for Progress {
    fn default() -> Progress {
        let stage = Stage {
            phase: "validate",
            transaction: "none",
            statement: None,
            receipt: None,
            ticket: None,
            is_claiming: false,
        };
        Progress(Arc::new(Mutex::new(stage)))
    }
}

impl Progress {
    /// The stage as it is now.
    pub fn stage(&self) -> Stage {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Is a COMMIT under way?
    pub fn is_committing(&self) -> bool {
        self.stage().phase == "commit"
    }

    /// Has the call got as far as the database, or its pool?
    pub fn is_at_database(&self) -> bool {
        !matches!(self.stage().phase, "validate" | "authorize")
    }

    /// Notes the next phase before its step is made.
    pub fn enter(&self, phase: &'static str, transaction: &'static str) {
        self.change(|stage| {
            stage.phase = phase;
            stage.transaction = transaction;
        });
    }

    fn change(&self, change: impl FnOnce(&mut Stage)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Failure {
    /// A condition that the host itself knows.
    pub fn condition(code: &str) -> Failure {
        Failure::from(json!({ "condition": code }))
    }
}

impl From<Value> for Failure {
    fn from(error: Value) -> Failure {
        Failure { error, violations: Vec::new(), cancel: "none" }
    }
}

impl Call {
    /// A text argument.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.arguments.get(name).and_then(Value::as_str)
    }

    /// The scope of the operation key: this caller's, for the tool that writes.
    pub fn scope(&self) -> Option<Scope> {
        Scope::new(&self.identity.principal, "update_status", self.text("operation_key")?)
    }

    /// What the key stands for: everything that the change depends on, the tenant included.
    fn key(&self) -> Option<Key> {
        let mut payload = self.arguments.clone();
        payload.remove("operation_key");
        payload.insert("tenant".into(), self.identity.tenant.clone().into());
        Some(self.scope()?.key(Value::Object(payload).to_string().as_bytes()))
    }
}

/// Runs a call to its result.
pub async fn run(
    store: Arc<dyn Store>,
    call: Call,
    held: Held,
    progress: Progress,
) -> Result<Value, Failure> {
    progress.enter("acquire", "none");
    let mut held = held.lock_owned().await;
    let session = held.insert(store.acquire().await?);
    match call.tool {
        "report" => report(session.as_mut(), &call, &progress).await,
        "query" => query(session.as_mut(), &call, &progress).await,
        "receipt" => receipt(session.as_mut(), &call, &progress).await,
        _ => update_status(session.as_mut(), &call, &progress).await,
    }
}

async fn report(session: &mut dyn Session, call: &Call, progress: &Progress) -> Result<Value, Failure> {
    progress.enter("execute", "none");
    let limit = call.arguments.get("limit").and_then(Value::as_i64).unwrap_or(20);
    let orders = session.report(&call.identity.tenant, call.text("status"), limit).await?;
    Ok(json!({ "orders": orders }))
}

async fn query(session: &mut dyn Session, call: &Call, progress: &Progress) -> Result<Value, Failure> {
    let sql = call.text("sql").unwrap_or_default();
    progress.change(|stage| stage.statement = Some(sql.to_owned()));
    progress.enter("execute", "open");
    let rows = session.query(&call.identity.tenant, sql).await?;
    Ok(json!({ "rows": rows }))
}

async fn receipt(session: &mut dyn Session, call: &Call, progress: &Progress) -> Result<Value, Failure> {
    let scope = call.scope().ok_or_else(|| Failure::condition("INVALID_KEY"))?;
    progress.enter("execute", "none");
    let LookUp { receipt, fenced } = session.fence(&scope, call.lifetimes, now_ms()).await?;
    Ok(json!({ "receipt": receipt.as_str(), "fenced": fenced }))
}

async fn update_status(
    session: &mut dyn Session,
    call: &Call,
    progress: &Progress,
) -> Result<Value, Failure> {
    let key = call.key().ok_or_else(|| Failure::condition("INVALID_KEY"))?;
    let order_id = call.arguments.get("order_id").and_then(Value::as_i64).unwrap_or_default();
    let status = call.text("status").unwrap_or_default();

    // The claim is no part of the change: whatever becomes of it, nothing has been changed.
    progress.change(|stage| stage.is_claiming = true);
    let claim = session.claim(&key, call.lifetimes, call.began_ms).await?;
    progress.change(|stage| stage.is_claiming = false);
    let ticket = match claim {
        Claim::New(ticket) => ticket,
        Claim::Committed(result) => return Ok(serde_json::from_str(&result).unwrap_or(Value::Null)),
        Claim::Reused => return Err(Failure::condition("KEY_REUSED")),
        // A look-up has been told that this attempt has no effect, and so it has none.
        Claim::Fenced => return Err(Failure::condition("COMMIT_ROLLED_BACK")),
        Claim::InFlight => return Err(looked_up(progress, "pending", "IN_PROGRESS")),
        Claim::Expired => return Err(looked_up(progress, "expired", "OUTCOME_UNKNOWN")),
    };
    progress.change(|stage| stage.ticket = Some(ticket.clone()));

    progress.enter("execute", "open");
    session.begin().await?;
    if session.change(&call.identity.tenant, order_id, status).await? == 0 {
        return Err(Failure::condition("NOT_FOUND"));
    }
    let result = json!({ "order_id": order_id, "status": status });
    if !session.receipt(&ticket, &result.to_string()).await? {
        // The same, after the claim.
        return Err(Failure::condition("COMMIT_ROLLED_BACK"));
    }
    progress.enter("commit", "committing");
    session.commit().await?;
    progress.enter("done", "committed");
    Ok(result)
}

fn looked_up(progress: &Progress, receipt: &'static str, condition: &str) -> Failure {
    progress.change(|stage| stage.receipt = Some(receipt));
    progress.enter("execute", "none");
    Failure::condition(condition)
}

/// Milliseconds since the Unix epoch.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
