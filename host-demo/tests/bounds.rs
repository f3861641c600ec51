//! The component's bounds: what happens past the memory limit and the deadline, and from many threads.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use retort_host::{Component, Contract, Error, Instances, Native, Options, typed};
use serde_json::Value;

const READ: &str = r#"{"error":{"code":"40001"},"system":"postgresql","operation":{"effect":"read","statement":"SELECT 1"},"context":{"trace_id":"trace-1"}}"#;
const WRITE: &str = r#"{"error":{"code":"40001"},"system":"postgresql","operation":{"effect":"write","operation_key":"key-1"},"context":{"trace_id":"trace-1"}}"#;

fn component(options: Options) -> Component {
    Component::load(None, Options { cache: true, ..options })
        .expect("the component is built before the tests: make component")
}

/// A component whose every call is past its deadline.
fn failing() -> Component {
    component(Options { deadline: Some(Duration::ZERO), ..Options::default() })
}

fn parse(json: &str) -> Value {
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn a_write_past_the_deadline_is_of_unknown_outcome_and_keeps_its_key() {
    let component = failing();
    let verdict = parse(&component.evaluate(WRITE));
    assert_eq!(
        verdict["envelope"],
        parse(
            r#"{"code":"OUTCOME_UNKNOWN","category":"unknown_outcome","retryable":false,"outcome":"unknown","trace_id":"trace-1",
                "message":"It is not known whether the operation took effect. Do not repeat it before that is known.",
                "next":"reconcile","operation_key":"key-1","check_after_ms":1000}"#
        )
    );
    assert_eq!(verdict["decision"]["reason"], "tool_fault");
    assert_eq!(verdict["decision"]["cleanup"], "cancel_then_discard");
    assert_eq!(component.faults(), 1);
}

#[test]
fn a_read_past_the_deadline_is_a_database_error_without_effect() {
    let verdict = parse(&failing().evaluate(READ));
    assert_eq!(
        verdict["envelope"],
        parse(
            r#"{"code":"DATABASE_ERROR","category":"permanent","retryable":false,"outcome":"not_committed","trace_id":"trace-1",
                "message":"The database reported an error that a retry does not mend.","next":"stop"}"#
        )
    );
}

#[test]
fn a_read_that_shows_a_writing_statement_fails_closed_as_a_write() {
    let report = READ.replace("SELECT 1", "DELETE FROM t");
    assert_eq!(parse(&failing().evaluate(&report))["envelope"]["code"], "OUTCOME_UNKNOWN");
}

#[test]
fn a_trace_id_is_minted_where_the_report_has_none_or_an_unfit_one() {
    for report in ["nonsense", r#"{"context":{"trace_id":"SELECT * FROM t"}}"#] {
        let verdict = parse(&failing().evaluate(report));
        let trace_id = verdict["envelope"]["trace_id"].as_str().expect("a trace id");
        assert_eq!(trace_id.len(), 32);
        assert!(trace_id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(verdict["diagnostic"]["trace_id"], trace_id);
    }
}

#[test]
fn every_function_fails_closed_as_every_host_does() {
    let component = failing();
    let mut replayed = 0;
    for line in include_str!("../../tests/corpus/faults.jsonl").lines() {
        let case = parse(line);
        let text = |name: &str| case[name].as_str().expect("text");
        let input = text("input");
        let output = match text("function") {
            "budget" => component.budget(input),
            "codes" => component.codes(),
            "evaluate" => component.evaluate(input),
            "evaluate-many" => component.evaluate_many(input),
            "fingerprint" => component.fingerprint(input),
            "inspect" => component.inspect(input),
            "reconcile" => component.reconcile(input),
            "redact" => component.redact(input),
            "render" => component.render(input),
            "summarise" => component.summarise(input),
            other => panic!("no function {other}"),
        };
        assert_eq!(without_minted(&output), text("output"), "{}", text("name"));
        replayed += 1;
    }
    assert!(replayed > 20);
    assert_eq!(component.version(), "");
}

/// Minted trace ids, 32 hexadecimal digits, become zeros.
fn without_minted(output: &str) -> String {
    let is_digit = |letter: char| matches!(letter, '0'..='9' | 'a'..='f');
    let minted = output.split(|letter| !is_digit(letter)).filter(|digits| digits.len() == 32);
    minted.fold(output.to_owned(), |written, digits| written.replace(digits, &"0".repeat(32)))
}

#[test]
fn the_typed_interface_fails_closed_too() {
    let verdict = failing().typed().evaluate(&typed_report());
    assert_eq!(verdict.envelope.code, "OUTCOME_UNKNOWN");
    assert_eq!(verdict.envelope.outcome, typed::Outcome::Unknown);
    assert_eq!(verdict.envelope.trace_id, "trace-1");
    assert_eq!(verdict.envelope.operation_key.as_deref(), Some("key-1"));
    assert_eq!(verdict.envelope.check_after_ms, Some(1000));
}

#[test]
fn after_a_trap_for_want_of_memory_the_next_call_gets_a_new_instance() {
    let long = format!(r#"{{"error":"{}","operation":{{"operation_key":"key-1"}}}}"#, "x".repeat(1 << 20));
    for instances in [Instances::Fresh, Instances::Reused] {
        let component = component(Options { memory_bytes: 1 << 21, instances, ..Options::default() });
        let before = component.evaluate(WRITE);
        assert_eq!(before, Native.evaluate(WRITE));
        assert_eq!(parse(&component.evaluate(&long.repeat(4)))["envelope"]["code"], "OUTCOME_UNKNOWN");
        assert_eq!(component.faults(), 1, "{instances:?}");
        assert_eq!(component.evaluate(WRITE), before, "{instances:?}");
    }
}

#[test]
fn without_a_deadline_verdicts_and_the_other_bounds_stay() {
    let unbounded = Options { deadline: None, instances: Instances::Reused, ..Options::default() };
    let component = component(Options { memory_bytes: 1 << 21, ..unbounded });
    for report in [READ, WRITE, "nonsense"] {
        assert_eq!(component.evaluate(report), Native.evaluate(report));
    }
    assert_eq!(component.faults(), 0);
    let long = format!(r#"{{"error":"{}"}}"#, "x".repeat(4 << 20));
    assert_eq!(parse(&component.evaluate(&long))["envelope"]["code"], "OUTCOME_UNKNOWN");
    assert_eq!(component.faults(), 1);
    assert_eq!(component.evaluate(WRITE), Native.evaluate(WRITE));
}

#[test]
fn a_report_of_one_mebibyte_fits_into_the_default_memory() {
    let component = component(Options::default());
    let report = format!(r#"{{"error":"{}","seed":1}}"#, "x".repeat((1 << 20) - 64));
    assert_eq!(component.evaluate(&report), Native.evaluate(&report));
    assert_eq!(component.faults(), 0);
}

#[test]
fn sixteen_threads_get_the_bytes_that_one_gets() {
    for (instances, pooling) in
        [(Instances::Fresh, true), (Instances::Reused, true), (Instances::Fresh, false)]
    {
        let component = component(Options { instances, pooling, ..Options::default() });
        thread::scope(|scope| {
            for number in 0..16 {
                let component = &component;
                scope.spawn(move || {
                    for seed in 0..50 {
                        let report = format!(
                            r#"{{"error":{{"condition":"POOL_BUSY"}},"seed":{}}}"#,
                            number * 100 + seed
                        );
                        assert_eq!(component.evaluate(&report), Native.evaluate(&report));
                    }
                });
            }
        });
        assert_eq!(component.faults(), 0);
    }
}

#[test]
fn a_typed_report_gets_the_verdict_that_the_native_library_gives() {
    let component = component(Options::default());
    assert_eq!(component.typed().evaluate(&typed_report()), Native.typed().evaluate(&typed_report()));
    assert_eq!(component.typed().codes(), Native.typed().codes());
}

#[test]
fn a_file_that_is_no_component_is_named_as_such() {
    let error = Component::from_bytes(b"\0asm\x01\0\0\0", Options::default()).err().expect("an error");
    assert!(matches!(error, Error::NotTheComponent { .. }), "{error}");
    let missing = PathBuf::from("/nowhere/retort.component.wasm");
    let error = Component::load(Some(&missing), Options::default()).err().expect("an error");
    assert!(matches!(&error, Error::Read { path, .. } if *path == missing), "{error}");
}

fn typed_report() -> typed::Report {
    typed::Report {
        error: r#"{"code":"40001"}"#.into(),
        system: Some("postgresql".into()),
        driver: None,
        operation: typed::Operation {
            effect: Some("write".into()),
            phase: Some("commit".into()),
            transaction: Some("committing".into()),
            unit: None,
            steps_done: 0,
            origin: None,
            operation_key: Some("key-1".into()),
            dedupe: None,
            key_expires_ms: None,
            receipt: None,
            fenced: false,
            replays: None,
            key_constraint: None,
            statement: None,
            op_index: None,
        },
        attempt: typed::Attempt {
            number: 1,
            max: None,
            elapsed_ms: None,
            deadline_ms: None,
            expected_ms: None,
            server_retry_after_ms: None,
            tokens: None,
            prior: None,
        },
        cancel: None,
        violations: Vec::new(),
        context: typed::Context {
            trace_id: Some("trace-1".into()),
            traceparent: None,
            operation_id: None,
            attempt_id: None,
            tool: None,
            tool_version: None,
            policy_version: None,
            boundary: None,
            reference: None,
            authorized: true,
        },
        policy: typed::Policy {
            base_ms: None,
            cap_ms: None,
            max_attempts: None,
            capacity: None,
            conceal_conflicts: false,
        },
        seed: 7,
        extensions: Vec::new(),
    }
}
