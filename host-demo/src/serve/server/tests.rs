//! What the server does when a tool's own code fails.

use async_trait::async_trait;
use opentelemetry::trace::Status;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::Native;
use crate::budget::InProcess;
use crate::diagnostics::Bounds;
use crate::receipts::sqlite as receipts;
use crate::receipts::{Claim, Key, LookUp, Scope, Ticket};
use crate::serve::store::{Raw, Session};

/// A store whose sessions panic at a step.
struct Faulty {
    at: &'static str,
}

struct FaultySession {
    at: &'static str,
}

impl FaultySession {
    fn step(&self, step: &str) {
        assert!(self.at != step, "a fault in the tool's own code");
    }
}

#[async_trait]
impl Store for Faulty {
    fn system(&self) -> &'static str {
        "sqlite"
    }

    fn driver(&self) -> &'static str {
        "rusqlite"
    }

    async fn acquire(&self) -> Result<Box<dyn Session>, Raw> {
        if self.at == "busy" {
            return Err(json!({ "name": "r2d2::Error", "message": "timed out waiting for connection" }));
        }
        Ok(Box::new(FaultySession { at: self.at }))
    }
}

#[async_trait]
impl Session for FaultySession {
    async fn report(&mut self, _: &str, _: Option<&str>, _: i64) -> Result<Value, Raw> {
        Ok(json!([]))
    }

    async fn query(&mut self, _: &str, _: &str) -> Result<Value, Raw> {
        self.step("query");
        Ok(json!([]))
    }

    async fn claim(&mut self, key: &Key, lifetimes: Lifetimes, now_ms: i64) -> Result<Claim, Raw> {
        let store = rusqlite::Connection::open_in_memory().expect("a store in memory");
        receipts::create(&store).expect("its table");
        Ok(receipts::claim(&store, key, lifetimes, now_ms).expect("a claim"))
    }

    async fn begin(&mut self) -> Result<(), Raw> {
        self.step("begin");
        Ok(())
    }

    async fn change(&mut self, _: &str, _: i64, _: &str) -> Result<u64, Raw> {
        Ok(1)
    }

    async fn receipt(&mut self, _: &Ticket, _: &str) -> Result<bool, Raw> {
        Ok(true)
    }

    async fn commit(&mut self) -> Result<(), Raw> {
        self.step("commit");
        Ok(())
    }

    async fn release(&mut self, _: &Ticket) -> Result<(), Raw> {
        Ok(())
    }

    async fn fence(&mut self, _: &Scope, _: Lifetimes, _: i64) -> Result<LookUp, Raw> {
        Ok(LookUp::UNAVAILABLE)
    }

    async fn forget(&mut self, _: i64) -> Result<(), Raw> {
        Ok(())
    }

    async fn clean(self: Box<Self>, _: &str) {}
}

/// A host whose code panics at a step, and the spans that it writes.
fn host(at: &'static str, budget: Option<Budget>) -> (Arc<Host>, InMemorySpanExporter) {
    let folder = TempDir::new().expect("a folder");
    let diagnostics = Diagnostics::open(&folder.path().join("diagnostics"), Bounds::default());
    let exporter = InMemorySpanExporter::default();
    let traces = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let host = Host {
        contract: Arc::new(Native),
        store: Arc::new(Faulty { at }),
        diagnostics: Mutex::new(diagnostics.expect("the store opens")),
        attempts: Mutex::new(Attempts::new(10, 60_000)),
        budget,
        telemetry: Telemetry::new(&traces, &SdkMeterProvider::builder().build()),
        deadline: Duration::from_secs(5),
        lifetimes: Lifetimes::default(),
        policy: json!({ "max_attempts": 9 }),
        began: Instant::now(),
        calls: Arc::default(),
    };
    (Arc::new(host), exporter)
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// Calls a tool. The whole envelope comes back, or the result.
async fn call(host: &Arc<Host>, tool: &str, arguments: Value) -> Value {
    let identity = Identity {
        principal: "p".into(),
        tenant: "t".into(),
        role: Role::Writer,
        policy_version: "1".into(),
    };
    let request = Request {
        tool: TOOLS.iter().find(|known| known.name == tool).expect("a tool"),
        arguments: arguments.as_object().cloned().expect("an object"),
        identity,
        parent: parent(Some(&format!("00-{TRACE}-b7ad6b7169203331-01"))),
        carriage: Carriage { transport: Some("pipe"), request_id: Some(7), ..Carriage::default() },
        cancelled: CancellationToken::new(),
        is_late: false,
    };
    let result = Arc::clone(host).call(request).await;
    let result = serde_json::to_value(result).expect("JSON");
    if result["isError"] != true {
        return result["structuredContent"].clone();
    }
    serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("an envelope")
}

fn change(key: &str) -> Value {
    json!({ "operation_key": key, "order_id": 1, "status": "open" })
}

#[tokio::test]
async fn a_panic_of_a_tool_becomes_an_envelope_of_what_it_leaves_open() {
    let cases = [
        ("commit", "update_status", change("k"), "unknown"),
        ("begin", "update_status", change("k"), "not_committed"),
        ("query", "query", json!({ "sql": "SELECT 1" }), "not_committed"),
    ];
    for (at, tool, arguments, outcome) in cases {
        let (host, _) = host(at, None);
        let envelope = call(&host, tool, arguments).await;
        assert_eq!(
            (&envelope["outcome"], &envelope["retryable"]),
            (&json!(outcome), &json!(false)),
            "{envelope}"
        );
        assert_eq!(host.attempts().len(), 1, "the failed operation is remembered");
    }
}

#[test]
fn a_fault_of_the_server_itself_is_an_envelope_whose_trace_id_resolves() {
    let (host, _) = host("", None);
    for (tool, code, outcome) in
        [("update_status", "OUTCOME_UNKNOWN", "unknown"), ("report", "DATABASE_ERROR", "not_committed")]
    {
        let tool = TOOLS.iter().find(|known| known.name == tool).expect("a tool");
        let result = serde_json::to_value(host.fault(tool)).expect("JSON");
        let envelope = &result["_meta"]["dev.retort/error"];
        assert_eq!(
            (&envelope["code"], &envelope["outcome"], &result["isError"]),
            (&json!(code), &json!(outcome), &json!(true))
        );
        let trace_id = envelope["trace_id"].as_str().expect("a trace id");
        let entries = host.diagnostics.lock().expect("nobody panicked").find(trace_id).expect("an answer");
        assert_eq!(entries.len(), 1);
    }
}

/// The store's pool is busy; the rest of the contract's numbers stay the same.
#[tokio::test]
async fn a_repeated_call_is_the_next_attempt_and_pays_for_the_one_after() {
    let (host, exporter) = host("busy", Some(Budget::InProcess(InProcess::new(12))));
    let mut seen = Vec::new();
    for _ in 0..4 {
        let envelope = call(&host, "update_status", change("k")).await;
        let tokens = host.budget.as_ref().expect("a budget").tokens().await;
        seen.push((envelope["code"].clone(), envelope["retryable"].clone(), tokens));
    }
    let busy = |retryable: bool, tokens| (json!("POOL_BUSY"), json!(retryable), tokens);
    assert_eq!(seen, [busy(true, 7), busy(true, 2), busy(false, 2), busy(false, 2)]);

    let diagnostics = host.diagnostics.lock().expect("nobody panicked").find(TRACE).expect("an answer");
    let numbers: Vec<Value> = diagnostics
        .iter()
        .map(|entry| {
            serde_json::from_str::<Value>(&entry.diagnostic).expect("JSON")["attempt_number"].clone()
        })
        .collect();
    assert_eq!(numbers, [json!(1), json!(2), json!(3), json!(4)]);

    // One span an operation, under the caller's; one child an attempt; nothing of the error's text.
    let spans = exporter.get_finished_spans().expect("they are kept");
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_ref()).collect();
    assert_eq!(names, ["UPDATE", "tools/call update_status"].repeat(4));
    for pair in spans.chunks(2) {
        assert_eq!(pair[0].parent_span_id, pair[1].span_context.span_id());
        assert_eq!(pair[1].parent_span_id.to_string(), "b7ad6b7169203331");
        assert_eq!(pair[1].span_context.trace_id().to_string(), TRACE);
        assert_eq!(pair[0].status, Status::error("POOL_BUSY"));
        let attributes = format!("{:?}{:?}", pair[0].attributes, pair[1].attributes);
        assert!(!attributes.contains("timed out"), "{attributes}");
    }
    let mut last: Vec<String> = spans[7]
        .attributes
        .iter()
        .filter(|attribute| !attribute.key.as_str().starts_with("retort."))
        .map(|attribute| format!("{}={}", attribute.key, attribute.value))
        .collect();
    last.sort();
    assert_eq!(
        last,
        [
            "error.type=POOL_BUSY",
            "gen_ai.operation.name=execute_tool",
            "gen_ai.tool.name=update_status",
            "jsonrpc.request.id=7",
            "mcp.method.name=tools/call",
            "network.transport=pipe",
        ]
    );
}

#[tokio::test]
async fn a_success_gives_a_token_back_and_a_refusal_never_gets_to_the_database() {
    let (host, exporter) = host("", Some(Budget::InProcess(InProcess::new(12))));
    assert!(host.budget.as_ref().expect("a budget").pay(10).await);
    assert_eq!(call(&host, "query", json!({ "sql": "SELECT 1" })).await, json!({ "rows": [] }));
    assert_eq!(host.budget.as_ref().expect("a budget").tokens().await, 3);
    let refused = call(&host, "query", json!({ "sql": 7 })).await;
    assert_eq!(refused["code"], "INVALID_ARGUMENT");
    let spans = exporter.get_finished_spans().expect("they are kept");
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_ref()).collect();
    assert_eq!(names, ["sqlite", "tools/call query", "tools/call query"]);
}

#[tokio::test]
async fn a_call_during_the_shutdown_is_not_started() {
    let (host, _) = host("", None);
    let request = Request {
        tool: TOOLS.iter().find(|known| known.name == "update_status").expect("a tool"),
        arguments: change("k").as_object().cloned().expect("an object"),
        identity: Identity {
            principal: "p".into(),
            tenant: "t".into(),
            role: Role::Writer,
            policy_version: "1".into(),
        },
        parent: parent(None),
        carriage: Carriage::default(),
        cancelled: CancellationToken::new(),
        is_late: true,
    };
    let result = serde_json::to_value(Arc::clone(&host).call(request).await).expect("JSON");
    let envelope = &result["_meta"]["dev.retort/error"];
    assert_eq!(
        (&envelope["code"], &envelope["outcome"], &envelope["retryable"]),
        (&json!("DB_UNAVAILABLE"), &json!("not_started"), &json!(true)),
        "{envelope}"
    );
}
