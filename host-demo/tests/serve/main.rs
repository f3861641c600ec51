//! `retort serve`, as the official MCP client sees it.

mod budget;
mod databases;
mod operator;
#[path = "../servers/mod.rs"]
mod servers;
mod shutdown;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use retort_host::diagnostics::{Bounds, Diagnostics};
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::RunningService;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

type Client = RunningService<RoleClient, ()>;

async fn stdio(folder: &Path, arguments: &[&str]) -> Client {
    let mut command = Command::new(env!("CARGO_BIN_EXE_retort"));
    command.args(["serve", "--data"]).arg(folder).args(arguments);
    let (transport, _) =
        TokioChildProcess::builder(command).stderr(Stdio::null()).spawn().expect("the server starts");
    ().serve(transport).await.expect("the server answers")
}

async fn call(client: &Client, tool: &'static str, arguments: Value) -> CallToolResult {
    let arguments = arguments.as_object().cloned().expect("an object");
    client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await.expect("a result")
}

/// The one text block of a failed call, which is the envelope, the same as in `_meta`.
fn envelope(result: &CallToolResult) -> Value {
    let result = serde_json::to_value(result).expect("JSON");
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1));
    let envelope: Value =
        serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON");
    assert_eq!(result["_meta"]["dev.retort/error"], envelope);
    envelope
}

fn success(result: &CallToolResult) -> Value {
    let result = serde_json::to_value(result).expect("JSON");
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_bad_arguments_names_them_and_nothing_of_what_was_given() {
    let folder = TempDir::new().expect("a folder");
    let client = stdio(folder.path(), &[]).await;
    let cases = [
        (
            json!({ "order_id": 1, "status": "open" }),
            "MISSING_ARGUMENT",
            json!([{ "argument": "operation_key", "rule": "required" }]),
        ),
        (
            json!({ "operation_key": "k", "order_id": "canary", "status": "open" }),
            "INVALID_ARGUMENT",
            json!([{ "argument": "order_id", "rule": "type" }]),
        ),
        (
            json!({ "operation_key": "k", "order_id": 1, "status": "canary" }),
            "UNSUPPORTED_VALUE",
            json!([{ "argument": "status", "rule": "enum" }]),
        ),
        (
            json!({ "operation_key": "k", "order_id": 0, "status": "open" }),
            "OUT_OF_RANGE",
            json!([{ "argument": "order_id", "rule": "minimum" }]),
        ),
        (
            json!({ "operation_key": "canary \u{e9}", "order_id": 1, "status": "open" }),
            "INVALID_KEY",
            json!([{ "argument": "operation_key", "rule": "pattern" }]),
        ),
    ];
    for (arguments, code, named) in cases {
        let envelope = envelope(&call(&client, "update_status", arguments).await);
        assert_eq!(
            (&envelope["code"], &envelope["outcome"]),
            (&json!(code), &json!("not_started")),
            "{envelope}"
        );
        assert_eq!(envelope["arguments"], named, "{envelope}");
        assert!(!envelope.to_string().contains("canary"), "{envelope}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn identity_cannot_be_smuggled_in_by_arguments() {
    let folder = TempDir::new().expect("a folder");
    let client = stdio(folder.path(), &["--tenant", "north"]).await;
    let own = json!({ "orders": [{ "id": 2, "status": "shipped", "cents": 990 }, { "id": 1, "status": "open", "cents": 4200 }] });
    assert_eq!(success(&call(&client, "report", json!({})).await), own);
    for smuggled in [
        json!({ "tenant": "south" }),
        json!({ "role": "writer" }),
        json!({ "context": { "tenant": "south" } }),
    ] {
        assert_eq!(envelope(&call(&client, "report", smuggled).await)["code"], "INVALID_ARGUMENT");
    }
    let own = json!({ "rows": [{ "id": 1 }, { "id": 2 }] });
    assert_eq!(
        success(&call(&client, "query", json!({ "sql": "SELECT id FROM orders_v1 ORDER BY id" })).await),
        own
    );
    let escapes = [
        "SELECT * FROM orders",
        "SELECT * FROM main.orders",
        "SELECT * FROM report_v1",
        "SELECT name FROM sqlite_master",
        "UPDATE orders SET tenant = 'north'",
        "ATTACH '/tmp/other' AS other",
        "DROP VIEW temp.orders_v1",
        "PRAGMA writable_schema = 1",
    ];
    for sql in escapes {
        envelope(&call(&client, "query", json!({ "sql": sql })).await);
    }
    let other = json!({ "operation_key": "k-1", "order_id": 3, "status": "closed" });
    let missing = json!({ "operation_key": "k-2", "order_id": 999, "status": "closed" });
    let (mut other, mut missing) = (
        envelope(&call(&client, "update_status", other).await),
        envelope(&call(&client, "update_status", missing).await),
    );
    assert_eq!(other["code"], "NOT_FOUND");
    for envelope in [&mut other, &mut missing] {
        envelope["trace_id"].take();
        envelope["operation_key"].take();
    }
    assert_eq!(other, missing);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_key_gets_the_first_result_and_another_payload_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let client = stdio(folder.path(), &[]).await;
    let change = json!({ "operation_key": "ship-1", "order_id": 1, "status": "shipped" });
    let result = json!({ "order_id": 1, "status": "shipped" });
    for _ in 0..3 {
        assert_eq!(success(&call(&client, "update_status", change.clone()).await), result);
    }
    let database = rusqlite::Connection::open(folder.path().join("shop.sqlite")).expect("the database");
    let changes = database.query_row("SELECT count(*) FROM changes", [], |row| row.get::<_, i64>(0));
    assert_eq!(changes.expect("a count"), 1);
    let other = json!({ "operation_key": "ship-1", "order_id": 2, "status": "closed" });
    let refused = envelope(&call(&client, "update_status", other).await);
    assert_eq!((&refused["code"], &refused["retryable"]), (&json!("KEY_REUSED"), &json!(false)));

    let known = success(&call(&client, "receipt", json!({ "operation_key": "ship-1" })).await);
    assert_eq!(
        (&known["receipt"], &known["envelope"]["outcome"]),
        (&json!("committed"), &json!("committed"))
    );
    let unknown = success(&call(&client, "receipt", json!({ "operation_key": "ship-2" })).await);
    assert_eq!(
        (&unknown["receipt"], &unknown["envelope"]["outcome"]),
        (&json!("absent"), &json!("not_committed"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_without_permission_learns_nothing() {
    let folder = TempDir::new().expect("a folder");
    let reader = stdio(folder.path(), &["--role", "reader"]).await;
    success(&call(&reader, "report", json!({})).await);
    let change = json!({ "operation_key": "k", "order_id": 1, "status": "open" });
    assert_eq!(envelope(&call(&reader, "update_status", change).await)["code"], "NOT_AUTHORIZED");
    let suspended = stdio(folder.path(), &["--role", "suspended"]).await;
    let refused = envelope(&call(&suspended, "report", json!({})).await);
    let mut fields: Vec<&str> = refused.as_object().expect("an object").keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["category", "code", "message", "next", "outcome", "retryable", "trace_id"]);
    assert_eq!((&refused["code"], &refused["outcome"]), (&json!("NOT_AUTHORIZED"), &json!("not_committed")));
}

/// The whole envelope of a failed call; its trace id is 32 hex digits, and not compared.
fn whole(result: &CallToolResult) -> Value {
    let mut envelope = envelope(result);
    let trace_id = envelope["trace_id"].take();
    let trace_id = trace_id.as_str().expect("a trace id");
    assert!(trace_id.len() == 32 && trace_id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{trace_id}");
    envelope.as_object_mut().expect("an object").remove("trace_id");
    envelope
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_envelopes_of_every_kind() {
    let folder = TempDir::new().expect("a folder");
    let client = stdio(folder.path(), &[]).await;
    let missing = call(&client, "update_status", json!({ "order_id": 1, "status": "open" })).await;
    assert_eq!(
        whole(&missing),
        json!({
            "code": "MISSING_ARGUMENT", "category": "validation", "retryable": false, "outcome": "not_started",
            "message": "A required argument is missing. Add it and call again.", "next": "fix",
            "arguments": [{ "argument": "operation_key", "rule": "required" }],
        })
    );
    let written = call(&client, "query", json!({ "sql": "SELEC canary" })).await;
    assert_eq!(
        whole(&written),
        json!({
            "code": "INVALID_QUERY", "category": "validation", "retryable": false, "outcome": "not_committed",
            "message": "The query is not valid for this database. Correct the query and call again.", "next": "fix",
        })
    );
    let gone = json!({ "operation_key": "k-1", "order_id": 999, "status": "open" });
    assert_eq!(
        whole(&call(&client, "update_status", gone).await),
        json!({
            "code": "NOT_FOUND", "category": "not_found", "retryable": false, "outcome": "not_committed",
            "message": "What was asked for does not exist. Check the identifier.", "next": "fix", "operation_key": "k-1",
        })
    );
    let described = call(&client, "describe", json!({ "canary": 1 })).await;
    assert_eq!(
        whole(&described),
        json!({
            "code": "INVALID_ARGUMENT", "category": "validation", "retryable": false, "outcome": "not_started",
            "message": "An argument is not valid. Correct the arguments and call again.", "next": "fix",
        })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn describe_names_every_code_that_a_call_can_end_in() {
    let folder = TempDir::new().expect("a folder");
    let client = stdio(folder.path(), &[]).await;
    let described = success(&call(&client, "describe", json!({})).await);
    let listed = described["codes"].as_array().expect("a list").iter();
    let listed: Vec<&str> = listed.filter_map(|row| row["code"].as_str()).collect();
    let all: Vec<&str> = retort::codes::Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(listed, all);
    assert_eq!(described["rules"].as_array().map(Vec::len), Some(4));
}

const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) AS most FROM n";

/// Holds the lock that writers of the server's database need, until it is dropped.
fn lock(folder: &Path) -> rusqlite::Connection {
    let database = rusqlite::Connection::open(folder.join("shop.sqlite")).expect("the database");
    database.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    database
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_is_counted_until_its_attempts_are_used_up() {
    let folder = TempDir::new().expect("a folder");
    let client = stdio(folder.path(), &["--statement-timeout", "50"]).await;
    let _lock = lock(folder.path());
    let change = |key: &str| json!({ "operation_key": key, "order_id": 1, "status": "closed" });
    let mut ends = Vec::new();
    for _ in 0..3 {
        let envelope = envelope(&call(&client, "update_status", change("k-1")).await);
        ends.push((envelope["code"].clone(), envelope["retryable"].clone()));
    }
    let locked = |retryable: bool| (json!("LOCK_TIMEOUT"), json!(retryable));
    assert_eq!(ends, [locked(true), locked(true), locked(false)]);
    // Another key is another operation.
    assert_eq!(envelope(&call(&client, "update_status", change("k-2")).await)["retryable"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_trace_id_resolves_to_its_diagnostic() {
    let folder = TempDir::new().expect("a folder");
    let client = stdio(folder.path(), &["--pool", "1", "--statement-timeout", "200"]).await;
    let failures = [
        envelope(&call(&client, "query", json!({ "sql": ENDLESS })).await),
        envelope(&call(&client, "query", json!({ "sql": "SELEC canary_4711" })).await),
        envelope(&call(&client, "query", json!({ "sql": "SELECT canary_4711 FROM orders_v1" })).await),
    ];
    let store =
        Diagnostics::open(&folder.path().join("diagnostics.sqlite"), Bounds::default()).expect("the store");
    for failure in failures {
        assert!(!failure.to_string().contains("canary"), "{failure}");
        let entries =
            store.find(failure["trace_id"].as_str().expect("a trace id")).expect("the store answers");
        let diagnostic: Value = serde_json::from_str(&entries[0].diagnostic).expect("JSON");
        assert_eq!((entries.len(), &diagnostic["code"]), (1, &failure["code"]));
        assert_eq!((&diagnostic["tool"], &diagnostic["system"]), (&json!("query"), &json!("sqlite")));
    }

    // A receipt's envelope has one as well, and the command finds it.
    let receipt = success(&call(&client, "receipt", json!({ "operation_key": "k" })).await);
    let trace_id = receipt["envelope"]["trace_id"].as_str().expect("a trace id");
    let found = std::process::Command::new(env!("CARGO_BIN_EXE_retort"))
        .args(["--native", "trace", trace_id, "--store"])
        .arg(folder.path().join("diagnostics.sqlite"))
        .output()
        .expect("the command runs");
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    let line: Value = serde_json::from_slice(&found.stdout).expect("one line of JSON");
    assert_eq!(
        (&line["diagnostic"]["code"], &line["diagnostic"]["tool"]),
        (&receipt["envelope"]["code"], &json!("receipt"))
    );
}

/// A server on a free port, and where it is.
async fn http(folder: &Path, arguments: &[&str]) -> (Child, String) {
    let mut server = Command::new(env!("CARGO_BIN_EXE_retort"))
        .args(["serve", "--http", "127.0.0.1:0", "--data"])
        .arg(folder)
        .args(arguments)
        .env("RETORT_OPERATOR_TOKEN", OPERATOR)
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the server starts");
    let mut lines = BufReader::new(server.stderr.take().expect("piped")).lines();
    let address = loop {
        let line = lines.next_line().await.expect("readable").expect("the server says where it is");
        if let Some(address) = line.strip_prefix("serving ") {
            break address.to_owned();
        }
    };
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (server, address)
}

const OPERATOR: &str = "the operator's own";

/// A file of two callers' tokens.
fn tokens(folder: &Path) -> String {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let file = folder.join("tokens.json");
    let people = json!({
        "token-north": { "principal": "nora", "tenant": "north", "role": "writer" },
        "token-south": { "principal": "sam", "tenant": "south", "role": "reader" },
    });
    std::fs::write(&file, people.to_string()).expect("written");
    file.display().to_string()
}

/// A session of the official client over HTTP.
async fn session(address: &str, token: &str) -> Client {
    let config = StreamableHttpClientTransportConfig::with_uri(address).auth_header(token);
    ().serve(StreamableHttpClientTransport::from_config(config)).await.expect("a session")
}

/// Asks a server to end.
fn terminate(server: &Child) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(server.id().expect("running")).expect("a pid"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("signalled");
}

#[tokio::test(flavor = "multi_thread")]
async fn over_http_the_token_says_who_asks() {
    let folder = TempDir::new().expect("a folder");
    let (mut server, address) = http(folder.path(), &["--tokens", &tokens(folder.path())]).await;

    let client = reqwest::Client::new();
    let post = |token: &str| {
        client
            .post(&address)
            .bearer_auth(token)
            .header("accept", "application/json, text/event-stream")
            .json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }))
    };
    assert_eq!(post("wrong").send().await.expect("an answer").status(), 401);
    assert_eq!(client.post(&address).send().await.expect("an answer").status(), 401);
    assert_eq!(
        post("token-north")
            .header("origin", "https://evil.example")
            .send()
            .await
            .expect("an answer")
            .status(),
        403
    );
    let large = post("token-north").body("x".repeat(300_000)).send().await.expect("an answer");
    assert!(large.status().is_client_error(), "{}", large.status());

    for (token, ids) in [("token-north", [2, 1]), ("token-south", [4, 3])] {
        let client = session(&address, token).await;
        let orders = success(&call(&client, "report", json!({})).await)["orders"].clone();
        let seen: Vec<i64> =
            orders.as_array().expect("rows").iter().filter_map(|order| order["id"].as_i64()).collect();
        assert_eq!(seen, ids, "{token}");
        let change = json!({ "operation_key": "k-1", "order_id": 1, "status": "shipped" });
        let result = call(&client, "update_status", change).await;
        match token {
            "token-north" => assert_eq!(success(&result)["status"], "shipped"),
            _ => assert_eq!(envelope(&result)["code"], "NOT_AUTHORIZED"),
        }
    }

    terminate(&server);
    let ended = tokio::time::timeout(Duration::from_secs(10), server.wait()).await;
    assert!(ended.expect("it ends in time").expect("a status").success());
}
