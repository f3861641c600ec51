//! Verdict → records: the restricted diagnostic for operators, the attempt record for telemetry, and the operation
//! record that attempts are folded into.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use crate::codes::Code;
use crate::decide::Decision;
use crate::json::Json;
use crate::judge::Judgement;
use crate::recognise::Finding;
use crate::report::{Report, Token};
use crate::sanitise::{self, Dialect, Level};
use crate::systems::System;
use crate::tables;
use crate::words::{Cancel, Category, Connection, Next, Outcome, Phase, Transaction};

/// The restricted record, found by trace id. It holds no credential, row value or SQL literal.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnostic {
    /// The trace id.
    pub trace_id: String,
    /// The operation's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// The attempt's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_id: Option<String>,
    /// The public code.
    pub code: Code,
    /// `db.system.name`.
    pub system: &'static str,
    /// The driver, from the closed list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<&'static str>,
    /// The rule that matched: `table/key`.
    pub rule: String,
    /// What the native error proves.
    pub proof: &'static str,
    /// The native codes that the tables know.
    pub native_codes: Vec<String>,
    /// The phase that was judged.
    pub phase: Phase,
    /// Did the error contradict the host's phase?
    pub phase_conflict: bool,
    /// The transaction's state.
    pub transaction: Transaction,
    /// The cancel's state.
    pub cancel: Cancel,
    /// The state of the connection.
    pub connection: Connection,
    /// The driver's message, redacted.
    pub message: String,
    /// The causes' messages, redacted, outermost first.
    pub causes: Vec<String>,
    /// Hash of the statement without literals: 16 hex digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement_fingerprint: Option<String>,
    /// The statement's verb and targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement_summary: Option<String>,
    /// Attempt number.
    pub attempt_number: u32,
    /// Milliseconds since the operation's start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u32>,
    /// The whole budget in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u32>,
    /// The tool's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The tool's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<String>,
    /// The policy's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<String>,
    /// Where the error was caught.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boundary: Option<String>,
}

/// What the restricted texts of a report become before they are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RedactedTexts {
    /// The driver's message.
    pub message: String,
    /// The causes' messages, outermost first.
    pub causes: Vec<String>,
    /// Hash of the statement.
    pub statement_fingerprint: Option<String>,
    /// The statement's verb and targets.
    pub statement_summary: Option<String>,
}

/// The most causes that a diagnostic keeps.
const MOST_CAUSES: usize = 16;

impl RedactedTexts {
    /// Takes out of the messages, outermost first, and of the statement what must not be kept.
    pub fn of<'a>(
        messages: impl Iterator<Item = &'a str>,
        statement: Option<&str>,
        system: System,
    ) -> RedactedTexts {
        let mut redacted = messages.map(|message| sanitise::redact(message, Level::Diagnostic).text);
        let fingerprint = statement.map(|text| sanitise::fingerprint(text, Dialect::parse(system.as_str())));
        let (statement_fingerprint, statement_summary) =
            fingerprint.map(|print| (print.fingerprint, print.summary)).unzip();
        RedactedTexts {
            message: redacted.next().unwrap_or_default(),
            causes: redacted.take(MOST_CAUSES).collect(),
            statement_fingerprint,
            statement_summary,
        }
    }
}

/// Writes the diagnostic.
pub fn diagnose(
    finding: &Finding,
    judgement: &Judgement,
    decision: &Decision,
    report: &Report<'_>,
    trace_id: &str,
    texts: RedactedTexts,
) -> Diagnostic {
    let context = &report.context;
    Diagnostic {
        trace_id: String::from(trace_id),
        operation_id: text(&context.operation_id),
        attempt_id: text(&context.attempt_id),
        code: decision.code,
        system: finding.system.as_str(),
        driver: report.driver.as_deref().and_then(tables::driver).map(|driver| driver.name),
        rule: finding.rule.clone(),
        proof: finding.proof.as_str(),
        native_codes: finding.native.iter().map(|native| String::from(native.as_str())).collect(),
        phase: judgement.phase,
        phase_conflict: judgement.phase_conflict,
        transaction: report.operation.transaction,
        cancel: report.cancel,
        connection: judgement.connection,
        message: texts.message,
        causes: texts.causes,
        statement_fingerprint: texts.statement_fingerprint,
        statement_summary: texts.statement_summary,
        attempt_number: report.attempt.number,
        elapsed_ms: report.attempt.elapsed_ms,
        deadline_ms: report.attempt.deadline_ms,
        tool: text(&context.tool),
        tool_version: text(&context.tool_version),
        policy_version: text(&context.policy_version),
        boundary: text(&context.boundary),
    }
}

/// One attempt as flat OpenTelemetry attributes. Nothing in it comes from evidence text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptRecord {
    /// The public code.
    #[serde(rename = "error.type")]
    pub error_type: Code,
    /// The system, from the closed list.
    #[serde(rename = "db.system.name")]
    pub db_system_name: &'static str,
    /// The native code where the tables know it, else `_OTHER`.
    #[serde(rename = "db.response.status_code")]
    pub db_response_status_code: String,
    /// The tool's name.
    #[serde(rename = "gen_ai.tool.name", skip_serializing_if = "Option::is_none")]
    pub gen_ai_tool_name: Option<String>,
    /// The operation's id.
    #[serde(rename = "retort.operation.id", skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// The attempt's id.
    #[serde(rename = "retort.attempt.id", skip_serializing_if = "Option::is_none")]
    pub attempt_id: Option<String>,
    /// Counted from 1.
    #[serde(rename = "retort.attempt.number")]
    pub attempt_number: u32,
    /// The category.
    #[serde(rename = "retort.category")]
    pub category: Category,
    /// The outcome.
    #[serde(rename = "retort.outcome")]
    pub outcome: Outcome,
    /// May the same call be made again?
    #[serde(rename = "retort.retryable")]
    pub retryable: bool,
    /// Milliseconds to wait before a retry or a look-up.
    #[serde(rename = "retort.retry_delay_ms", skip_serializing_if = "Option::is_none")]
    pub retry_delay_ms: Option<u32>,
    /// The next step.
    #[serde(rename = "retort.next")]
    pub next: Next,
    /// The tool's version.
    #[serde(rename = "retort.tool.version", skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<String>,
    /// The policy's version.
    #[serde(rename = "retort.policy.version", skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<String>,
    /// Where the error was caught.
    #[serde(rename = "retort.boundary", skip_serializing_if = "Option::is_none")]
    pub boundary: Option<String>,
    /// Did this attempt end the operation?
    #[serde(rename = "retort.final")]
    pub is_final: bool,
}

/// The value of an attribute that is none of the known ones.
const OTHER: &str = "_OTHER";

/// Writes the attempt record.
pub fn record(
    finding: &Finding,
    judgement: &Judgement,
    decision: &Decision,
    report: &Report<'_>,
) -> AttemptRecord {
    let context = &report.context;
    AttemptRecord {
        error_type: decision.code,
        db_system_name: finding.system.as_str(),
        db_response_status_code: String::from(
            finding.native.as_ref().map_or(OTHER, |native| native.as_str()),
        ),
        gen_ai_tool_name: text(&context.tool),
        operation_id: text(&context.operation_id),
        attempt_id: text(&context.attempt_id),
        attempt_number: report.attempt.number,
        category: decision.category,
        outcome: judgement.outcome,
        retryable: decision.retryable,
        retry_delay_ms: decision.delay_ms,
        next: decision.action,
        tool_version: text(&context.tool_version),
        policy_version: text(&context.policy_version),
        boundary: text(&context.boundary),
        is_final: !decision.retryable,
    }
}

impl AttemptRecord {
    /// Reads a record back; `None` where it is none. Native codes and identifiers are checked like a host's.
    pub fn read(json: &Json<'_>) -> Option<AttemptRecord> {
        let value = |name: &str| json.get(name).and_then(Json::as_text);
        let token =
            |name: &str| value(name).and_then(Token::identifier).map(|token| String::from(token.as_str()));
        let number = |name: &str| {
            json.get(name).and_then(Json::as_whole).and_then(|number| u32::try_from(number).ok())
        };
        Some(AttemptRecord {
            error_type: Code::parse(value("error.type")?)?,
            db_system_name: value("db.system.name")
                .and_then(System::parse)
                .unwrap_or(System::Unknown)
                .as_str(),
            db_response_status_code: token("db.response.status_code").unwrap_or(String::from(OTHER)),
            gen_ai_tool_name: token("gen_ai.tool.name"),
            operation_id: token("retort.operation.id"),
            attempt_id: token("retort.attempt.id"),
            attempt_number: number("retort.attempt.number").unwrap_or(1),
            category: Category::reading(value("retort.category")),
            outcome: Outcome::reading(value("retort.outcome")),
            retryable: json.get("retort.retryable").and_then(Json::as_bool) == Some(true),
            retry_delay_ms: number("retort.retry_delay_ms"),
            next: Next::reading(value("retort.next")),
            tool_version: token("retort.tool.version"),
            policy_version: token("retort.policy.version"),
            boundary: token("retort.boundary"),
            is_final: json.get("retort.final").and_then(Json::as_bool) != Some(false),
        })
    }
}

/// The attempts of one operation, folded.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperationRecord {
    /// The operation's id, where the attempts agree on it.
    #[serde(rename = "retort.operation.id", skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// How many attempts there were.
    #[serde(rename = "retort.attempts")]
    pub attempts: u32,
    /// The sum of the delays between them, in milliseconds.
    #[serde(rename = "retort.total_delay_ms")]
    pub total_delay_ms: u32,
    /// The first attempt's code; absent without attempts.
    #[serde(rename = "retort.first_code", skip_serializing_if = "Option::is_none")]
    pub first_code: Option<Code>,
    /// The last attempt's code; absent without attempts.
    #[serde(rename = "error.type", skip_serializing_if = "Option::is_none")]
    pub final_code: Option<Code>,
    /// The last attempt's category.
    #[serde(rename = "retort.category")]
    pub category: Category,
    /// The operation's outcome.
    #[serde(rename = "retort.outcome")]
    pub outcome: Outcome,
    /// May the write have been executed more than once?
    #[serde(rename = "retort.duplicates_possible")]
    pub duplicates_possible: bool,
    /// Did the last attempt end the operation?
    #[serde(rename = "retort.final")]
    pub is_final: bool,
}

/// Folds the attempts of one operation, in order.
///
/// The last attempt's outcome is the operation's, since every verdict joins what came before it. A write may have been
/// executed twice where an attempt followed one whose outcome was unknown or committed.
pub fn summarise(attempts: &[AttemptRecord]) -> OperationRecord {
    let first = attempts.first();
    let last = attempts.last();
    let operation_id = first.and_then(|first| first.operation_id.clone());
    let is_one = attempts.iter().all(|attempt| attempt.operation_id == operation_id);
    let before_last = attempts.get(..attempts.len().saturating_sub(1)).unwrap_or_default();
    let is_in_doubt =
        |attempt: &AttemptRecord| matches!(attempt.outcome, Outcome::Unknown | Outcome::Committed);
    OperationRecord {
        operation_id: operation_id.filter(|_| is_one),
        attempts: u32::try_from(attempts.len()).unwrap_or(u32::MAX),
        total_delay_ms: before_last
            .iter()
            .fold(0, |total: u32, attempt| total.saturating_add(attempt.retry_delay_ms.unwrap_or(0))),
        first_code: first.map(|first| first.error_type),
        final_code: last.map(|last| last.error_type),
        category: last.map_or(Category::default(), |last| last.category),
        outcome: last.map_or(Outcome::NotStarted, |last| last.outcome),
        duplicates_possible: before_last.iter().any(is_in_doubt),
        is_final: last.is_some_and(|last| last.is_final),
    }
}

/// A token's text.
fn text(token: &Option<Token>) -> Option<String> {
    token.as_ref().map(|token| String::from(token.as_str()))
}
