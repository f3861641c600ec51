//! From a public envelope's trace id to the restricted diagnostic.

use std::path::Path;
use std::process::{Command, Output};

use retort_host::diagnostics::{Bounds, Diagnostics};
use retort_host::{Contract as _, Native};
use serde_json::Value;

const REPORT: &str = r#"{"error":{"code":"23505","detail":"Key (mail)=(ada@example.com) already exists.","message":"duplicate key value violates unique constraint \"users_mail_key\"","severity":"ERROR"},"system":"postgresql","operation":{"phase":"execute","transaction":"none"},"context":{"trace_id":"0af7651916cd43dd8448eb211c80319c"}}"#;

fn trace(store: &Path, trace_id: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_retort"))
        .args(["--native", "trace", trace_id, "--diagnostics"])
        .arg(store)
        .output()
        .expect("the command runs")
}

#[test]
fn an_envelopes_trace_id_resolves_to_its_complete_diagnostic() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("diagnostics.db");
    let mut store = Diagnostics::open(&path, Bounds::default()).expect("the store opens");
    let verdict: Value = serde_json::from_str(&Native.evaluate(REPORT)).expect("a verdict is JSON");
    let trace_id = verdict["envelope"]["trace_id"].as_str().expect("every envelope has one");
    store.append(trace_id, &verdict["diagnostic"].to_string(), 1_700).expect("the store takes it");

    let found = trace(&path, trace_id);
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    let line: Value = serde_json::from_slice(&found.stdout).expect("one line of JSON");
    assert_eq!(line, serde_json::json!({"recorded_ms": 1_700, "diagnostic": verdict["diagnostic"]}));
    let diagnostic = &line["diagnostic"];
    assert_eq!(
        (&diagnostic["code"], &diagnostic["native_codes"][0]),
        (&"UNIQUE_VIOLATION".into(), &"23505".into())
    );
    assert!(!diagnostic.to_string().contains("ada@example.com"), "redacted: {diagnostic}");
}

#[test]
fn a_trace_id_that_nobody_knows_and_a_store_that_is_not_there_are_told_apart() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("diagnostics.db");
    let missing = trace(&path, "t-1");
    assert_eq!((missing.status.code(), missing.stdout.len()), (Some(2), 0));
    assert!(!path.exists(), "looking does not make a store");
    Diagnostics::open(&path, Bounds::default()).expect("the store opens");
    let unknown = trace(&path, "t-1");
    assert_eq!((unknown.status.code(), unknown.stdout.len()), (Some(1), 0));
    assert_eq!(
        String::from_utf8_lossy(&unknown.stderr),
        "retort: there is no diagnostic with the trace id t-1\n"
    );
}
