//! The command line, as a user calls it.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const REPORT: &str = r#"{"error":{"condition":"POOL_BUSY"},"operation":{"phase":"acquire"},"context":{"trace_id":"t-1"},"seed":7}"#;

fn retort(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_retort"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // A command that needs no input may have ended before it is written.
    let _ = child.stdin.take().expect("piped").write_all(input);
    child.wait_with_output().expect("the command ends")
}

fn stdout(output: &Output) -> &str {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::str::from_utf8(&output.stdout).expect("UTF-8")
}

fn lines(output: &Output) -> Vec<Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn evaluate_answers_line_by_line_natively_as_through_the_component() {
    let input = format!("{REPORT}\nnot json\n\n{REPORT}\r\n");
    let component = retort(&["evaluate"], input.as_bytes());
    let verdicts = lines(&component);
    let codes: Vec<&Value> = verdicts.iter().map(|verdict| &verdict["envelope"]["code"]).collect();
    assert_eq!(codes, ["POOL_BUSY", "OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN", "POOL_BUSY"]);
    assert_eq!(component.stdout, retort(&["evaluate", "--native"], input.as_bytes()).stdout);
    assert_eq!(component.stdout, retort(&["evaluate", "--reuse"], input.as_bytes()).stdout);
}

#[test]
fn a_pool_wait_that_times_out_before_sending_is_retryable_and_not_started() {
    let verdict = &lines(&retort(&["evaluate"], REPORT.as_bytes()))[0];
    let envelope = &verdict["envelope"];
    assert_eq!(
        (&envelope["code"], &envelope["category"], &envelope["retryable"], &envelope["outcome"]),
        (&json!("POOL_BUSY"), &json!("transient"), &json!(true), &json!("not_started"))
    );
    let other_seed = REPORT.replace("\"seed\":7", "\"seed\":8");
    let other = &lines(&retort(&["evaluate"], other_seed.as_bytes()))[0];
    assert_ne!(envelope["retry_after_ms"], other["envelope"]["retry_after_ms"]);
    assert!(envelope["retry_after_ms"].as_u64().is_some_and(|ms| (50..=500).contains(&ms)), "{envelope}");
}

#[test]
fn bytes_that_are_no_utf8_get_a_verdict() {
    let verdicts = lines(&retort(&["evaluate"], b"\xff\xfe{\n{\"error\":\"\xff\"}\n"));
    assert_eq!(verdicts.len(), 2);
}

#[test]
fn files_are_read_in_order_and_a_missing_one_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("reports.jsonl");
    std::fs::write(&file, REPORT).expect("written");
    let path = file.to_str().expect("UTF-8");
    assert_eq!(lines(&retort(&["evaluate", path, path], b"")).len(), 2);
    let output = retort(&["evaluate", "/nowhere/reports.jsonl"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr).starts_with("retort: cannot read /nowhere/reports.jsonl: ")
    );
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_retort"))
        .args(["evaluate", "--native"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let _ = child.stdin.take().expect("piped").write_all("{}\n".repeat(10_000).as_bytes());
    let output = child.wait_with_output().expect("the command ends");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn codes_are_listed_and_explained() {
    let table: Value = serde_json::from_str(stdout(&retort(&["codes", "--json"], b""))).expect("JSON");
    let names: Vec<&str> =
        table.as_array().expect("rows").iter().filter_map(|row| row["code"].as_str()).collect();
    assert!(names.contains(&"POOL_BUSY") && names.contains(&"OUTCOME_UNKNOWN"));
    let listed = retort(&["codes"], b"");
    assert!(names.iter().all(|name| stdout(&listed).contains(name)));
    for name in names {
        assert!(stdout(&retort(&["explain", name, "--native"], b"")).starts_with(name));
    }
    assert_eq!(retort(&["explain", "NO_SUCH_CODE"], b"").status.code(), Some(2));
}

#[test]
fn envelopes_and_verdicts_render_alike_for_every_carrier() {
    let verdict = retort(&["evaluate"], REPORT.as_bytes());
    let envelope = lines(&verdict)[0]["envelope"].to_string();
    for carrier in ["mcp", "problem", "status", "text"] {
        let of_verdict = retort(&["render", "--as", carrier], &verdict.stdout);
        let of_envelope = retort(&["render", "--as", carrier], envelope.as_bytes());
        assert_eq!(stdout(&of_verdict), stdout(&of_envelope));
        assert!(stdout(&of_verdict).contains("POOL_BUSY"), "{carrier}");
    }
}

#[test]
fn attempts_fold_into_one_operation_and_an_array_is_one_of_its_own() {
    let verdict = retort(&["evaluate"], REPORT.as_bytes());
    let twice = [verdict.stdout.as_slice(), verdict.stdout.as_slice()].concat();
    assert_eq!(lines(&retort(&["summarise"], &twice))[0]["retort.attempts"], 2);
    let attempt = lines(&verdict)[0]["attempt"].to_string();
    let array = format!("[{attempt}]\n[{attempt},{attempt},{attempt}]\n");
    let records = lines(&retort(&["summarise"], array.as_bytes()));
    assert_eq!((&records[0]["retort.attempts"], &records[1]["retort.attempts"]), (&json!(1), &json!(3)));
}

#[test]
fn a_fenced_absent_receipt_reconciles_to_not_committed() {
    let report = r#"{"error":{"condition":"CONNECTION_LOST"},"operation":{"phase":"commit","transaction":"committing","operation_key":"key-1"}}"#;
    let verdict = &lines(&retort(&["evaluate"], report.as_bytes()))[0];
    assert_eq!(verdict["envelope"]["outcome"], "unknown");
    let earlier = json!({ "verdict": verdict, "receipt": "absent", "fenced": true }).to_string();
    assert_eq!(lines(&retort(&["reconcile"], earlier.as_bytes()))[0]["envelope"]["outcome"], "not_committed");
}

#[test]
fn recognise_names_the_rule_with_its_source() {
    let report = r#"{"error":{"code":"23505"},"system":"postgresql"}"#;
    let reason = &lines(&retort(&["recognise", "--json"], report.as_bytes()))[0];
    assert_eq!((&reason["rule"], &reason["name"]), (&json!("postgres/23505"), &json!("unique_violation")));
    assert!(reason["source"].as_str().is_some_and(|source| !source.is_empty()));
    let text = retort(&["recognise"], report.as_bytes());
    assert!(
        stdout(&text).contains("  rule    postgres/23505\n  name    unique_violation\n"),
        "{}",
        stdout(&text)
    );
    let named = retort(&["recognise"], REPORT.as_bytes());
    assert!(stdout(&named).starts_with("POOL_BUSY, outcome not_started\n  rule    condition/POOL_BUSY\n"));
}

#[test]
fn output_into_a_pipe_has_no_colour() {
    for arguments in [&["demo", "--repeat", "1"][..], &["explain", "POOL_BUSY"], &["codes"]] {
        assert!(!stdout(&retort(arguments, b"")).contains('\u{1b}'), "{arguments:?}");
    }
}
