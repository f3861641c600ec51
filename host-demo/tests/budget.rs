//! The retry budget, in process and shared through a real server.

mod servers;

use std::sync::Arc;

use retort::decide::{RETRY_COST, TIMEOUT_COST};
use retort_host::budget::{Budget, InProcess, Shared};

async fn shared(server: &servers::Server, capacity: u32) -> Budget {
    let url = format!("unix://{}", servers::redis_socket(server.folder()).display());
    Budget::Shared(Shared::connect(&url, "retort:tokens", capacity).await.expect("the server answers"))
}

/// What both kinds of budget do.
async fn assert_counts(budget: &Budget) {
    assert_eq!(budget.tokens().await, 20);
    assert!(budget.pay(RETRY_COST).await);
    assert!(budget.pay(TIMEOUT_COST).await);
    assert_eq!(budget.tokens().await, 5);
    assert!(!budget.pay(TIMEOUT_COST).await, "too few are left");
    assert_eq!(budget.tokens().await, 5, "and none are taken");
    assert!(budget.pay(RETRY_COST).await);
    assert_eq!(budget.tokens().await, 0);
    for _ in 0..30 {
        budget.refund().await;
    }
    assert_eq!(budget.tokens().await, 20, "never above the capacity");
}

#[tokio::test]
async fn a_budget_in_process_counts_as_the_contract_says() {
    assert_counts(&Budget::InProcess(InProcess::new(20))).await;
}

#[tokio::test]
async fn a_shared_budget_counts_as_the_contract_says() {
    let Some(server) = servers::redis() else { return };
    assert_counts(&shared(&server, 20).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_together_pay_for_no_more_retries_than_one() {
    let Some(server) = servers::redis() else { return };
    let mut replicas = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let budget = Arc::new(shared(&server, 500).await);
        replicas.spawn(async move {
            let mut retries = 0;
            for _operation in 0..100 {
                // Every attempt fails: as many retries as the budget pays for, and at most two an operation.
                for _retry in 0..2 {
                    retries += u32::from(budget.pay(RETRY_COST).await);
                }
            }
            retries
        });
    }
    let retries: u32 = replicas.join_all().await.iter().sum();
    assert_eq!(retries, 100);
    println!(
        "800 operations of 8 replicas under a full outage: {:.3} attempts each",
        1.0 + f64::from(retries) / 800.0
    );
}

#[tokio::test]
async fn without_its_server_a_shared_budget_falls_back_to_the_processs_own() {
    let Some(server) = servers::redis() else { return };
    let budget = shared(&server, 20).await;
    assert!(budget.pay(RETRY_COST).await);
    assert_eq!(budget.tokens().await, 15);
    drop(server);
    assert_eq!(budget.tokens().await, 20, "the process's own budget has not been used yet");
    for expected in [true, true, true, true, false] {
        assert_eq!(budget.pay(RETRY_COST).await, expected);
    }
}
