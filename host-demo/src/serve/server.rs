//! The MCP server: checks, runs and watches over calls, and turns every failure into an envelope.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use retort::words::Outcome;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as PublishedTool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};
use tokio::sync::RwLock;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::flow::{self, Call, Failure, Held, Progress, now_ms};
use super::identity::{Identity, Role};
use super::store::Store;
use super::tools::{self, TOOLS, Tool};
use crate::attempts::{Attempts, Begun, Identity as Operation};
use crate::diagnostics::Diagnostics;
use crate::receipts::{KEY_CONSTRAINT, Lifetimes};
use crate::{Contract, ids};

/// What all calls share.
pub struct Host {
    /// Who judges.
    pub contract: Box<dyn Contract>,
    /// The database.
    pub store: Arc<dyn Store>,
    /// Where diagnostics go.
    pub diagnostics: Mutex<Diagnostics>,
    /// Attempts across calls.
    pub attempts: Mutex<Attempts>,
    /// How long a call may take.
    pub deadline: Duration,
    /// How long claims and receipts last.
    pub lifetimes: Lifetimes,
    /// The numbers that backoff works with, as in a report's `policy`.
    pub policy: Value,
    /// When the server began.
    pub began: Instant,
    /// Held for reading by every call under way; a shutdown waits for it.
    pub calls: Arc<RwLock<()>>,
}

/// One connection's or session's view of the host.
#[derive(Clone)]
pub struct Server {
    host: Arc<Host>,
    /// Who asks, where it is not in the request (stdio).
    session: Option<Identity>,
}

/// What a report says of the call besides its stage.
struct About {
    tool: &'static Tool,
    call: Call,
    trace_id: String,
    operation: Operation,
    begun: Begun,
    started: Instant,
    may_know: bool,
}

impl Server {
    /// A server for one session; `session` is who asks where requests do not carry it themselves.
    pub fn new(host: Arc<Host>, session: Option<Identity>) -> Server {
        Server { host, session }
    }

    fn identity(&self, context: &RequestContext<RoleServer>) -> Option<Identity> {
        let request = context.extensions.get::<axum::http::request::Parts>();
        request.and_then(|parts| parts.extensions.get::<Identity>()).or(self.session.as_ref()).cloned()
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("retort", env!("CARGO_PKG_VERSION")))
            .with_instructions("Errors are JSON envelopes: obey `retryable`, `retry_after_ms` and `next`; `describe` explains them.")
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(publish).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = TOOLS.iter().find(|tool| tool.name == request.name);
        // Nothing has been sent yet, and the caller is at fault: the two cases for which JSON-RPC has its errors.
        let tool = tool.ok_or_else(|| ErrorData::invalid_params("unknown tool", None))?;
        let identity =
            self.identity(&context).ok_or_else(|| ErrorData::invalid_request("no identity", None))?;
        let trace_id = trace_id(context.meta.get_traceparent());
        let arguments = request.arguments.unwrap_or_default();
        let (host, cancelled) = (Arc::clone(&self.host), context.ct.clone());
        // In a task of its own: a call that the transport gives up still ends its transaction and settles its key.
        let under_way = Arc::clone(&host.calls).read_owned().await;
        let task = tokio::spawn(async move {
            let result = host.call(tool, arguments, identity, trace_id, cancelled).await;
            drop(under_way);
            result
        });
        task.await.map(CallToolResponse::from).map_err(|_| ErrorData::internal_error("the tool failed", None))
    }
}

impl Host {
    async fn call(
        self: Arc<Self>,
        tool: &'static Tool,
        arguments: Map<String, Value>,
        identity: Identity,
        trace_id: String,
        cancelled: CancellationToken,
    ) -> CallToolResult {
        if tool.name == "describe" {
            return CallToolResult::structured(self.describe());
        }
        let call = Call { tool: tool.name, arguments, identity, lifetimes: self.lifetimes };
        let operation = operation(tool, &call);
        let begun = self.attempts().begin(operation, self.elapsed_ms());
        let first = Begun { number: 1, prior: retort::words::Prior::None, elapsed_ms: 0 };
        let started = Instant::now();
        let may_know = call.identity.role != Role::Suspended;
        let about =
            About { tool, call, trace_id, operation, begun: begun.unwrap_or(first), started, may_know };
        let (held, progress) = (Held::default(), Progress::default());
        let result = match begun {
            None => Err(Failure::condition("RESOURCE_EXHAUSTED")),
            Some(_) => match check(&about, &progress) {
                Ok(()) => self.watch(&about, &held, &progress, cancelled).await,
                Err(failure) => Err(failure),
            },
        };
        match result {
            Ok(value) => {
                self.attempts().succeed(about.operation);
                CallToolResult::structured(self.with_verdict(&about, value))
            }
            Err(failure) => self.fail(&about, &failure, held, &progress).await,
        }
    }

    /// Runs a call until it ends, its time is over, or its caller has gone. A COMMIT under way is never cut off.
    async fn watch(
        &self,
        about: &About,
        held: &Held,
        progress: &Progress,
        cancelled: CancellationToken,
    ) -> Result<Value, Failure> {
        let run = flow::run(Arc::clone(&self.store), about.call.clone(), Arc::clone(held), progress.clone());
        let mut task = tokio::spawn(run);
        let interrupted = async {
            cancelled.cancelled().await;
            while progress.is_committing() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let condition = tokio::select! {
            ended = &mut task => return ended.unwrap_or_else(|_| Err(Failure::condition("TOOL_FAULT"))),
            () = tokio::time::sleep(self.deadline) => "DB_TIMEOUT",
            () = interrupted => "CANCELLED",
        };
        task.abort();
        // It may have ended just before it was told to.
        if let Ok(ended) = task.await {
            return ended;
        }
        Err(Failure { cancel: "requested", ..Failure::condition(condition) })
    }

    /// Judges a failure, cleans up as the decision says, records the diagnostic, and only then answers.
    async fn fail(
        &self,
        about: &About,
        failure: &Failure,
        held: Held,
        progress: &Progress,
    ) -> CallToolResult {
        let report = self.report(about, failure, progress);
        let verdict_text = self.contract.evaluate(&report.to_string());
        let verdict: Value = serde_json::from_str(&verdict_text).unwrap_or_default();
        if let Some(session) = held.lock().await.take() {
            session.clean(verdict["decision"]["cleanup"].as_str().unwrap_or("discard_connection")).await;
        }
        let outcome =
            verdict["envelope"]["outcome"].as_str().and_then(Outcome::parse).unwrap_or(Outcome::Unknown);
        self.attempts().fail(about.operation, outcome);
        if outcome.is_without_effect() {
            self.release(about, progress).await;
        }
        self.record(&verdict);
        let rendered = self.contract.render(&format!(r#"{{"verdict":{verdict_text},"as":"mcp"}}"#));
        serde_json::from_str(&rendered)
            .unwrap_or_else(|_| CallToolResult::structured_error(verdict["envelope"].clone()))
    }

    /// Gives the key back, so that the next attempt need not wait for the lease's end.
    async fn release(&self, about: &About, progress: &Progress) {
        let stage = progress.stage();
        let release = async {
            match (stage.ticket, about.call.scope()) {
                (Some(ticket), _) => self.store.acquire().await?.release(&ticket).await,
                // Whether the key was claimed is not known; that it shall not stay claimed is.
                (None, Some(scope)) if stage.is_claiming => {
                    self.store.acquire().await?.fence(&scope, now_ms()).await.map(drop)
                }
                _ => Ok(()),
            }
        };
        // Where this fails the lease runs out by itself.
        let _ = timeout(Duration::from_secs(1), release).await;
    }

    fn record(&self, verdict: &Value) {
        let trace_id = verdict["diagnostic"]["trace_id"].as_str().unwrap_or_default();
        let mut store = self.diagnostics.lock().unwrap_or_else(PoisonError::into_inner);
        if store.append(trace_id, &verdict["diagnostic"].to_string(), now_ms()).is_err() {
            tracing::error!(trace_id, "a diagnostic could not be recorded");
        }
        tracing::info!(attempt = %verdict["attempt"], "a call failed");
    }

    fn report(&self, about: &About, failure: &Failure, progress: &Progress) -> Value {
        let (stage, call) = (progress.stage(), &about.call);
        let violation =
            |violation: &tools::Violation| json!({ "argument": violation.argument, "rule": violation.rule });
        json!({
            "error": failure.error,
            "system": self.store.system(),
            "driver": self.store.driver(),
            "operation": {
                "effect": if about.tool.writes { "write" } else { "read" },
                "phase": stage.phase,
                "transaction": stage.transaction,
                "origin": if call.tool == "query" { "model" } else { "tool" },
                "operation_key": call.arguments.get("operation_key").filter(|_| about.tool.writes),
                "dedupe": if about.tool.writes { "receipt" } else { "none" },
                "receipt": stage.receipt,
                "key_constraint": KEY_CONSTRAINT,
                "statement": stage.statement,
            },
            "attempt": {
                "number": about.begun.number,
                "prior": about.begun.prior.as_str(),
                "elapsed_ms": u64::from(about.begun.elapsed_ms) + about.started.elapsed().as_millis() as u64,
                // The next attempt is a call of its own, with a time of its own.
                "deadline_ms": null,
            },
            "cancel": failure.cancel,
            "violations": failure.violations.iter().map(violation).collect::<Vec<_>>(),
            "context": {
                "trace_id": about.trace_id,
                "tool": call.tool,
                "tool_version": tools::VERSION,
                "policy_version": call.identity.policy_version,
                "boundary": "mcp",
                "authorized": about.may_know,
            },
            "policy": self.policy,
            "seed": ids::seed(),
        })
    }

    /// A receipt's answer with what it means for the earlier call.
    fn with_verdict(&self, about: &About, mut value: Value) -> Value {
        if about.tool.name != "receipt" {
            return value;
        }
        let key = about.call.arguments.get("operation_key");
        let earlier = json!({
            "verdict": {
                "code": "OUTCOME_UNKNOWN", "category": "unknown_outcome", "retryable": false, "outcome": "unknown",
                "trace_id": about.trace_id, "message": "", "next": "reconcile", "operation_key": key,
            },
            "receipt": value["receipt"],
            "fenced": value["fenced"],
            "operation": { "effect": "write", "phase": "commit", "transaction": "committing", "operation_key": key, "dedupe": "receipt" },
            "context": { "trace_id": about.trace_id, "tool": "receipt", "authorized": true },
            "policy": self.policy,
            "seed": ids::seed(),
        });
        let verdict: Value =
            serde_json::from_str(&self.contract.reconcile(&earlier.to_string())).unwrap_or_default();
        let outcome = verdict["envelope"]["outcome"].as_str().and_then(Outcome::parse);
        if let (Some(outcome), Some(key)) = (outcome, key.and_then(Value::as_str)) {
            let operation = Operation::of_write(&about.call.identity.principal, "update_status", key);
            self.attempts().settle(operation, outcome);
        }
        value["envelope"] = verdict["envelope"].clone();
        value
    }

    fn describe(&self) -> Value {
        let codes: Value = serde_json::from_str(&self.contract.codes()).unwrap_or_default();
        json!({
            "codes": codes,
            "rules": [
                "Repeat a call only where the envelope says retryable, and not before retry_after_ms.",
                "After OUTCOME_UNKNOWN do not repeat: ask `receipt` for the operation key after check_after_ms.",
                "not_started and not_committed: nothing was changed. committed: it was. unknown: nobody knows yet.",
                "Give trace_id to the operators: it finds the details, which are not for you.",
            ],
        })
    }

    fn attempts(&self) -> std::sync::MutexGuard<'_, Attempts> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Arguments first, then permission: both before anything is sent.
fn check(about: &About, progress: &Progress) -> Result<(), Failure> {
    let violations = tools::violations(&(about.tool.schema)(), &about.call.arguments);
    if let Some(first) = violations.first() {
        return Err(Failure { violations: violations.clone(), ..Failure::condition(first.code) });
    }
    progress.enter("authorize", "none");
    match about.call.identity.role {
        Role::Writer => Ok(()),
        Role::Reader if !about.tool.writes => Ok(()),
        Role::Reader | Role::Suspended => Err(Failure::condition("NOT_AUTHORIZED")),
    }
}

fn operation(tool: &Tool, call: &Call) -> Operation {
    let principal = &call.identity.principal;
    match call.text("operation_key").filter(|_| tool.writes) {
        Some(key) => Operation::of_write(principal, tool.name, key),
        None => Operation::of_read(
            principal,
            tool.name,
            Value::Object(call.arguments.clone()).to_string().as_bytes(),
        ),
    }
}

/// The trace id of the caller's traceparent, else a new one.
fn trace_id(traceparent: Option<&str>) -> String {
    let id = traceparent.and_then(|traceparent| traceparent.split('-').nth(1));
    let is_id = |id: &&str| {
        id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) && id.contains(|digit| digit != '0')
    };
    id.filter(is_id).map_or_else(ids::trace_id, str::to_owned)
}

fn publish(tool: &Tool) -> PublishedTool {
    let schema: JsonObject = (tool.schema)().as_object().cloned().unwrap_or_default();
    let annotations =
        ToolAnnotations::from_raw(None, Some(!tool.writes), Some(false), Some(true), Some(false));
    PublishedTool::new(tool.name, tool.description, schema).with_annotations(annotations)
}

#[cfg(test)]
mod tests;
