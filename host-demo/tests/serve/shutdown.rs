//! Limits of the HTTP server, its end, and both revisions of the protocol.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use super::{ENDLESS, call, http, session, success, terminate, tokens};

/// Asks until it is so, at most half a minute long.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..3_000 {
        if is_so() {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

/// A trigger that makes a change last a while.
const SLOW: &str = "CREATE TRIGGER slow AFTER INSERT ON changes BEGIN
    UPDATE orders SET cents = cents + 0 * (WITH RECURSIVE n(i) AS
        (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) SELECT count(*) FROM n) WHERE id = new.order_id; END";

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_finishes_the_commit_under_way() {
    let folder = TempDir::new().expect("a folder");
    let patient = ["--statement-timeout", "120000", "--deadline", "120000"];
    let file = tokens(folder.path());
    let (mut server, address) = http(folder.path(), &[&["--tokens", &file][..], &patient].concat()).await;
    let database = rusqlite::Connection::open(folder.path().join("shop.sqlite")).expect("the database");
    database.execute_batch(SLOW).expect("a trigger");
    let client = session(&address, "token-north").await;
    let change = tokio::spawn(async move {
        let change = json!({ "operation_key": "k-1", "order_id": 1, "status": "closed" });
        success(&call(&client, "update_status", change).await)
    });
    let claims =
        || database.query_row("SELECT count(*) FROM retort_receipts", (), |row| row.get::<_, i64>(0));
    until("the key is claimed", || claims() == Ok(1)).await;
    terminate(&server);
    let result = timeout(Duration::from_secs(120), change).await.expect("in time").expect("no panic");
    assert_eq!(result, json!({ "order_id": 1, "status": "closed" }));
    let ended = timeout(Duration::from_secs(60), server.wait()).await;
    assert!(ended.expect("it ends in time").expect("a status").success());
    let changes = database.query_row("SELECT count(*) FROM changes", (), |row| row.get::<_, i64>(0));
    assert_eq!(changes, Ok(1));
}

/// A message by HTTP, as no client library would send it.
fn post(address: &str, message: &Value) -> reqwest::RequestBuilder {
    reqwest::Client::new()
        .post(address)
        .bearer_auth("token-north")
        .header("accept", "application/json, text/event-stream")
        .json(message)
}

/// The last message of a body of JSON or of events.
fn message(body: &str) -> Value {
    let lines = body.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
    lines.filter_map(|line| serde_json::from_str(line).ok()).next_back().expect("a message")
}

#[tokio::test(flavor = "multi_thread")]
async fn more_calls_than_places_are_sent_away_until_one_is_free() {
    let folder = TempDir::new().expect("a folder");
    let file = tokens(folder.path());
    let arguments =
        ["--tokens", &file, "--requests", "1", "--statement-timeout", "120000", "--deadline", "120000"];
    let (_server, address) = http(folder.path(), &arguments).await;
    let slow = session(&address, "token-north").await;
    let running = tokio::spawn(async move { call(&slow, "query", json!({ "sql": ENDLESS })).await });
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let mut refused = None;
    for _ in 0..3_000 {
        let answer = post(&address, &ping).send().await.expect("an answer");
        if answer.status() == 503 {
            refused = Some(answer);
            break;
        }
        sleep(Duration::from_millis(10)).await;
    }
    let refused = refused.expect("the place is taken");
    assert_eq!(refused.headers()["retry-after"], "1");
    // Whoever holds the place goes away: the call is cancelled, and the place is free again.
    running.abort();
    let _ = running.await;
    for _ in 0..3_000 {
        if post(&address, &ping).send().await.expect("an answer").status() != 503 {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("the place is never free again");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_previous_and_the_newest_revision_carry_the_same_envelope() {
    let folder = TempDir::new().expect("a folder");
    let (_server, address) = http(folder.path(), &["--tokens", &tokens(folder.path())]).await;
    let parameters = json!({ "name": "query", "arguments": { "sql": 7 } });

    // 2025-11-25: a handshake, a session, then the call.
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } });
    let greeted = post(&address, &hello).send().await.expect("an answer");
    let session = greeted.headers()["mcp-session-id"].clone();
    assert_eq!(message(&greeted.text().await.expect("a body"))["result"]["protocolVersion"], "2025-11-25");
    let of_session = |message: &Value| {
        post(&address, message)
            .header("mcp-session-id", &session)
            .header("mcp-protocol-version", "2025-11-25")
    };
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert!(of_session(&ready).send().await.expect("an answer").status().is_success());
    let called = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": parameters });
    let previous = of_session(&called).send().await.expect("an answer").text().await.expect("a body");

    // 2026-07-28: no handshake; every request says what it speaks.
    let mut stateless = called.clone();
    stateless["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let newest = post(&address, &stateless)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "query")
        .send()
        .await
        .expect("an answer");
    let newest = newest.text().await.expect("a body");

    let envelope = |body: &str| {
        let result = message(body)["result"].clone();
        assert_eq!(result["isError"], true, "{body}");
        let text = result["content"][0]["text"].as_str().expect("one text block");
        let mut envelope: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(result["_meta"]["dev.retort/error"], envelope);
        envelope["trace_id"].take();
        envelope
    };
    assert_eq!(envelope(&previous), envelope(&newest));
    assert_eq!(envelope(&newest)["code"], "INVALID_ARGUMENT");
    assert_eq!(message(&newest)["result"]["resultType"], "complete");
}
