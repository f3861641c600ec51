//! Envelope → carriers: MCP's CallToolResult, RFC 9457 problem+json, google.rpc.Status, text for people.
//!
//! Middleboxes retry by status alone, so the statuses they retry (429, 503; gRPC UNAVAILABLE, RESOURCE_EXHAUSTED,
//! ABORTED) are given only where the envelope is retryable.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use crate::codes::Code;
use crate::publish::Envelope;
use crate::words::{Category, Next};

/// The key of the envelope in an MCP result's `_meta`.
pub const META_KEY: &str = "dev.retort/error";

/// The domain of `google.rpc.ErrorInfo`.
const DOMAIN: &str = "retort.dev";

/// Renders for a carrier: `mcp`, `problem`, `status`, `text`. Any other word gives `mcp`.
pub fn render(envelope: &Envelope, format: &str) -> String {
    match format {
        "problem" => to_json(&Problem::of(envelope)),
        "status" => to_json(&Status::of(envelope)),
        "text" => text(envelope),
        _ => to_json(&CallToolResult::of(envelope)),
    }
}

/// The HTTP status: one that middleboxes retry only where a retry is safe.
pub const fn http_status(envelope: &Envelope) -> u16 {
    match (envelope.category(), envelope.code()) {
        (Category::Validation, Code::RequestTooLarge) => 413,
        (Category::Validation, _) => 400,
        (Category::Clarification, _) => 422,
        (Category::Authorization, _) => 403,
        (Category::NotFound, _) => 404,
        (Category::Conflict, _) | (_, Code::AlreadyApplied) => 409,
        (Category::Transient, Code::RateLimited) if envelope.retryable() => 429,
        (Category::Transient, _) if envelope.retryable() => 503,
        (_, Code::UnsupportedOperation) => 501,
        _ => 500,
    }
}

/// The gRPC status code: one that middleboxes retry only where a retry is safe.
pub const fn grpc_status(envelope: &Envelope) -> u8 {
    match (envelope.category(), envelope.code()) {
        (Category::Validation, Code::OutOfRange) => 11,
        (Category::Validation, _) => 3,
        (Category::Clarification, _) => 9,
        (Category::Authorization, Code::CredentialsRejected) => 16,
        (Category::Authorization, _) => 7,
        (Category::NotFound, _) => 5,
        (_, Code::UniqueViolation | Code::AlreadyExists | Code::AlreadyApplied) => 6,
        (Category::Conflict, _) => 9,
        (Category::Transient, Code::RateLimited | Code::ResourceExhausted) if envelope.retryable() => 8,
        (Category::Transient, Code::Deadlock | Code::SerializationFailure | Code::CommitRolledBack)
            if envelope.retryable() =>
        {
            10
        }
        (Category::Transient, _) if envelope.retryable() => 14,
        (Category::UnknownOutcome, _) => 2,
        (_, Code::Cancelled) => 1,
        (_, Code::UnsupportedOperation) => 12,
        (_, Code::DataCorrupted) => 15,
        _ => 13,
    }
}

/// MCP: `isError`, exactly one text block, and the same object in `_meta`.
#[derive(Serialize)]
struct CallToolResult<'a> {
    content: [TextBlock; 1],
    #[serde(rename = "isError")]
    is_error: bool,
    #[serde(rename = "_meta")]
    meta: Meta<'a>,
}

#[derive(Serialize)]
struct TextBlock {
    #[serde(rename = "type")]
    kind: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Meta<'a> {
    #[serde(rename = "dev.retort/error")]
    error: &'a Envelope,
}

impl CallToolResult<'_> {
    fn of(envelope: &Envelope) -> CallToolResult<'_> {
        CallToolResult {
            content: [TextBlock { kind: "text", text: to_json(envelope) }],
            is_error: true,
            meta: Meta { error: envelope },
        }
    }
}

/// RFC 9457. Data stand in members of their own, never in `detail`.
#[derive(Serialize)]
struct Problem<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    instance: String,
    #[serde(flatten)]
    envelope: &'a Envelope,
}

impl Problem<'_> {
    fn of(envelope: &Envelope) -> Problem<'_> {
        Problem {
            kind: format!("urn:retort:code:{}", envelope.code().as_str()),
            title: envelope.message(),
            status: http_status(envelope),
            instance: format!("urn:retort:trace:{}", envelope.trace_id()),
            envelope,
        }
    }
}

/// `google.rpc.Status` with ErrorInfo, RequestInfo and, where a retry is safe, RetryInfo.
#[derive(Serialize)]
struct Status<'a> {
    code: u8,
    message: &'static str,
    details: Vec<Detail<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "@type")]
enum Detail<'a> {
    #[serde(rename = "type.googleapis.com/google.rpc.ErrorInfo")]
    Error { reason: &'static str, domain: &'static str, metadata: Metadata<'a> },
    #[serde(rename = "type.googleapis.com/google.rpc.RequestInfo")]
    Request {
        #[serde(rename = "requestId")]
        request_id: &'a str,
    },
    #[serde(rename = "type.googleapis.com/google.rpc.RetryInfo")]
    Retry {
        #[serde(rename = "retryDelay")]
        retry_delay: String,
    },
}

#[derive(Serialize)]
struct Metadata<'a> {
    category: &'static str,
    outcome: &'static str,
    next: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a str>,
}

impl Status<'_> {
    fn of(envelope: &Envelope) -> Status<'_> {
        let metadata = Metadata {
            category: envelope.category().as_str(),
            outcome: envelope.outcome().as_str(),
            next: envelope.next().as_str(),
            operation_key: envelope.operation_key(),
            reference: envelope.reference(),
        };
        let mut details = Vec::from([
            Detail::Error { reason: envelope.code().as_str(), domain: DOMAIN, metadata },
            Detail::Request { request_id: envelope.trace_id() },
        ]);
        if let Some(delay) = envelope.retry_after_ms() {
            details.push(Detail::Retry { retry_delay: format!("{}.{:03}s", delay / 1000, delay % 1000) });
        }
        Status { code: grpc_status(envelope), message: envelope.message(), details }
    }
}

/// Text for people: what happened, what became of the write, what to do.
fn text(envelope: &Envelope) -> String {
    let wait = |delay: Option<u32>| delay.map_or(String::new(), |delay| format!(" after {delay} ms"));
    let next = match envelope.next() {
        Next::Retry | Next::Resubmit => wait(envelope.retry_after_ms()),
        Next::Reconcile => wait(envelope.check_after_ms()),
        _ => String::new(),
    };
    format!(
        "{}: {}\nOutcome: {}. Next: {}{next}. Trace: {}",
        envelope.code().as_str(),
        envelope.message(),
        envelope.outcome().as_str(),
        envelope.next().as_str(),
        envelope.trace_id(),
    )
}

/// The JSON of a value. Writing into a string cannot fail for these types; the empty text stands for the impossible.
pub(crate) fn to_json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
