//! What the operator sees over HTTP, and nobody else.

use std::path::Path;

use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{ENDLESS, OPERATOR, call, envelope, http, session, success, tokens};

/// Status, headers but for the date, and body of an answer.
async fn get(url: &str, token: Option<&str>) -> (u16, HeaderMap, String) {
    let mut request = reqwest::Client::new().get(url);
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let answer = request.send().await.expect("an answer");
    let (status, mut headers) = (answer.status().as_u16(), answer.headers().clone());
    headers.remove("date");
    (status, headers, answer.text().await.expect("a body"))
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_and_metrics_are_the_operators_alone() {
    let folder = TempDir::new().expect("a folder");
    let log = folder.path().join("diagnostics.log");
    let log_path = log.display().to_string();
    let (_server, address) = http(
        folder.path(),
        &["--tokens", &tokens(folder.path()), "--statement-timeout", "100", "--diagnostics-log", &log_path],
    )
    .await;
    let client = session(&address, "token-north").await;
    let slow = envelope(&call(&client, "query", json!({ "sql": format!("{ENDLESS} -- canary") })).await);
    // The server's own limit stopped the statement, not its caller.
    assert_eq!((&slow["code"], &slow["retryable"]), (&json!("DB_TIMEOUT"), &json!(true)), "{slow}");
    success(&call(&client, "report", json!({})).await);
    let change = json!({ "operation_key": "k-1", "order_id": 1, "status": "shipped" });
    success(&call(&client, "update_status", change).await);
    let receipt = success(&call(&client, "receipt", json!({ "operation_key": "k-1" })).await);

    let base = address.trim_end_matches("/mcp");
    for envelope in [&slow, &receipt["envelope"]] {
        let url = format!("{base}/traces/{}", envelope["trace_id"].as_str().expect("a trace id"));
        let (status, _, body) = get(&url, Some(OPERATOR)).await;
        let entries: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!((status, entries.as_array().map(Vec::len)), (200, Some(1)), "{body}");
        let diagnostic = &entries[0]["diagnostic"];
        assert_eq!((&diagnostic["code"], &diagnostic["system"]), (&envelope["code"], &json!("sqlite")));
        for field in
            ["rule", "proof", "phase", "transaction", "operation_id", "tool_version", "policy_version"]
        {
            assert!(diagnostic[field].is_string(), "{field} in {diagnostic}");
        }
        assert!(!body.contains("canary"), "{body}");

        // A caller, even the one whose call it was, learns no more than of an id that there is not.
        let unknown = get(&format!("{base}/traces/{}", "0".repeat(32)), Some(OPERATOR)).await;
        assert_eq!((unknown.0, unknown.2.as_str()), (404, ""));
        for (url, token) in
            [(&url, "token-north"), (&url, "token-south"), (&format!("{base}/metrics"), "token-north")]
        {
            assert_eq!(get(url, Some(token)).await, unknown, "{url}");
        }
        let stranger = get(&url, Some("nobody's")).await;
        assert_eq!((stranger.0, stranger.2.as_str()), (401, ""));
        assert_eq!(get(&url, None).await, stranger);
    }
    // The operator's token opens no tool.
    assert_eq!(get(&address, Some(OPERATOR)).await.0, 404);

    let (status, headers, text) = get(&format!("{base}/metrics"), Some(OPERATOR)).await;
    assert_eq!(
        (status, headers["content-type"].to_str().expect("text")),
        (200, "text/plain; version=0.0.4; charset=utf-8")
    );
    let count = |name: &str, labels: &[&str]| {
        let mut figures = text.lines().filter(|line| line.starts_with(&format!("{name}{{")));
        let figure = figures.find(|line| labels.iter().all(|label| line.contains(label)));
        figure.and_then(|line| line.rsplit_once("} ")).map(|(_, value)| value.to_owned())
    };
    let one = Some(String::from("1"));
    for tool in ["query", "report", "update_status", "receipt"] {
        let labels = [
            &format!("gen_ai_tool_name=\"{tool}\"")[..],
            "network_transport=\"tcp\"",
            "mcp_method_name=\"tools/call\"",
        ];
        assert_eq!(count("mcp_server_operation_duration_seconds_count", &labels), one, "{tool} in {text}");
    }
    let failed =
        ["error_type=\"DB_TIMEOUT\"", "db_system_name=\"sqlite\"", "retort_outcome=\"not_committed\""];
    assert_eq!(count("retort_errors_total", &failed), one, "{text}");
    assert_eq!(count("db_client_operation_duration_seconds_count", &failed), one, "{text}");
    assert!(!text.contains("canary") && !text.contains("SELECT i"), "{text}");

    restricted(&log, &slow);
}

/// The log of diagnostics is its owner's alone, and has a line for every one.
fn restricted(log: &Path, slow: &Value) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(log).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(log).expect("it is text");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let codes: Vec<&Value> = lines.iter().map(|line| &line["code"]).collect();
    assert_eq!(codes, [&slow["code"], &json!("ALREADY_APPLIED")]);
    assert_eq!(lines[0]["trace_id"], slow["trace_id"]);
}
