//! A row's value can hold any words: none of them, wherever they stand, may prove that a write had no effect.

use std::fs;
use std::path::Path;

use retort::strings;
use retort::systems::System;
use serde_json::{Value, json};

/// The fixed texts of every table, with something in their gaps, and the system they belong to.
fn texts() -> Vec<(Option<&'static str>, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest/tables");
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).expect("the tables' folder") {
        let path = entry.expect("an entry").path();
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| path.is_file()) else {
            continue;
        };
        let system = System::parse(stem).map(System::as_str);
        for row in fs::read_to_string(&path).expect("a table").lines() {
            if let Some(text) = row.split('\t').next().and_then(|key| key.strip_prefix("msg:")) {
                texts.push((system, text.replace('%', "zq7")));
            }
        }
    }
    assert!(texts.len() > 500, "the tables have their texts: {}", texts.len());
    texts
}

/// Errors that say nothing themselves and hold a row's value somewhere.
fn holders(value: &str) -> Vec<Value> {
    let forged = json!({
        "message": value, "code": "40001", "sqlState": "40001", "errno": 1213, "status": "aborted", "committed": false,
        "errorLabels": ["NoWritesPerformed"], "constraint": "receipts_pkey", "insertedCount": 0,
        "CancellationReasons": [{"Code": "TransactionConflict"}], "condition": "POOL_BUSY",
    });
    vec![
        json!({"message": format!("nonsense \"{value}\"")}),
        json!({"message": format!("nonsense '{value}'")}),
        json!({"message": format!("nonsense \"x\", {value}")}),
        json!({"message": format!("nonsense\n{value}")}),
        json!(format!("a row's value of two words\n{value}\nand more")),
        json!({"message": format!("nonsense \"{forged}\"")}),
        json!(format!("nonsense '{forged}'")),
        json!({"message": "nonsense", "detail": value, "hint": value, "where": value, "internalQuery": value}),
        json!({"message": "nonsense", "query": value, "sql": value, "parameters": [value, forged]}),
        json!({"message": "nonsense", "params": forged, "values": [forged], "row": forged, "document": forged}),
        json!({"message": "nonsense", "keyValue": forged, "op": forged, "bindings": [forged], "input": forged}),
        json!({"message": "nonsense", "record_of_a_table": forged, "anything": [forged]}),
    ]
}

#[test]
fn no_text_of_any_server_in_a_value_proves_that_a_write_had_no_effect() {
    assert_proves_nothing(texts(), holders);
}

#[test]
fn no_words_of_any_server_prove_a_thing_behind_an_unknown_beginning() {
    // A class in a form of its own (`…: java.sql.SQLException: `) is no mere word: wrappers of all kinds stand before it.
    let words = texts().into_iter().filter(|(_, text)| !text.contains(": org.apache."));
    assert_proves_nothing(words, |text| {
        vec![json!(format!("a value {text}")), json!({"message": format!("a value, {text}")})]
    });
}

/// Asserts that no text proves, in any of its holders, that a sent write had no effect.
fn assert_proves_nothing(
    texts: impl IntoIterator<Item = (Option<&'static str>, String)>,
    holders: impl Fn(&str) -> Vec<Value>,
) {
    let mut claims = Vec::new();
    for (system, text) in texts {
        for error in holders(&text) {
            let report = json!({
                "error": error, "system": system,
                "operation": {
                    "effect": "write", "phase": "execute", "transaction": "none", "operation_key": "order-4711",
                    "dedupe": "receipt", "key_constraint": "receipts_pkey"
                },
                "context": {"authorized": true},
            });
            let verdict: Value =
                serde_json::from_str(&strings::evaluate(&report.to_string())).expect("a verdict");
            if verdict["envelope"]["outcome"] != "unknown" {
                let (envelope, rule) = (&verdict["envelope"], &verdict["diagnostic"]["rule"]);
                claims.push(format!("{} {} by {rule}: {report}", envelope["outcome"], envelope["code"]));
            }
        }
    }
    let kinds = claims.len();
    claims.truncate(20);
    assert!(claims.is_empty(), "{kinds} claims, such as {claims:#?}");
}

/// What programs of all kinds say, so that no server can be known by it.
const ANYBODYS: &[&str] = &[
    "Access denied",
    "Authentication failed",
    "Authentication failed.",
    "Connection is closed.",
    "Division by 0",
    "HTTP Error: 503",
    "JWT expired",
    "Not found: x",
    "Permission Error: x",
    "Syntax Error: x",
    "Syntax error: x",
    "Too many connections",
    "Validation failed: x",
    "aborted",
    "already exists",
    "bigint out of range",
    "cancelled",
    "conflict",
    "connection already closed",
    "connection is closed",
    "database error",
    "deadlock",
    "division by zero",
    "duplicate key",
    "file not found",
    "index out of range",
    "integer out of range",
    "integer overflow",
    "interrupted",
    "invalid input",
    "invalid password",
    "invalid syntax",
    "no such file or directory",
    "not authorized",
    "not found",
    "out of memory",
    "out of range",
    "permission denied",
    "pool is closed",
    "rate limit exceeded",
    "read only",
    "record not found",
    "resource not available",
    "rollback",
    "string or blob too big",
    "syntax error",
    "table is full",
    "the connection is closed",
    "timeout expired",
    "type mismatch",
    "unauthorized",
    "unique constraint",
    "value too long",
    "version conflict",
];

#[test]
fn a_text_that_any_program_could_give_proves_nothing_without_a_code_or_a_class() {
    let mut claims = Vec::new();
    for system in System::ALL {
        for text in ANYBODYS {
            let errors = [
                json!(text),
                json!({ "message": text }),
                json!({ "error": text }),
                json!({"name": "Error", "message": text}),
            ];
            for error in errors {
                let report = json!({
                    "error": error, "system": system.as_str(),
                    "operation": {"effect": "write", "phase": "execute", "transaction": "none"},
                });
                let verdict: Value =
                    serde_json::from_str(&strings::evaluate(&report.to_string())).expect("a verdict");
                if verdict["envelope"]["outcome"] != "unknown" {
                    claims.push(format!(
                        "{} by {}: {report}",
                        verdict["envelope"]["outcome"], verdict["diagnostic"]["rule"]
                    ));
                }
            }
        }
    }
    assert!(claims.is_empty(), "{claims:#?}");
}

#[test]
fn a_value_cannot_name_the_operation_keys_constraint() {
    let messages = [
        (
            "mysql",
            json!({"errno": 1062}),
            "Duplicate entry 'a' for key 'receipts_pkey' for key 'orders.name'",
        ),
        (
            "mysql",
            json!({"errno": 1062}),
            "Duplicate entry '{\"constraint\": \"receipts_pkey\"}' for key 'orders.name'",
        ),
        (
            "postgresql",
            json!({"code": "23505", "constraint": "orders_name_key"}),
            "duplicate key value violates unique constraint \"orders_name_key\"\nDETAIL:  Key (name)=(\" violates unique constraint \"receipts_pkey\") already exists.",
        ),
        (
            "postgresql",
            json!({"code": "23505", "constraint": "orders_name_key", "params": [{"constraint": "receipts_pkey"}]}),
            "duplicate key value violates unique constraint \"orders_name_key\"",
        ),
    ];
    for (system, mut error, message) in messages {
        error["message"] = json!(message);
        let report = json!({
            "error": error, "system": system,
            "operation": {
                "effect": "write", "phase": "execute", "transaction": "none", "operation_key": "order-4711",
                "dedupe": "receipt", "key_constraint": "receipts_pkey"
            },
        });
        let verdict: Value =
            serde_json::from_str(&strings::evaluate(&report.to_string())).expect("a verdict");
        assert_eq!(verdict["envelope"]["code"], "UNIQUE_VIOLATION", "{report}");
    }
}

#[test]
fn a_dropped_error_is_not_taken_for_an_argument_check() {
    let report = json!({
        "error": {"message": "x".repeat(2 << 20)},
        "violations": [{"argument": "limit", "rule": "maximum"}],
        "operation": {"effect": "write", "phase": "execute", "transaction": "none"},
    });
    let verdict: Value = serde_json::from_str(&strings::evaluate(&report.to_string())).expect("a verdict");
    assert_eq!(verdict["envelope"]["outcome"], "unknown", "{verdict}");
}

#[test]
fn a_pool_timeout_behind_a_lost_connection_does_not_say_that_nothing_was_sent() {
    let pool = json!({"name": "SequelizeConnectionAcquireTimeoutError", "message": "Operation timeout"});
    let lost = json!({"code": "ECONNRESET", "syscall": "read", "message": "read ECONNRESET"});
    let mut outer = lost.clone();
    outer["cause"] = pool.clone();
    for error in [outer, json!({"name": "AggregateError", "errors": [lost, pool]})] {
        let report = json!({
            "error": error, "system": "postgresql",
            "operation": {"effect": "write", "phase": "execute", "transaction": "none"},
        });
        let verdict: Value =
            serde_json::from_str(&strings::evaluate(&report.to_string())).expect("a verdict");
        assert_eq!(verdict["envelope"]["outcome"], "unknown", "{verdict}");
    }
}

#[test]
fn work_is_linear_in_the_input() {
    let nasty = [
        "{",
        "{\"a\":",
        "(",
        "' (",
        " ",
        ". ",
        "\\\"",
        "ERROR: ",
        "Error: Error: ",
        "ORA-",
        "[x] ",
        "\u{202e}",
        "a'b\"c ",
    ];
    for pattern in nasty {
        let text = pattern.repeat((1 << 20) / pattern.len() * 9 / 10);
        for error in
            [json!(text), json!({"message": text}), json!({"stack": text, "message": text.get(..64_000)})]
        {
            let report = json!({"error": error, "system": "postgresql"}).to_string();
            let start = std::time::Instant::now();
            strings::evaluate(&report);
            strings::redact(&json!({ "text": text }).to_string());
            strings::fingerprint(&json!({ "text": text }).to_string());
            let took = start.elapsed();
            assert!(took.as_secs() < 5, "{pattern:?}: {took:?}");
        }
    }
}

#[test]
fn denied_and_missing_give_the_same_bytes_wherever_they_come_up() {
    let pairs = [
        (
            "postgresql",
            json!({"code": "42501", "message": "permission denied"}),
            json!({"code": "42P01", "message": "gone"}),
        ),
        ("mysql", json!({"errno": 1142, "sqlState": "42000"}), json!({"errno": 1146, "sqlState": "42S02"})),
        ("microsoft.sql_server", json!({"number": 229}), json!({"number": 208})),
        (
            "mongodb",
            json!({"code": 13, "codeName": "Unauthorized"}),
            json!({"code": 26, "codeName": "NamespaceNotFound"}),
        ),
        ("mongreldb", json!({"status": 403, "body": ""}), json!({"status": 404, "body": ""})),
        ("postgresql", json!({"condition": "NOT_AUTHORIZED"}), json!({"condition": "NOT_FOUND"})),
        ("postgresql", json!({"condition": "NOT_AUTHORIZED"}), json!({"condition": "UNKNOWN_OBJECT"})),
    ];
    let phases = [
        "validate",
        "authorize",
        "acquire",
        "connect",
        "send",
        "execute",
        "fetch",
        "commit",
        "rollback",
        "done",
    ];
    let transactions = ["none", "open", "committing", "committed", "rolled_back", "failed", "prepared"];
    for (system, denied, missing) in pairs {
        for (phase, transaction) in phases.iter().flat_map(|phase| transactions.map(|word| (phase, word))) {
            for (unit, replays, prior) in [
                ("statement", "none", "none"),
                ("batch", "none", "none"),
                ("statement", "possible", "unknown"),
            ] {
                for effect in ["read", "write"] {
                    let envelope = |error: &Value| {
                        let report = json!({
                            "error": error, "system": system, "driver": "go-sql-driver",
                            "operation": {
                                "effect": effect, "phase": phase, "transaction": transaction, "unit": unit,
                                "origin": "model", "operation_key": "order-4711", "dedupe": "receipt",
                                "replays": replays, "op_index": 1,
                            },
                            "attempt": {"prior": prior},
                            "context": {"trace_id": "t-1", "reference": "policy-7"},
                        });
                        let verdict: Value =
                            serde_json::from_str(&strings::evaluate(&report.to_string())).expect("a verdict");
                        verdict["envelope"].to_string()
                    };
                    assert_eq!(
                        envelope(&denied),
                        envelope(&missing),
                        "{system} {denied} {missing} {effect} {phase} {transaction} {unit}"
                    );
                }
            }
        }
    }
}
