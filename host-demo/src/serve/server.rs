//! The MCP server: checks, runs and watches over calls, and answers each with its result or an envelope.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use opentelemetry::Context;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use retort::words::Prior;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, JsonObject, ListToolsResult,
    NumberOrString, PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
    Tool as PublishedTool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

use super::flow::{self, Call, Failure, Held, Progress, now_ms};
use super::identity::{Identity, Role};
use super::store::Store;
use super::tools::{self, TOOLS, Tool};
use crate::Contract;
use crate::attempts::{Attempts, Begun, Identity as Operation};
use crate::budget::Budget;
use crate::diagnostics::Diagnostics;
use crate::receipts::Lifetimes;
use crate::telemetry::{Carriage, OperationSpan, Telemetry};

/// What all calls share.
pub struct Host {
    /// Who judges.
    pub contract: Arc<dyn Contract>,
    /// The database.
    pub store: Arc<dyn Store>,
    /// Where diagnostics go.
    pub diagnostics: Mutex<Diagnostics>,
    /// Attempts across calls.
    pub attempts: Mutex<Attempts>,
    /// Retry tokens; `None` where no budget is kept.
    pub budget: Option<Budget>,
    /// Spans and metrics.
    pub telemetry: Telemetry,
    /// How long a call may take.
    pub deadline: Duration,
    /// How long claims and receipts last.
    pub lifetimes: Lifetimes,
    /// The numbers that backoff works with, as in a report's `policy`.
    pub policy: Value,
    /// When the server began.
    pub began: Instant,
    /// Held for reading by every call under way. A shutdown takes it for writing, once and for all.
    pub calls: Arc<RwLock<()>>,
}

/// One connection's or session's view of the host.
#[derive(Clone)]
pub struct Server {
    host: Arc<Host>,
    /// Who asks, where it is not in the request (stdio).
    session: Option<Identity>,
}

/// A call as it came in.
struct Request {
    tool: &'static Tool,
    arguments: Map<String, Value>,
    identity: Identity,
    /// The caller's trace.
    parent: Context,
    carriage: Carriage,
    /// Says that the caller has gone.
    cancelled: CancellationToken,
    /// Is the server shutting down?
    is_late: bool,
}

/// What a report says of the call besides its stage.
pub(super) struct About {
    pub tool: &'static Tool,
    pub call: Call,
    pub trace_id: String,
    pub operation: Operation,
    pub begun: Begun,
    pub started: Instant,
    pub may_know: bool,
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

    fn carriage(&self, context: &RequestContext<RoleServer>) -> Carriage {
        let protocol = context.protocol_version();
        let protocol = protocol.filter(|version| ProtocolVersion::KNOWN_VERSIONS.contains(version));
        Carriage {
            protocol_version: protocol.map(|version| version.to_string()),
            transport: Some(if self.session.is_some() { "pipe" } else { "tcp" }),
            request_id: match context.id {
                NumberOrString::Number(id) => Some(id),
                NumberOrString::String(_) => None,
            },
            earlier_attempts: 0,
        }
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
        let under_way = Arc::clone(&self.host.calls).try_read_owned();
        let request = Request {
            tool,
            arguments: request.arguments.unwrap_or_default(),
            identity,
            parent: parent(context.meta.get_traceparent()),
            carriage: self.carriage(&context),
            cancelled: context.ct.clone(),
            is_late: under_way.is_err(),
        };
        let host = Arc::clone(&self.host);
        // In a task of its own: a call that the transport gives up still ends its transaction and settles its key.
        let task = tokio::spawn(async move {
            let result = host.call(request).await;
            drop(under_way);
            result
        });
        let result = task.await.unwrap_or_else(|_| self.host.fault(tool));
        Ok(CallToolResponse::from(result))
    }
}

impl Host {
    async fn call(self: Arc<Self>, request: Request) -> CallToolResult {
        let Request { tool, arguments, identity, parent, mut carriage, cancelled, is_late } = request;
        let call =
            Call { tool: tool.name, arguments, identity, lifetimes: self.lifetimes, began_ms: now_ms() };
        let operation = operation(tool, &call);
        let begun = self.attempts().begin(operation, self.elapsed_ms());
        let first = Begun { number: 1, prior: Prior::None, elapsed_ms: 0 };
        let began = SystemTime::now();
        let mut span = self.telemetry.operation(tool.name, &parent, began);
        carriage.earlier_attempts = begun.map_or(0, |begun| begun.number - 1);
        span.carried(carriage);
        let about = About {
            tool,
            trace_id: span.trace_id(),
            operation,
            begun: begun.unwrap_or(first),
            started: Instant::now(),
            may_know: call.identity.role != Role::Suspended,
            call,
        };
        let (held, progress) = (Held::default(), Progress::default());
        let admitted = match (begun, is_late) {
            (_, true) => Err(Failure::condition("DB_UNAVAILABLE")),
            (None, _) => Err(Failure::condition("RESOURCE_EXHAUSTED")),
            (Some(_), _) => check(&about, &progress),
        };
        let result = match admitted {
            Ok(()) if tool.name == "describe" => Ok(self.describe()),
            Ok(()) => self.watch(&about, &held, &progress, cancelled).await,
            Err(failure) => Err(failure),
        };
        match result {
            Ok(value) => {
                self.attempts().succeed(about.operation);
                if let Some(budget) = &self.budget {
                    budget.refund().await;
                }
                if progress.is_at_database() {
                    span.attempt(self.store.system(), tool.verb, (began, SystemTime::now()), None);
                }
                span.end(false, SystemTime::now());
                CallToolResult::structured(self.with_verdict(&about, value))
            }
            Err(failure) => {
                let (result, attempt) = self.fail(&about, &failure, held, &progress).await;
                self.observe(&mut span, &about, &progress, began, &attempt);
                span.end(true, SystemTime::now());
                result
            }
        }
    }

    /// Gives a failed attempt to telemetry.
    fn observe(
        &self,
        span: &mut OperationSpan<'_>,
        about: &About,
        progress: &Progress,
        began: SystemTime,
        attempt: &Value,
    ) {
        let text = attempt.to_string();
        let record = retort::json::Json::read(&text).ok();
        match record.and_then(|record| retort::observe::AttemptRecord::read(&record)) {
            Some(record) if progress.is_at_database() => {
                let times = (began, SystemTime::now());
                span.attempt(self.store.system(), about.tool.verb, times, Some(&record));
            }
            Some(record) => span.refuse(&record),
            // Not even the constant verdict of a failed judge is without a record.
            None => tracing::error!("a verdict has no attempt record"),
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
        let failure = tokio::select! {
            ended = &mut task => return ended.unwrap_or_else(|_| Err(Failure::condition("TOOL_FAULT"))),
            () = tokio::time::sleep(self.deadline) => Failure::condition("DB_TIMEOUT"),
            () = interrupted => Failure { cancel: "requested", ..Failure::condition("CANCELLED") },
        };
        task.abort();
        // It may have ended just before it was told to.
        if let Ok(ended) = task.await {
            return ended;
        }
        Err(failure)
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

    pub(super) fn attempts(&self) -> std::sync::MutexGuard<'_, Attempts> {
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

/// The caller's trace, where its traceparent names one.
fn parent(traceparent: Option<&str>) -> Context {
    let carrier = traceparent.map(|traceparent| (String::from("traceparent"), String::from(traceparent)));
    let carrier: std::collections::HashMap<String, String> = carrier.into_iter().collect();
    TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier)
}

fn publish(tool: &Tool) -> PublishedTool {
    let schema: JsonObject = (tool.schema)().as_object().cloned().unwrap_or_default();
    let annotations =
        ToolAnnotations::from_raw(None, Some(!tool.writes), Some(false), Some(true), Some(false));
    PublishedTool::new(tool.name, tool.description, schema).with_annotations(annotations)
}

#[cfg(test)]
mod tests;
