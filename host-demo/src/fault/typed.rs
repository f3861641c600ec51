//! The same constants as records of the typed interface.

use retort::report::Token;

use super::{Outline, is_read};
use crate::contract::typed::{
    AttemptRecord, Category, Context, Decision, Diagnostic, Envelope, Finding, Operation, OperationRecord,
    Outcome, Reconciliation, Redaction, Report, StatementFingerprint, Verdict,
};
use crate::ids;

/// The verdict over an error that the component could not judge.
pub fn verdict(report: &Report) -> Verdict {
    let operation = &report.operation;
    let is_read = is_read(operation.effect.as_deref(), operation.statement.as_deref());
    outline(is_read, operation, &report.context).to_typed()
}

/// The verdict where an earlier one could not be judged anew: its outcome stays open.
pub fn reconciliation(reconciliation: &Reconciliation) -> Verdict {
    outline(false, &reconciliation.operation, &reconciliation.context).to_typed()
}

/// A fold that claims nothing.
pub fn operation_record() -> OperationRecord {
    OperationRecord {
        operation_id: None,
        attempts: 0,
        total_delay_ms: 0,
        first_code: String::new(),
        final_code: "OUTCOME_UNKNOWN".into(),
        category: Category::UnknownOutcome,
        outcome: Outcome::Unknown,
        duplicates_possible: true,
        final_: true,
        extensions: Vec::new(),
    }
}

/// Nothing of the text.
pub fn redaction(text: &str) -> Redaction {
    Redaction { text: "[withheld]".into(), findings: findings(text) }
}

/// One finding over the whole text, so that the gate stays shut.
pub fn findings(text: &str) -> Vec<Finding> {
    let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
    vec![Finding { kind: "unreadable".into(), start: 0, end }]
}

/// A statement of which nothing is known.
pub fn fingerprint() -> StatementFingerprint {
    StatementFingerprint {
        fingerprint: "0000000000000000".into(),
        shape: String::new(),
        operation: String::new(),
        summary: String::new(),
    }
}

fn outline(is_read: bool, operation: &Operation, context: &Context) -> Outline {
    let text = |token: Token| token.as_str().to_owned();
    let trace_id = context.trace_id.as_deref().and_then(Token::identifier);
    let operation_key = operation.operation_key.as_deref().and_then(Token::key);
    Outline {
        is_read,
        trace_id: trace_id.map_or_else(ids::trace_id, text),
        operation_key: operation_key.map(text),
    }
}

impl Outline {
    fn to_typed(&self) -> Verdict {
        let code = self.code().as_str();
        let (category, outcome) = match self.is_read {
            true => (Category::Permanent, Outcome::NotCommitted),
            false => (Category::UnknownOutcome, Outcome::Unknown),
        };
        Verdict {
            envelope: self.typed_envelope(category, outcome),
            decision: Decision {
                action: self.next().into(),
                delay_ms: self.check_after_ms(),
                scope: "operation".into(),
                cleanup: "cancel_then_discard".into(),
                reason: "tool_fault".into(),
                attempts_left: 0,
                tokens_left: None,
                extensions: Vec::new(),
            },
            diagnostic: self.typed_diagnostic(),
            attempt: AttemptRecord {
                error_type: code.into(),
                db_system_name: "_OTHER".into(),
                db_response_status_code: "_OTHER".into(),
                gen_ai_tool_name: None,
                operation_id: None,
                attempt_id: None,
                attempt_number: 1,
                category,
                outcome,
                retryable: false,
                retry_delay_ms: None,
                next: self.next().into(),
                tool_version: None,
                policy_version: None,
                boundary: None,
                final_: true,
                extensions: Vec::new(),
            },
        }
    }

    fn typed_envelope(&self, category: Category, outcome: Outcome) -> Envelope {
        Envelope {
            code: self.code().as_str().into(),
            category,
            retryable: false,
            retry_after_ms: None,
            outcome,
            trace_id: self.trace_id.clone(),
            message: self.code().message().into(),
            next: self.next().into(),
            operation_key: self.operation_key.clone().filter(|_| !self.is_read),
            check_after_ms: self.check_after_ms(),
            op_index: None,
            arguments: Vec::new(),
            reference: None,
            extensions: Vec::new(),
        }
    }

    fn typed_diagnostic(&self) -> Diagnostic {
        Diagnostic {
            trace_id: self.trace_id.clone(),
            operation_id: None,
            attempt_id: None,
            code: self.code().as_str().into(),
            system: "_OTHER".into(),
            driver: None,
            rule: "host/fault".into(),
            proof: "nothing".into(),
            native_codes: Vec::new(),
            phase: "unknown".into(),
            phase_conflict: false,
            transaction: "unknown".into(),
            cancel: "none".into(),
            connection: "unknown".into(),
            message: String::new(),
            causes: Vec::new(),
            statement_fingerprint: None,
            statement_summary: None,
            attempt_number: 1,
            elapsed_ms: None,
            deadline_ms: None,
            tool: None,
            tool_version: None,
            policy_version: None,
            boundary: None,
            extensions: Vec::new(),
        }
    }
}
