//! The typed interface: WIT's records to the library's types and back.
//!
//! The module names its bindings only as `contract`, so that a native host can include this file over its own bindings
//! of the same WIT and judge without a component.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use retort::codes::Code;
use retort::json::Json;
use retort::observe::{AttemptRecord, Diagnostic};
use retort::publish::Envelope;
use retort::report::{Attempt, Context, Operation, Policy, Report, Token, Violation};
use retort::sanitise::{self, Dialect, Fingerprint, Level};
use retort::words;

use super::contract;

pub(crate) fn evaluate(report: &contract::Report) -> contract::Verdict {
    verdict(retort::evaluate(&read(report)))
}

pub(crate) fn reconcile(reconciliation: &contract::Reconciliation) -> contract::Verdict {
    let mut report = Report {
        system: reconciliation.system.as_deref().map(Cow::Borrowed),
        operation: operation(&reconciliation.operation),
        attempt: attempt(&reconciliation.attempt),
        context: context(&reconciliation.context),
        policy: policy(&reconciliation.policy),
        seed: reconciliation.seed,
        ..Report::default()
    };
    match Code::parse(&reconciliation.code) {
        Some(code) => {
            let outcome = from_outcome(reconciliation.outcome);
            retort::reconcile::earlier_attempt(&mut report, code, outcome, reconciliation.payload_differs);
        }
        None => report.is_unreadable = true,
    }
    verdict(retort::evaluate(&report))
}

pub(crate) fn summarise(attempts: &[contract::AttemptRecord]) -> contract::OperationRecord {
    let attempts: Vec<AttemptRecord> = attempts.iter().filter_map(from_attempt_record).collect();
    let operation = retort::observe::summarise(&attempts);
    let code = |code: Option<Code>| code.map_or(String::new(), |code| String::from(code.as_str()));
    contract::OperationRecord {
        operation_id: operation.operation_id,
        attempts: operation.attempts,
        total_delay_ms: operation.total_delay_ms,
        first_code: code(operation.first_code),
        final_code: code(operation.final_code),
        category: to_category(operation.category),
        outcome: to_outcome(operation.outcome),
        duplicates_possible: operation.duplicates_possible,
        final_: operation.is_final,
        extensions: Vec::new(),
    }
}

pub(crate) fn render(envelope: &contract::Envelope, format: &str) -> String {
    match from_envelope(envelope) {
        Some(envelope) => retort::render::render(&envelope, format),
        None => retort::render::render(&retort::evaluate(&Report::read("")).envelope, format),
    }
}

pub(crate) fn redact(text: &str, level: &str) -> contract::Redaction {
    let level = if level.is_empty() { Level::default() } else { Level::parse(level) };
    let redaction = sanitise::redact(text, level);
    contract::Redaction { text: redaction.text, findings: redaction.findings.iter().map(finding).collect() }
}

pub(crate) fn inspect(text: &str) -> Vec<contract::Finding> {
    sanitise::inspect(text).iter().map(finding).collect()
}

pub(crate) fn fingerprint(statement: &str, dialect: &str) -> contract::StatementFingerprint {
    let Fingerprint { fingerprint, shape, operation, summary } =
        sanitise::fingerprint(statement, Dialect::parse(dialect));
    contract::StatementFingerprint { fingerprint, shape, operation, summary }
}

pub(crate) fn codes() -> Vec<contract::CodeRow> {
    let row = |code: &Code| contract::CodeRow {
        code: String::from(code.as_str()),
        category: to_category(code.category()),
        transient: code.is_transient(),
        next: String::from(code.next().as_str()),
        message: String::from(code.message()),
    };
    Code::ALL.iter().map(row).collect()
}

fn read(report: &contract::Report) -> Report<'_> {
    let error = match report.error.len() <= retort::LONGEST_REPORT {
        true => Json::read(&report.error).unwrap_or(Json::Text(Cow::Borrowed(&report.error))),
        false => Json::Text(Cow::Borrowed("")),
    };
    Report {
        error: Some(error).filter(|error| *error != Json::Null),
        system: report.system.as_deref().map(Cow::Borrowed),
        driver: report.driver.as_deref().map(Cow::Borrowed),
        operation: operation(&report.operation),
        attempt: attempt(&report.attempt),
        cancel: words::Cancel::reading(report.cancel.as_deref()),
        violations: report.violations.iter().take(retort::MOST_VIOLATIONS).map(violation).collect(),
        context: context(&report.context),
        policy: policy(&report.policy),
        seed: report.seed,
        is_unreadable: false,
    }
}

fn operation(operation: &contract::Operation) -> Operation<'_> {
    let key = operation.operation_key.as_deref();
    let operation_key = key.and_then(Token::key);
    Operation {
        effect: words::Effect::reading(operation.effect.as_deref()),
        phase: words::Phase::reading(operation.phase.as_deref()),
        transaction: words::Transaction::reading(operation.transaction.as_deref()),
        unit: words::Unit::reading(operation.unit.as_deref()),
        steps_done: operation.steps_done,
        origin: words::Origin::reading(operation.origin.as_deref()),
        has_invalid_key: key.is_some() && operation_key.is_none(),
        operation_key,
        dedupe: words::Dedupe::reading(operation.dedupe.as_deref()),
        key_expires_ms: operation.key_expires_ms,
        receipt: words::Receipt::reading(operation.receipt.as_deref()),
        fenced: operation.fenced,
        replays: words::Replays::reading(operation.replays.as_deref()),
        key_constraint: operation.key_constraint.as_deref().map(Cow::Borrowed),
        statement: operation.statement.as_deref().map(Cow::Borrowed),
        op_index: operation.op_index,
    }
}

fn attempt(attempt: &contract::Attempt) -> Attempt {
    Attempt {
        number: attempt.number.max(1),
        max: attempt.max,
        elapsed_ms: attempt.elapsed_ms,
        deadline_ms: attempt.deadline_ms,
        expected_ms: attempt.expected_ms,
        server_retry_after_ms: attempt.server_retry_after_ms,
        tokens: attempt.tokens,
        prior: words::Prior::reading(attempt.prior.as_deref()),
    }
}

fn violation(violation: &contract::Violation) -> Violation {
    Violation { argument: Token::argument(&violation.argument), rule: Token::argument(&violation.rule) }
}

fn context(context: &contract::Context) -> Context {
    let token = |text: &Option<String>| text.as_deref().and_then(Token::identifier);
    Context {
        trace_id: token(&context.trace_id)
            .or_else(|| context.traceparent.as_deref().and_then(Token::trace_id)),
        operation_id: token(&context.operation_id),
        attempt_id: token(&context.attempt_id),
        tool: token(&context.tool),
        tool_version: token(&context.tool_version),
        policy_version: token(&context.policy_version),
        boundary: token(&context.boundary),
        reference: token(&context.reference),
        authorized: context.authorized,
    }
}

fn policy(policy: &contract::Policy) -> Policy {
    let default = Policy::default();
    Policy {
        base_ms: policy.base_ms.unwrap_or(default.base_ms),
        cap_ms: policy.cap_ms.unwrap_or(default.cap_ms),
        max_attempts: policy.max_attempts.unwrap_or(default.max_attempts),
        capacity: policy.capacity.unwrap_or(default.capacity),
        conceal_conflicts: policy.conceal_conflicts,
    }
}

fn finding(finding: &sanitise::Finding) -> contract::Finding {
    contract::Finding { kind: String::from(finding.kind.as_str()), start: finding.start, end: finding.end }
}

fn verdict(verdict: retort::Verdict) -> contract::Verdict {
    let decision = verdict.decision;
    contract::Verdict {
        envelope: to_envelope(&verdict.envelope),
        decision: contract::Decision {
            action: String::from(decision.action.as_str()),
            delay_ms: decision.delay_ms,
            scope: String::from(decision.scope.as_str()),
            cleanup: String::from(decision.cleanup.as_str()),
            reason: String::from(decision.reason.as_str()),
            attempts_left: decision.attempts_left,
            tokens_left: decision.tokens_left,
            extensions: Vec::new(),
        },
        diagnostic: to_diagnostic(verdict.diagnostic),
        attempt: to_attempt_record(verdict.attempt),
    }
}

fn to_envelope(envelope: &Envelope) -> contract::Envelope {
    let text = |text: Option<&str>| text.map(String::from);
    let argument = |argument: &retort::publish::Argument| contract::Violation {
        argument: String::from(argument.argument.as_str()),
        rule: argument.rule.clone(),
    };
    contract::Envelope {
        code: String::from(envelope.code().as_str()),
        category: to_category(envelope.category()),
        retryable: envelope.retryable(),
        retry_after_ms: envelope.retry_after_ms(),
        outcome: to_outcome(envelope.outcome()),
        trace_id: String::from(envelope.trace_id()),
        message: String::from(envelope.message()),
        next: String::from(envelope.next().as_str()),
        operation_key: text(envelope.operation_key()),
        check_after_ms: envelope.check_after_ms(),
        op_index: envelope.op_index(),
        arguments: envelope.arguments().iter().map(argument).collect(),
        reference: text(envelope.reference()),
        extensions: Vec::new(),
    }
}

/// An envelope is read back through its JSON, whose reader makes every text anew.
fn from_envelope(envelope: &contract::Envelope) -> Option<Envelope> {
    let text = |text: &str| Json::Text(Cow::Owned(String::from(text)));
    let number = |number: Option<u32>| number.map_or(Json::Null, |number| Json::Whole(number.into()));
    let argument = |violation: &contract::Violation| {
        Json::Object(Vec::from([
            (Cow::Borrowed("argument"), text(&violation.argument)),
            (Cow::Borrowed("rule"), text(&violation.rule)),
        ]))
    };
    let optional = |value: &Option<String>| value.as_deref().map_or(Json::Null, text);
    Envelope::read(&Json::Object(Vec::from([
        (Cow::Borrowed("code"), text(&envelope.code)),
        (Cow::Borrowed("category"), text(from_category(envelope.category).as_str())),
        (Cow::Borrowed("retryable"), Json::Bool(envelope.retryable)),
        (Cow::Borrowed("retry_after_ms"), number(envelope.retry_after_ms)),
        (Cow::Borrowed("outcome"), text(from_outcome(envelope.outcome).as_str())),
        (Cow::Borrowed("trace_id"), text(&envelope.trace_id)),
        (Cow::Borrowed("next"), text(&envelope.next)),
        (Cow::Borrowed("operation_key"), optional(&envelope.operation_key)),
        (Cow::Borrowed("check_after_ms"), number(envelope.check_after_ms)),
        (Cow::Borrowed("op_index"), number(envelope.op_index)),
        (Cow::Borrowed("arguments"), Json::List(envelope.arguments.iter().map(argument).collect())),
        (Cow::Borrowed("reference"), optional(&envelope.reference)),
    ])))
}

fn to_diagnostic(diagnostic: Diagnostic) -> contract::Diagnostic {
    contract::Diagnostic {
        trace_id: diagnostic.trace_id,
        operation_id: diagnostic.operation_id,
        attempt_id: diagnostic.attempt_id,
        code: String::from(diagnostic.code.as_str()),
        system: String::from(diagnostic.system),
        driver: diagnostic.driver.map(String::from),
        rule: diagnostic.rule,
        proof: String::from(diagnostic.proof),
        native_codes: diagnostic.native_codes,
        phase: String::from(diagnostic.phase.as_str()),
        phase_conflict: diagnostic.phase_conflict,
        transaction: String::from(diagnostic.transaction.as_str()),
        cancel: String::from(diagnostic.cancel.as_str()),
        connection: String::from(diagnostic.connection.as_str()),
        message: diagnostic.message,
        causes: diagnostic.causes,
        statement_fingerprint: diagnostic.statement_fingerprint,
        statement_summary: diagnostic.statement_summary,
        attempt_number: diagnostic.attempt_number,
        elapsed_ms: diagnostic.elapsed_ms,
        deadline_ms: diagnostic.deadline_ms,
        tool: diagnostic.tool,
        tool_version: diagnostic.tool_version,
        policy_version: diagnostic.policy_version,
        boundary: diagnostic.boundary,
        extensions: Vec::new(),
    }
}

fn to_attempt_record(record: AttemptRecord) -> contract::AttemptRecord {
    contract::AttemptRecord {
        error_type: String::from(record.error_type.as_str()),
        db_system_name: String::from(record.db_system_name),
        db_response_status_code: record.db_response_status_code,
        gen_ai_tool_name: record.gen_ai_tool_name,
        operation_id: record.operation_id,
        attempt_id: record.attempt_id,
        attempt_number: record.attempt_number,
        category: to_category(record.category),
        outcome: to_outcome(record.outcome),
        retryable: record.retryable,
        retry_delay_ms: record.retry_delay_ms,
        next: String::from(record.next.as_str()),
        tool_version: record.tool_version,
        policy_version: record.policy_version,
        boundary: record.boundary,
        final_: record.is_final,
        extensions: Vec::new(),
    }
}

fn from_attempt_record(record: &contract::AttemptRecord) -> Option<AttemptRecord> {
    Some(AttemptRecord {
        error_type: Code::parse(&record.error_type)?,
        db_system_name: retort::systems::System::parse(&record.db_system_name)
            .unwrap_or(retort::systems::System::Unknown)
            .as_str(),
        db_response_status_code: record.db_response_status_code.clone(),
        gen_ai_tool_name: record.gen_ai_tool_name.clone(),
        operation_id: record.operation_id.clone(),
        attempt_id: record.attempt_id.clone(),
        attempt_number: record.attempt_number,
        category: from_category(record.category),
        outcome: from_outcome(record.outcome),
        retryable: record.retryable,
        retry_delay_ms: record.retry_delay_ms,
        next: words::Next::reading(Some(&record.next)),
        tool_version: record.tool_version.clone(),
        policy_version: record.policy_version.clone(),
        boundary: record.boundary.clone(),
        is_final: record.final_,
    })
}

/// Two enums with the same cases, there and back.
macro_rules! same {
    ($to:ident, $from:ident, $name:ident, $($case:ident),+) => {
        fn $to(value: words::$name) -> contract::$name {
            match value { $(words::$name::$case => contract::$name::$case),+ }
        }

        fn $from(value: contract::$name) -> words::$name {
            match value { $(contract::$name::$case => words::$name::$case),+ }
        }
    };
}

same!(to_outcome, from_outcome, Outcome, NotStarted, NotCommitted, Committed, Unknown);
same!(
    to_category,
    from_category,
    Category,
    Validation,
    Clarification,
    Authorization,
    NotFound,
    Conflict,
    Transient,
    Permanent,
    UnknownOutcome
);
