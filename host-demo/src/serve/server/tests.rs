//! What the server does when a tool's own code fails.

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::Native;
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

    async fn fence(&mut self, _: &Scope, _: i64) -> Result<LookUp, Raw> {
        Ok(LookUp::UNAVAILABLE)
    }

    async fn clean(self: Box<Self>, _: &str) {}
}

/// Calls a tool of a server whose code panics at a step.
async fn call(at: &'static str, tool: &str, arguments: Value) -> Value {
    let folder = TempDir::new().expect("a folder");
    let diagnostics = Diagnostics::open(&folder.path().join("diagnostics"), Bounds::default());
    let host = Arc::new(Host {
        contract: Box::new(Native),
        store: Arc::new(Faulty { at }),
        diagnostics: Mutex::new(diagnostics.expect("the store opens")),
        attempts: Mutex::new(Attempts::new(10, 1_000)),
        deadline: Duration::from_secs(5),
        lifetimes: Lifetimes::default(),
        policy: Value::Null,
        began: Instant::now(),
        calls: Arc::default(),
    });
    let identity = Identity {
        principal: "p".into(),
        tenant: "t".into(),
        role: Role::Writer,
        policy_version: "1".into(),
    };
    let tool = TOOLS.iter().find(|known| known.name == tool).expect("a tool");
    let arguments: Map<String, Value> = arguments.as_object().cloned().expect("an object");
    let result =
        Arc::clone(&host).call(tool, arguments, identity, ids::trace_id(), CancellationToken::new()).await;
    assert_eq!(host.attempts().len(), 1, "the failed operation is remembered");
    let result = serde_json::to_value(result).expect("JSON");
    serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("an envelope")
}

#[tokio::test]
async fn a_panic_of_a_tool_becomes_an_envelope_of_what_it_leaves_open() {
    let change = json!({ "operation_key": "k", "order_id": 1, "status": "open" });
    let committing = call("commit", "update_status", change.clone()).await;
    assert_eq!(
        (&committing["outcome"], &committing["retryable"]),
        (&json!("unknown"), &json!(false)),
        "{committing}"
    );
    let beginning = call("begin", "update_status", change).await;
    assert_eq!(
        (&beginning["outcome"], &beginning["retryable"]),
        (&json!("not_committed"), &json!(false)),
        "{beginning}"
    );
    let reading = call("query", "query", json!({ "sql": "SELECT 1" })).await;
    assert_eq!(
        (&reading["outcome"], &reading["retryable"]),
        (&json!("not_committed"), &json!(false)),
        "{reading}"
    );
}
