//! The drill, small: that it finds nothing wrong, and that its faults would show what is wrong.

use std::process::Command;

use serde_json::{Value, json};

fn drill(database: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_retort"))
        .args(["drill", "--database", database, "--only", "ledger", "--writes", "120", "--json"])
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn holds(database: &str) {
    let figures = drill(database);
    let totals = &figures["totals"];
    assert_eq!((&totals["applied_twice"], &totals["false_claims"]), (&json!(0), &json!(0)), "{figures}");
    assert_eq!(figures["failed_checks"], 0, "{figures}");
    assert!(totals["writes"].as_u64().is_some_and(|writes| writes >= 120), "{figures}");
    let ledger = figures["databases"][0]["ledger"].as_object().expect("arms");
    for policy in ["any error", "words"] {
        let duplicates = ledger[&format!("autocommit: {policy}")]["applied_twice"].as_u64();
        assert!(duplicates.is_some_and(|duplicates| duplicates > 0), "{policy}: {figures}");
    }
    for arm in ["key and receipt", "autocommit", "transaction", "several rows", "failed commit"] {
        let writes = ledger[&format!("{arm}: envelope")]["writes"].as_u64();
        assert!(writes.is_some_and(|writes| writes >= 15), "{arm}: {figures}");
    }
}

#[test]
fn sqlite_through_faults_keeps_every_promise() {
    holds("sqlite");
}

#[test]
fn postgresql_through_faults_keeps_every_promise() {
    holds("postgres");
}

#[test]
fn mariadb_through_faults_keeps_every_promise() {
    holds("mariadb");
}
