//! The server over PostgreSQL: connections that die while nobody uses them.

use serde_json::{Value, json};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection as _, Executor as _};
use tempfile::TempDir;

use super::{call, servers, stdio};

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_that_die_neither_end_the_server_nor_hide_what_happened() {
    let Some(database) = servers::postgres() else { return };
    let url = format!("postgres://postgres@localhost/postgres?host={}", database.folder().display());
    let folder = TempDir::new().expect("a folder");
    let client = stdio(folder.path(), &["--database", &url, "--pool-wait", "5000"]).await;
    let report = |result: &rmcp::model::CallToolResult| serde_json::to_value(result).expect("JSON");
    assert_eq!(report(&call(&client, "report", json!({})).await)["isError"], false);

    let options = PgConnectOptions::new().socket(database.folder()).username("postgres").database("postgres");
    let mut other = PgConnection::connect_with(&options).await.expect("the server takes connections");
    let end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    other.execute(end).await.expect("the sessions are ended");

    let mut failures: Vec<Value> = Vec::new();
    for number in 0..10 {
        let change = json!({ "operation_key": format!("k-{number}"), "order_id": 1, "status": "shipped" });
        let result = report(&call(&client, "update_status", change).await);
        if result["isError"] == false {
            break;
        }
        failures.push(result["_meta"]["dev.retort/error"].clone());
    }
    assert!(failures.len() < 10, "it never recovers: {failures:?}");
    for failure in &failures {
        assert_eq!(
            (&failure["outcome"], &failure["retryable"]),
            (&json!("not_started"), &json!(true)),
            "{failure}"
        );
    }
}
