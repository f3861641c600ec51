//! Two servers that share one budget of retries.

use retort_host::budget::{Budget, Shared};
use serde_json::json;
use tempfile::TempDir;

use super::{call, envelope, lock, servers, stdio};

#[tokio::test(flavor = "multi_thread")]
async fn what_one_replica_spends_the_other_does_not_have() {
    let Some(redis) = servers::redis() else { return };
    let url = format!("unix://{}", servers::redis_socket(redis.folder()).display());
    let budget = Shared::connect(&url, "retort:budget", 500).await.expect("the server answers");
    let budget = Budget::Shared(budget);
    // Enough for one retry, and no more.
    assert!(budget.pay(495).await);
    let mut ends = Vec::new();
    for _ in 0..2 {
        let folder = TempDir::new().expect("a folder");
        let replica = stdio(folder.path(), &["--budget", &url, "--statement-timeout", "50"]).await;
        let _lock = lock(folder.path());
        let change = json!({ "operation_key": "k", "order_id": 1, "status": "closed" });
        let envelope = envelope(&call(&replica, "update_status", change).await);
        ends.push((envelope["code"].clone(), envelope["retryable"].clone(), budget.tokens().await));
    }
    assert_eq!(ends, [(json!("LOCK_TIMEOUT"), json!(true), 0), (json!("LOCK_TIMEOUT"), json!(false), 0)]);
}
