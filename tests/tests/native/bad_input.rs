//! Bad input: a verdict each time, with the cautious reading.

use retort::report::Report;
use retort::strings;
use retort_tests::arbitrary::CANARY;
use retort_tests::{laws, leak};
use serde_json::{Value, json};

/// Evaluates, and checks what holds of every verdict.
fn verdict(report: &str) -> Value {
    let verdict: Value = serde_json::from_str(&strings::evaluate(report)).expect("a verdict is JSON");
    let broken = laws::broken(&Report::read(report), &verdict);
    assert!(broken.is_empty(), "{broken:#?}\n{}", report.get(..2000).unwrap_or(report));
    assert!(!leak::public_text(&verdict).to_lowercase().contains(CANARY), "{verdict}");
    verdict
}

/// The envelope's code, category, retryable, outcome, and the decision's reason.
fn words(verdict: &Value) -> Value {
    let envelope = &verdict["envelope"];
    json!([
        envelope["code"],
        envelope["category"],
        envelope["retryable"],
        envelope["outcome"],
        verdict["decision"]["reason"]
    ])
}

/// What an unreadable report of a write comes to.
fn unreadable_write() -> Value {
    json!(["OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "tool_fault"])
}

/// A report with a value in every field.
fn full() -> Value {
    json!({
        "error": {"code": "23505", "message": "duplicate key", "constraint": "orders_pkey", "cause": {"code": "ECONNRESET"}},
        "system": "postgresql",
        "driver": "node-postgres",
        "operation": {
            "effect": "idempotent_write", "phase": "execute", "transaction": "open", "unit": "statement",
            "steps_done": 0, "origin": "tool", "operation_key": "order-4711", "dedupe": "enforced",
            "key_expires_ms": 60000, "receipt": "none", "fenced": true, "replays": "none",
            "key_constraint": "receipts_pkey", "statement": "insert into orders values (1)", "op_index": 1
        },
        "attempt": {
            "number": 1, "max": 3, "elapsed_ms": 1, "deadline_ms": 60000, "expected_ms": 5,
            "server_retry_after_ms": 1, "tokens": 500, "prior": "none"
        },
        "cancel": "none",
        "violations": [{"argument": "limit", "rule": "maximum"}],
        "context": {
            "trace_id": "t-1", "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "operation_id": "op-1", "attempt_id": "at-1", "tool": "orders", "tool_version": "1.2.0",
            "policy_version": "7", "boundary": "gateway", "reference": "policy-7", "authorized": true
        },
        "policy": {"base_ms": 100, "cap_ms": 20000, "max_attempts": 3, "capacity": 500, "conceal_conflicts": true},
        "seed": 7
    })
}

/// Every member of a value, as a JSON pointer.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    if !at.is_empty() {
        found.push(String::from(at));
    }
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| pointers(value, &format!("{at}/{name}"), found));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, value)| pointers(value, &format!("{at}/{index}"), found));
        }
        _ => {}
    }
}

fn full_pointers() -> Vec<String> {
    let mut found = Vec::new();
    pointers(&full(), "", &mut found);
    found
}

#[test]
fn a_report_cut_at_any_byte_is_a_sent_write() {
    let mut report = full();
    report["operation"]["phase"] = json!("unknown");
    let text = report.to_string();
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
        let words = words(&verdict(&text[..end]));
        assert_eq!(words, unreadable_write(), "cut at {end}: {}", &text[..end]);
    }
}

#[test]
fn a_cut_report_that_said_read_is_a_tool_fault() {
    let text = r#"{"operation": {"effect": "read", "phase": "execute"}, "error": {"code": "23505", "mess"#;
    let fault = json!(["TOOL_FAULT", "permanent", false, "not_committed", "tool_fault"]);
    assert_eq!(words(&verdict(text)), fault);
}

#[test]
fn a_cut_report_that_said_before_sending_is_a_tool_fault() {
    let text = r#"{"operation": {"effect": "write", "phase": "acquire"}, "error": {"code": "23505", "mess"#;
    let fault = json!(["TOOL_FAULT", "permanent", false, "not_started", "tool_fault"]);
    assert_eq!(words(&verdict(text)), fault);
}

#[test]
fn what_is_no_report_is_a_sent_write() {
    for text in [
        "",
        " ",
        "null",
        "[]",
        "{",
        "}",
        "42",
        "\"{}\"",
        "nonsense",
        "{}{}",
        "{\"a\":1}x",
        "\u{feff}{}",
        "\0",
    ] {
        assert_eq!(words(&verdict(text)), unreadable_write(), "{text:?}");
    }
}

#[test]
fn what_is_wrong_with_one_report_does_not_reach_its_neighbours() {
    let (first, last) = (full().to_string(), r#"{"error": {"code": "40P01"}, "system": "postgresql"}"#);
    let wrong = [r#"{"error" 1}"#, "nonsense", "", r#"{"seed": 1e}"#];
    let alone: Vec<String> =
        [&*first].into_iter().chain(wrong).chain([last]).map(strings::evaluate).collect();
    let together = strings::evaluate_many(&format!("[{first},{},{last}]", wrong.join(",")));
    assert_eq!(together, format!("[{}]", alone.join(",")));
}

#[test]
fn an_error_that_cannot_be_read_is_lost_and_its_operation_still_judged() {
    let report = |error: &str| {
        format!(
            r#"{{"error": {error}, "operation": {{"effect": "read", "phase": "execute"}}, "system": "mysql"}}"#
        )
    };
    let silent = verdict(&report(r#""""#));
    let deep = "[".repeat(200) + &"]".repeat(200);
    for error in [r#"{"code": 1205 "message": 1}"#, "{1213}", &deep, "nonsense"] {
        assert_eq!(verdict(&report(error)), silent, "{error}");
    }
}

#[test]
fn an_empty_report_is_an_unrecognised_sent_write() {
    let unknown = json!(["OUTCOME_UNKNOWN", "unknown_outcome", false, "unknown", "outcome_unknown"]);
    assert_eq!(words(&verdict("{}")), unknown);
}

#[test]
fn a_wrong_type_in_any_field_never_makes_a_retry_look_safer() {
    let wrong = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5e300),
        json!(u64::MAX),
        json!(""),
        json!([]),
        json!({}),
        json!([[{"a": 1}]]),
        json!({"condition": {"a": 1}}),
        json!("\u{0}"),
        json!("\u{202e}x"),
    ];
    let (mut reports, whole) = (0, verdict(&full().to_string()));
    for pointer in full_pointers() {
        for wrong in &wrong {
            let mut report = full();
            *report.pointer_mut(&pointer).expect("a pointer of this report") = wrong.clone();
            let verdict = verdict(&report.to_string());
            // What says less may change the condition, but no missing word may turn this refusal into a retry.
            let is_word = pointer.starts_with("/operation") && *wrong != json!(null);
            if is_word {
                assert_eq!(
                    verdict["envelope"]["retryable"], whole["envelope"]["retryable"],
                    "{pointer} = {wrong}: {verdict}"
                );
            }
            reports += 1;
        }
    }
    assert!(reports > 500, "{reports} reports");
}

#[test]
fn an_unknown_word_in_any_field_gets_the_cautious_reading() {
    let lost = |name: &str, word: &str| {
        let mut report = json!({
            "error": {"code": "ECONNRESET", "syscall": "read"}, "system": "postgresql",
            "operation": {"effect": "write", "phase": "execute", "transaction": "none"},
        });
        report["operation"][name] = json!(word);
        verdict(&report.to_string())["envelope"]["outcome"].clone()
    };
    for (name, safe) in [("effect", "read"), ("phase", "connect"), ("transaction", "open")] {
        assert_ne!(lost(name, safe), json!("unknown"), "{name} = {safe} says something");
        assert_eq!(lost(name, "no such word"), json!("unknown"), "{name}");
    }
    let refused = |name: &str, word: Value| {
        let mut report = json!({
            "error": {"code": "40P01", "name": "error", "severity": "ERROR"}, "system": "postgresql",
            "operation": {"effect": "write", "phase": "execute", "transaction": "none"}, "attempt": {},
        });
        let at = if name == "prior" { "attempt" } else { "operation" };
        report[at][name] = word;
        verdict(&report.to_string())["envelope"]["outcome"].clone()
    };
    assert_eq!(refused("unit", json!("statement")), json!("not_committed"));
    for name in ["unit", "replays", "prior"] {
        assert_eq!(refused(name, json!("no such word")), json!("unknown"), "{name}");
        assert_eq!(refused(name, json!(17)), json!("unknown"), "{name}");
    }
    assert_eq!(refused("steps_done", json!("three")), json!("unknown"));
}

#[test]
fn an_unknown_word_of_a_key_never_makes_a_repetition_safe() {
    let report = |dedupe: Value, key: Value, expires: Value| {
        json!({
            "error": {"code": "ECONNRESET", "syscall": "read"}, "system": "postgresql",
            "operation": {
                "effect": "write", "phase": "execute", "transaction": "none", "operation_key": key,
                "dedupe": dedupe, "key_expires_ms": expires
            },
        })
        .to_string()
    };
    let retryable = |report: &str| verdict(report)["envelope"]["retryable"] == true;
    assert!(retryable(&report(json!("enforced"), json!("order-4711"), json!(60_000))));
    for (dedupe, key, expires) in [
        (json!("enforcd"), json!("order-4711"), json!(60_000)),
        (json!(["enforced"]), json!("order-4711"), json!(60_000)),
        (json!("enforced"), json!("order 4711"), json!(60_000)),
        (json!("enforced"), json!("x".repeat(257)), json!(60_000)),
        (json!("enforced"), json!(4711), json!(60_000)),
        (json!("enforced"), json!("order-4711"), json!("tomorrow")),
        (json!("enforced"), json!("order-4711"), json!(-5)),
    ] {
        let report = report(dedupe, key, expires);
        assert!(!retryable(&report), "{report}");
    }
}

#[test]
fn nesting_has_a_limit_and_loses_only_the_error() {
    for (open, close) in [("[", "]"), ("{\"cause\":", "}")] {
        for depth in [100, 130, 5_000, 400_000] {
            let error = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let operation = r#""operation":{"effect":"write","phase":"acquire"}"#;
            for report in [
                format!("{{{operation},\"error\":{error}}}"),
                format!("{{\"error\":{error},{operation}}}"),
                format!("{{\"operation\":{error}}}"),
                format!("{{\"violations\":{error}}}"),
                error,
            ] {
                verdict(&report);
            }
        }
    }
}

#[test]
fn lone_surrogates_and_nul_are_read() {
    for text in [r"\ud800", r"\udc00\ud800", r"\ud83d x", r"\u0000", r"\ud83d\ude00", "\u{0}", "\u{10ffff}"] {
        let report = format!(
            r#"{{"error": {{"code": "23505", "message": "zq7xcanaryk {text}"}}, "system": "postgresql",
                "operation": {{"effect": "write", "phase": "execute", "transaction": "none"}}}}"#
        );
        verdict(&report);
    }
    let report = r#"{"error": {"code": "23505", "message": "a \ud800 b"}, "system": "postgresql",
        "operation": {"effect": "write", "phase": "execute", "transaction": "none"}, "context": {"authorized": true}}"#;
    let words = words(&verdict(report));
    assert_eq!(words, json!(["UNIQUE_VIOLATION", "conflict", false, "not_committed", "not_transient"]));
}

#[test]
fn two_mebibytes_lose_the_error_and_keep_the_operation() {
    let text = "x".repeat(2 << 20);
    let report = |error: Value, phase: &str| {
        json!({"error": error, "system": "postgresql", "operation": {"effect": "write", "phase": phase}})
            .to_string()
    };
    let before = words(&verdict(&report(json!({"code": "23505", "message": text}), "acquire")));
    assert_eq!(before, json!(["DATABASE_ERROR", "permanent", false, "not_started", "unrecognised"]));
    let sent = words(&verdict(&report(json!({"code": "23505", "message": text}), "execute")));
    assert_eq!(sent[0], json!("OUTCOME_UNKNOWN"));
    for error in [json!(text), json!(vec!["x"; 300_000]), json!({ text.as_str(): 1 })] {
        verdict(&report(error, "execute"));
    }
    let context = json!({"error": {"code": "23505"}, "context": {"trace_id": text, "tool": text}});
    verdict(&context.to_string());
}

#[test]
fn a_long_text_below_the_limit_keeps_head_and_tail() {
    let filler = "y ".repeat(200_000);
    let report = json!({
        "error": {"code": "40P01", "message": format!("deadlock detected {filler} {CANARY}")},
        "system": "postgresql",
        "operation": {"effect": "write", "phase": "execute", "transaction": "none"},
    });
    assert_eq!(words(&verdict(&report.to_string()))[0], json!("DEADLOCK"));
}

#[test]
fn numbers_out_of_range_are_cautious() {
    let retryable = |attempt: Value| {
        let report = json!({
            "error": {"code": "40P01"}, "system": "postgresql",
            "operation": {"effect": "write", "phase": "execute", "transaction": "none"}, "attempt": attempt,
        });
        verdict(&report.to_string())["envelope"]["retryable"] == true
    };
    assert!(retryable(json!({"number": 1, "max": 3})));
    for attempt in [
        json!({"number": u64::MAX, "max": 3}),
        json!({"number": 1e300, "max": 3}),
        json!({"number": "first", "max": 3}),
        json!({"number": 1, "max": -3}),
        json!({"number": 1, "max": "three"}),
        json!({"number": 1, "max": 3, "deadline_ms": -1}),
        json!({"number": 1, "max": 3, "deadline_ms": [], "elapsed_ms": 5}),
        json!({"number": 1, "max": 3, "deadline_ms": 9000, "elapsed_ms": 1e300}),
        json!({"number": 1, "max": 3, "tokens": -1}),
        json!({"number": 1, "max": 3, "tokens": {}}),
        json!({"number": u32::MAX, "max": u32::MAX}),
        json!({"number": 1, "max": 0}),
    ] {
        assert!(!retryable(attempt.clone()), "{attempt}");
    }
}

#[test]
fn canaries_in_any_field_stay_out_of_envelope_and_attempt_record() {
    let canaries = [
        format!("{CANARY} with blanks"),
        format!("{CANARY}\u{202e}"),
        format!("{CANARY}'; drop table orders; --"),
        format!("{CANARY}{}", "x".repeat(300)),
    ];
    let mut reports = 0;
    for pointer in full_pointers() {
        for canary in &canaries {
            let mut report = full();
            *report.pointer_mut(&pointer).expect("a pointer of this report") = json!(canary);
            verdict(&report.to_string());
            reports += 1;
        }
    }
    assert!(reports > 150, "{reports} reports");
}

#[test]
fn canaries_that_look_like_names_stay_out_where_only_known_names_belong() {
    // Fields of the error, and the host's words: closed lists only, whatever the charset.
    let error = [
        "code",
        "errno",
        "number",
        "sqlState",
        "sqlstate",
        "SQLSTATE",
        "codeName",
        "name",
        "type",
        "class",
        "message",
        "detail",
        "hint",
        "constraint",
        "table",
        "column",
        "schema",
        "dataType",
        "routine",
        "file",
        "severity",
        "syscall",
        "hostname",
        "address",
        "status",
        "statusCode",
        "label",
        "condition",
        "sqlMessage",
    ];
    for name in error {
        for canary in [CANARY, "ZQ7XCANARYK", "ZQ7XC", "08ZQ7"] {
            let mut report = json!({"error": {}, "context": {"authorized": true}});
            report["error"][name] = json!(canary);
            let text = leak::public_text(&verdict(&report.to_string())).to_lowercase();
            assert!(!text.contains("zq7"), "{name}: {text}");
            let nested = json!({"error": {"cause": {"errors": [report["error"]]}}});
            let text = leak::public_text(&verdict(&nested.to_string())).to_lowercase();
            assert!(!text.contains("zq7"), "{name}, nested: {text}");
        }
    }
    for report in [
        json!({"error": {"errorLabels": [CANARY, "NoWritesPerformed"], "code": 11000}, "system": "mongodb"}),
        json!({"error": {"errors": [{"code": CANARY}, {"sqlstate": "ZQ7XC"}]}}),
        json!({"error": {"code": "23505"}, "system": CANARY}),
        json!({"error": {"code": "23505"}, "driver": CANARY}),
        json!({"error": CANARY}),
        json!({"error": {CANARY: CANARY}}),
        json!({"error": {"code": "23505"}, "operation": {"statement": CANARY, "key_constraint": CANARY, "effect": CANARY}}),
        json!({CANARY: CANARY}),
    ] {
        verdict(&report.to_string());
    }
}
