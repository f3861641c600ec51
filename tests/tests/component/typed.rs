//! The typed interface's records from JSON and back: written a second time, so that the component's own is tested.

use retort_host::typed;
use serde_json::{Map, Value, json};

/// What a field of the typed interface can hold.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Number,
    Truth,
}

use Kind::{Number, Text, Truth};

const OPERATION: &[(&str, Kind)] = &[
    ("effect", Text),
    ("phase", Text),
    ("transaction", Text),
    ("unit", Text),
    ("steps_done", Number),
    ("origin", Text),
    ("operation_key", Text),
    ("dedupe", Text),
    ("key_expires_ms", Number),
    ("receipt", Text),
    ("fenced", Truth),
    ("replays", Text),
    ("key_constraint", Text),
    ("statement", Text),
    ("op_index", Number),
];
const ATTEMPT: &[(&str, Kind)] = &[
    ("number", Number),
    ("max", Number),
    ("elapsed_ms", Number),
    ("deadline_ms", Number),
    ("expected_ms", Number),
    ("server_retry_after_ms", Number),
    ("tokens", Number),
    ("prior", Text),
];
const CONTEXT: &[(&str, Kind)] = &[
    ("trace_id", Text),
    ("traceparent", Text),
    ("operation_id", Text),
    ("attempt_id", Text),
    ("tool", Text),
    ("tool_version", Text),
    ("policy_version", Text),
    ("boundary", Text),
    ("reference", Text),
    ("authorized", Truth),
];
const POLICY: &[(&str, Kind)] = &[
    ("base_ms", Number),
    ("cap_ms", Number),
    ("max_attempts", Number),
    ("capacity", Number),
    ("conceal_conflicts", Truth),
];
const VIOLATION: &[(&str, Kind)] = &[("argument", Text), ("rule", Text)];
const REPORT: &[(&str, Kind)] = &[("system", Text), ("driver", Text), ("cancel", Text), ("seed", Number)];

/// The members that the typed interface can hold, and no other.
pub fn well_typed(report: &Value) -> Value {
    let mut kept = members(report, REPORT);
    kept.insert(String::from("error"), report.get("error").cloned().unwrap_or_default());
    for (name, fields) in
        [("operation", OPERATION), ("attempt", ATTEMPT), ("context", CONTEXT), ("policy", POLICY)]
    {
        kept.insert(String::from(name), Value::Object(members(&report[name], fields)));
    }
    let violations = report["violations"].as_array().into_iter().flatten();
    let both = violations.map(|item| members(item, VIOLATION)).filter(|item| item.len() == 2);
    kept.insert(String::from("violations"), both.map(Value::Object).collect());
    Value::Object(kept)
}

fn members(value: &Value, fields: &[(&str, Kind)]) -> Map<String, Value> {
    fields
        .iter()
        .filter_map(|(name, kind)| {
            let value = value.get(name)?;
            let fits = match kind {
                Text => value.is_string(),
                Number => value.as_u64().is_some_and(|number| u32::try_from(number).is_ok()),
                Truth => value.is_boolean(),
            };
            // The largest number of a JSON op_index stands for "none", as a typed one need not.
            let fits = fits && !(*name == "op_index" && *value == json!(u32::MAX));
            fits.then(|| (String::from(*name), value.clone()))
        })
        .collect()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(String::from)
}

fn number(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok())
}

fn truth(value: &Value) -> bool {
    value.as_bool() == Some(true)
}

/// The record of a report whose members are well typed.
pub fn report(report: &Value) -> typed::Report {
    typed::Report {
        error: report["error"].to_string(),
        system: text(&report["system"]),
        driver: text(&report["driver"]),
        operation: operation(&report["operation"]),
        attempt: attempt(&report["attempt"]),
        cancel: text(&report["cancel"]),
        violations: report["violations"].as_array().into_iter().flatten().map(violation).collect(),
        context: context(&report["context"]),
        policy: policy(&report["policy"]),
        seed: number(&report["seed"]).unwrap_or(0),
        extensions: Vec::new(),
    }
}

/// The record that reconciles a verdict of a report.
pub fn reconciliation(
    verdict: &typed::Verdict,
    report: &Value,
    receipt: &str,
    fenced: bool,
) -> typed::Reconciliation {
    let mut operation = operation(&report["operation"]);
    operation.receipt = Some(String::from(receipt));
    operation.fenced |= fenced;
    operation.operation_key = operation.operation_key.or(verdict.envelope.operation_key.clone());
    typed::Reconciliation {
        code: verdict.envelope.code.clone(),
        outcome: verdict.envelope.outcome,
        operation,
        attempt: attempt(&report["attempt"]),
        system: text(&report["system"]),
        payload_differs: false,
        context: context(&report["context"]),
        policy: policy(&Value::Null),
        seed: 7,
        extensions: Vec::new(),
    }
}

fn operation(value: &Value) -> typed::Operation {
    typed::Operation {
        effect: text(&value["effect"]),
        phase: text(&value["phase"]),
        transaction: text(&value["transaction"]),
        unit: text(&value["unit"]),
        steps_done: number(&value["steps_done"]).unwrap_or(0),
        origin: text(&value["origin"]),
        operation_key: text(&value["operation_key"]),
        dedupe: text(&value["dedupe"]),
        key_expires_ms: number(&value["key_expires_ms"]),
        receipt: text(&value["receipt"]),
        fenced: truth(&value["fenced"]),
        replays: text(&value["replays"]),
        key_constraint: text(&value["key_constraint"]),
        statement: text(&value["statement"]),
        op_index: number(&value["op_index"]),
    }
}

fn attempt(value: &Value) -> typed::Attempt {
    typed::Attempt {
        number: number(&value["number"]).unwrap_or(1),
        max: number(&value["max"]),
        elapsed_ms: number(&value["elapsed_ms"]),
        deadline_ms: number(&value["deadline_ms"]),
        expected_ms: number(&value["expected_ms"]),
        server_retry_after_ms: number(&value["server_retry_after_ms"]),
        tokens: number(&value["tokens"]),
        prior: text(&value["prior"]),
    }
}

fn violation(value: &Value) -> typed::Violation {
    typed::Violation {
        argument: text(&value["argument"]).unwrap_or_default(),
        rule: text(&value["rule"]).unwrap_or_default(),
    }
}

fn context(value: &Value) -> typed::Context {
    typed::Context {
        trace_id: text(&value["trace_id"]),
        traceparent: text(&value["traceparent"]),
        operation_id: text(&value["operation_id"]),
        attempt_id: text(&value["attempt_id"]),
        tool: text(&value["tool"]),
        tool_version: text(&value["tool_version"]),
        policy_version: text(&value["policy_version"]),
        boundary: text(&value["boundary"]),
        reference: text(&value["reference"]),
        authorized: truth(&value["authorized"]),
    }
}

fn policy(value: &Value) -> typed::Policy {
    typed::Policy {
        base_ms: number(&value["base_ms"]),
        cap_ms: number(&value["cap_ms"]),
        max_attempts: number(&value["max_attempts"]),
        capacity: number(&value["capacity"]),
        conceal_conflicts: truth(&value["conceal_conflicts"]),
    }
}

/// An object without the members that are absent.
fn object(value: Value) -> Value {
    let Value::Object(members) = value else { return value };
    let is_there = |value: &Value| !value.is_null();
    Value::Object(members.into_iter().filter(|(_, value)| is_there(value)).collect())
}

/// A verdict as the string interface spells it.
pub fn verdict(verdict: &typed::Verdict) -> Value {
    json!({
        "envelope": envelope(&verdict.envelope),
        "decision": decision(&verdict.decision),
        "diagnostic": diagnostic(&verdict.diagnostic),
        "attempt": attempt_record(&verdict.attempt),
    })
}

fn envelope(envelope: &typed::Envelope) -> Value {
    let argument = |item: &typed::Violation| json!({"argument": item.argument, "rule": item.rule});
    let arguments: Vec<Value> = envelope.arguments.iter().map(argument).collect();
    object(json!({
        "code": envelope.code,
        "category": category(envelope.category),
        "retryable": envelope.retryable,
        "retry_after_ms": envelope.retry_after_ms,
        "outcome": outcome(envelope.outcome),
        "trace_id": envelope.trace_id,
        "message": envelope.message,
        "next": envelope.next,
        "operation_key": envelope.operation_key,
        "check_after_ms": envelope.check_after_ms,
        "op_index": envelope.op_index,
        "arguments": (!arguments.is_empty()).then_some(arguments),
        "reference": envelope.reference,
    }))
}

fn decision(decision: &typed::Decision) -> Value {
    object(json!({
        "action": decision.action,
        "delay_ms": decision.delay_ms,
        "scope": decision.scope,
        "cleanup": decision.cleanup,
        "reason": decision.reason,
        "attempts_left": decision.attempts_left,
        "tokens_left": decision.tokens_left,
    }))
}

fn diagnostic(diagnostic: &typed::Diagnostic) -> Value {
    object(json!({
        "trace_id": diagnostic.trace_id,
        "operation_id": diagnostic.operation_id,
        "attempt_id": diagnostic.attempt_id,
        "code": diagnostic.code,
        "system": diagnostic.system,
        "driver": diagnostic.driver,
        "rule": diagnostic.rule,
        "proof": diagnostic.proof,
        "native_codes": diagnostic.native_codes,
        "phase": diagnostic.phase,
        "phase_conflict": diagnostic.phase_conflict,
        "transaction": diagnostic.transaction,
        "cancel": diagnostic.cancel,
        "connection": diagnostic.connection,
        "message": diagnostic.message,
        "causes": diagnostic.causes,
        "statement_fingerprint": diagnostic.statement_fingerprint,
        "statement_summary": diagnostic.statement_summary,
        "attempt_number": diagnostic.attempt_number,
        "elapsed_ms": diagnostic.elapsed_ms,
        "deadline_ms": diagnostic.deadline_ms,
        "tool": diagnostic.tool,
        "tool_version": diagnostic.tool_version,
        "policy_version": diagnostic.policy_version,
        "boundary": diagnostic.boundary,
    }))
}

/// An attempt record with its dotted attributes.
pub fn attempt_record(record: &typed::AttemptRecord) -> Value {
    object(json!({
        "error.type": record.error_type,
        "db.system.name": record.db_system_name,
        "db.response.status_code": record.db_response_status_code,
        "gen_ai.tool.name": record.gen_ai_tool_name,
        "retort.operation.id": record.operation_id,
        "retort.attempt.id": record.attempt_id,
        "retort.attempt.number": record.attempt_number,
        "retort.category": category(record.category),
        "retort.outcome": outcome(record.outcome),
        "retort.retryable": record.retryable,
        "retort.retry_delay_ms": record.retry_delay_ms,
        "retort.next": record.next,
        "retort.tool.version": record.tool_version,
        "retort.policy.version": record.policy_version,
        "retort.boundary": record.boundary,
        "retort.final": record.final_,
    }))
}

/// An operation record with its dotted attributes.
pub fn operation_record(record: &typed::OperationRecord) -> Value {
    let code = |code: &str| (!code.is_empty()).then(|| String::from(code));
    object(json!({
        "retort.operation.id": record.operation_id,
        "retort.attempts": record.attempts,
        "retort.total_delay_ms": record.total_delay_ms,
        "retort.first_code": code(&record.first_code),
        "error.type": code(&record.final_code),
        "retort.category": category(record.category),
        "retort.outcome": outcome(record.outcome),
        "retort.duplicates_possible": record.duplicates_possible,
        "retort.final": record.final_,
    }))
}

/// A finding of `redact` and `inspect`.
pub fn finding(finding: &typed::Finding) -> Value {
    json!({"kind": finding.kind, "start": finding.start, "end": finding.end})
}

/// A row of the table of codes.
pub fn code_row(row: &typed::CodeRow) -> Value {
    json!({
        "code": row.code, "category": category(row.category), "transient": row.transient, "next": row.next,
        "message": row.message,
    })
}

fn category(category: typed::Category) -> &'static str {
    match category {
        typed::Category::Validation => "validation",
        typed::Category::Clarification => "clarification",
        typed::Category::Authorization => "authorization",
        typed::Category::NotFound => "not_found",
        typed::Category::Conflict => "conflict",
        typed::Category::Transient => "transient",
        typed::Category::Permanent => "permanent",
        typed::Category::UnknownOutcome => "unknown_outcome",
    }
}

fn outcome(outcome: typed::Outcome) -> &'static str {
    match outcome {
        typed::Outcome::NotStarted => "not_started",
        typed::Outcome::NotCommitted => "not_committed",
        typed::Outcome::Committed => "committed",
        typed::Outcome::Unknown => "unknown",
    }
}
