//! Operations and attempts as OpenTelemetry sees them: one span an operation, a child span an attempt, and counts.
//!
//! The names are those of the semantic conventions for databases, MCP and GenAI, and `retort.` for the rest. Everything
//! exported is an attribute of a record that the contract declares safe: an error is its public code, in `error.type`
//! as in the status. No exception's message and no statement gets near a span. Following the conventions, an attempt
//! that was retried marks its own span alone; the operation's says how the operation ended.

mod export;
mod logs;

use std::time::SystemTime;

use opentelemetry::metrics::{Counter, Histogram, Meter, MeterProvider};
use opentelemetry::trace::{Span as _, SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use retort::observe::{AttemptRecord, OperationRecord, summarise};
use serde::Serialize;

pub use export::{ExportError, Exporters};
pub use logs::{DIAGNOSTICS, diagnostics_layer, is_no_diagnostic, log_diagnostic};

// Names of OpenTelemetry's semantic conventions: those for databases (stable), and those for MCP and GenAI, which have a
// repository of their own, open-telemetry/semantic-conventions-genai.
const DB_OPERATION_NAME: &str = "db.operation.name";
const DB_RESPONSE_STATUS_CODE: &str = "db.response.status_code";
const DB_SYSTEM_NAME: &str = "db.system.name";
const ERROR_TYPE: &str = "error.type";
const GEN_AI_OPERATION_NAME: &str = "gen_ai.operation.name";
const GEN_AI_TOOL_NAME: &str = "gen_ai.tool.name";
const JSONRPC_REQUEST_ID: &str = "jsonrpc.request.id";
const MCP_METHOD_NAME: &str = "mcp.method.name";
const MCP_PROTOCOL_VERSION: &str = "mcp.protocol.version";
const NETWORK_TRANSPORT: &str = "network.transport";
const DB_CLIENT_OPERATION_DURATION: &str = "db.client.operation.duration";
const MCP_SERVER_OPERATION_DURATION: &str = "mcp.server.operation.duration";

/// The scope of every span and instrument.
const SCOPE: &str = "retort";
/// The method of MCP that calls a tool.
const TOOLS_CALL: &str = "tools/call";
/// The attributes of an attempt that are few enough for metrics.
const METRIC_ATTRIBUTES: &[&str] = &[
    ERROR_TYPE,
    DB_SYSTEM_NAME,
    DB_RESPONSE_STATUS_CODE,
    "retort.category",
    "retort.outcome",
    "retort.next",
];
/// Bounds in seconds, as the conventions for databases advise.
const DATABASE_BOUNDS: &[f64] = &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];
/// Bounds in seconds, as the conventions for MCP advise.
const TOOL_BOUNDS: &[f64] = &[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// The tracer and the instruments.
#[derive(Debug)]
pub struct Telemetry {
    tracer: SdkTracer,
    attempt_seconds: Histogram<f64>,
    operation_seconds: Histogram<f64>,
    errors: Counter<u64>,
    retries: Counter<u64>,
}

/// What a server knows of a call besides its tool.
#[derive(Clone, Debug, Default)]
pub struct Carriage {
    /// `mcp.protocol.version`, where it is one that the server knows.
    pub protocol_version: Option<String>,
    /// `network.transport`: `pipe` or `tcp`.
    pub transport: Option<&'static str>,
    /// `jsonrpc.request.id`, where it is a number: a text of the client's may hold anything.
    pub request_id: Option<i64>,
    /// Attempts at the same operation in earlier calls.
    pub earlier_attempts: u32,
}

impl Telemetry {
    /// Writes to nobody.
    pub fn silent() -> Telemetry {
        Telemetry::new(&SdkTracerProvider::builder().build(), &SdkMeterProvider::builder().build())
    }

    /// Writes to these providers.
    pub fn new(traces: &SdkTracerProvider, metrics: &SdkMeterProvider) -> Telemetry {
        let meter: Meter = metrics.meter(SCOPE);
        let seconds = |name, bounds: &[f64], description| {
            meter
                .f64_histogram(name)
                .with_unit("s")
                .with_boundaries(bounds.to_vec())
                .with_description(description)
                .build()
        };
        let count = |name, unit, description| {
            meter.u64_counter(name).with_unit(unit).with_description(description).build()
        };
        Telemetry {
            tracer: traces.tracer(SCOPE),
            attempt_seconds: seconds(
                DB_CLIENT_OPERATION_DURATION,
                DATABASE_BOUNDS,
                "Duration of attempts at database operations.",
            ),
            operation_seconds: seconds(
                MCP_SERVER_OPERATION_DURATION,
                TOOL_BOUNDS,
                "Duration of tool calls, retries included.",
            ),
            errors: count("retort.errors", "{error}", "Failed attempts by code and outcome."),
            retries: count("retort.retries", "{retry}", "Attempts after an operation's first."),
        }
    }

    /// An operation begins: a tool is called. `parent` is the caller's context, from its traceparent.
    pub fn operation(&self, tool: &str, parent: &Context, at: SystemTime) -> OperationSpan<'_> {
        let tool = KeyValue::new(GEN_AI_TOOL_NAME, String::from(tool));
        let span = self
            .tracer
            .span_builder(format!("{TOOLS_CALL} {}", tool.value))
            .with_kind(SpanKind::Server)
            .with_start_time(at)
            .with_attributes([
                KeyValue::new(MCP_METHOD_NAME, TOOLS_CALL),
                KeyValue::new(GEN_AI_OPERATION_NAME, "execute_tool"),
                tool.clone(),
            ])
            .start_with_context(&self.tracer, parent);
        let context = parent.with_span(span);
        OperationSpan {
            telemetry: self,
            context,
            measured: vec![KeyValue::new(MCP_METHOD_NAME, TOOLS_CALL), tool],
            began: at,
            failures: Vec::new(),
            attempts: 0,
            earlier_attempts: 0,
        }
    }
}

/// The span of an operation. It ends with [`OperationSpan::end`].
#[derive(Debug)]
pub struct OperationSpan<'t> {
    telemetry: &'t Telemetry,
    context: Context,
    /// The attributes of its metric.
    measured: Vec<KeyValue>,
    began: SystemTime,
    failures: Vec<AttemptRecord>,
    attempts: u64,
    earlier_attempts: u32,
}

impl OperationSpan<'_> {
    /// The context to give on, with this span in it.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The trace that the operation belongs to: the caller's, else a new one.
    pub fn trace_id(&self) -> String {
        self.context.span().span_context().trace_id().to_string()
    }

    /// Says how the call came, and which attempt it is.
    pub fn carried(&mut self, carriage: Carriage) {
        let protocol = carriage.protocol_version.map(|version| KeyValue::new(MCP_PROTOCOL_VERSION, version));
        let transport = carriage.transport.map(|transport| KeyValue::new(NETWORK_TRANSPORT, transport));
        let request = carriage.request_id.map(|id| KeyValue::new(JSONRPC_REQUEST_ID, id.to_string()));
        let few: Vec<KeyValue> = protocol.into_iter().chain(transport).collect();
        self.context.span().set_attributes(few.iter().cloned().chain(request));
        self.measured.extend(few);
        self.earlier_attempts = carriage.earlier_attempts;
    }

    /// One attempt, from `began` to `ended`, on a system by its `db.system.name`. `operation` is the statement's verb,
    /// such as `INSERT`, and `failure` the record of its verdict where it failed.
    pub fn attempt(
        &mut self,
        system: &'static str,
        operation: Option<&'static str>,
        (began, ended): (SystemTime, SystemTime),
        failure: Option<&AttemptRecord>,
    ) {
        let telemetry = self.telemetry;
        let mut attributes = vec![KeyValue::new(DB_SYSTEM_NAME, system)];
        attributes.extend(operation.map(|verb| KeyValue::new(DB_OPERATION_NAME, verb)));
        let mut measured = attributes.clone();
        if let Some(record) = failure {
            attributes = merge(attributes, self::attributes(record));
            let low = |attribute: &KeyValue| METRIC_ATTRIBUTES.contains(&attribute.key.as_str());
            measured =
                merge(measured, attributes.iter().filter(|attribute| low(attribute)).cloned().collect());
            telemetry.errors.add(1, &measured);
        }
        self.count_retry();
        telemetry.attempt_seconds.record(seconds(began, ended), &measured);
        let mut span = telemetry
            .tracer
            .span_builder(operation.unwrap_or(system))
            .with_kind(SpanKind::Client)
            .with_start_time(began)
            .with_attributes(attributes)
            .start_with_context(&telemetry.tracer, &self.context);
        if let Some(record) = failure {
            span.set_status(Status::error(record.error_type.as_str()));
        }
        span.end_with_timestamp(ended);
        self.attempts += 1;
        self.failures.extend(failure.cloned());
    }

    /// An attempt that was refused before it got to the database: it has no span of its own.
    pub fn refuse(&mut self, failure: &AttemptRecord) {
        let low = |attribute: &KeyValue| METRIC_ATTRIBUTES.contains(&attribute.key.as_str());
        let measured: Vec<KeyValue> = attributes(failure).into_iter().filter(low).collect();
        self.telemetry.errors.add(1, &measured);
        self.count_retry();
        self.failures.push(failure.clone());
    }

    fn count_retry(&self) {
        if self.attempts > 0 || self.earlier_attempts > 0 {
            let tool = self.measured.iter().filter(|attribute| attribute.key.as_str() == GEN_AI_TOOL_NAME);
            self.telemetry.retries.add(1, &tool.cloned().collect::<Vec<_>>());
        }
    }

    /// The operation ends; `is_failed` where its caller gets an envelope.
    pub fn end(self, is_failed: bool, at: SystemTime) -> OperationRecord {
        let record = summarise(&self.failures);
        let span = self.context.span();
        let mut measured = self.measured;
        span.set_attribute(KeyValue::new(
            "retort.attempts",
            i64::try_from(self.attempts).unwrap_or(i64::MAX),
        ));
        if let Some(code) = record.final_code.filter(|_| is_failed) {
            span.set_attributes(
                attributes(&record)
                    .into_iter()
                    .filter(|attribute| attribute.key.as_str() != "retort.attempts"),
            );
            span.set_status(Status::error(code.as_str()));
            measured.push(KeyValue::new(ERROR_TYPE, code.as_str()));
        }
        span.end_with_timestamp(at);
        self.telemetry.operation_seconds.record(seconds(self.began, at), &measured);
        record
    }
}

/// The attributes of a record: it is flat, and spelled as attributes are.
fn attributes(record: &impl Serialize) -> Vec<KeyValue> {
    let Ok(serde_json::Value::Object(members)) = serde_json::to_value(record) else {
        return Vec::new();
    };
    let attribute = |(name, value): (String, serde_json::Value)| {
        let value = match value {
            serde_json::Value::Bool(value) => Value::Bool(value),
            serde_json::Value::Number(value) => Value::I64(value.as_i64()?),
            serde_json::Value::String(value) => Value::String(value.into()),
            _ => return None,
        };
        Some(KeyValue::new(name, value))
    };
    members.into_iter().filter_map(attribute).collect()
}

/// Both lists; where they name the same attribute, the second's.
fn merge(first: Vec<KeyValue>, second: Vec<KeyValue>) -> Vec<KeyValue> {
    let is_new = |attribute: &KeyValue| second.iter().all(|other| other.key != attribute.key);
    first.into_iter().filter(is_new).chain(second.iter().cloned()).collect()
}

/// Seconds between two times; a clock that was set back gives 0.
fn seconds(from: SystemTime, to: SystemTime) -> f64 {
    to.duration_since(from).unwrap_or_default().as_secs_f64()
}
