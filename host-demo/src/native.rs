//! The contract without WebAssembly: the same logic, called as a library.

use retort::strings;

use crate::contract::{Contract, Typed, typed as contract};

/// The component's own conversions, over the types that wasmtime derives from the same WIT.
#[path = "../../guest/component/src/convert.rs"]
mod convert;

/// The logic as a native library. Same input, same bytes as [`Component`](crate::Component).
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

impl Contract for Native {
    fn evaluate(&self, report: &str) -> String {
        strings::evaluate(report)
    }

    fn evaluate_many(&self, reports: &str) -> String {
        strings::evaluate_many(reports)
    }

    fn reconcile(&self, reconciliation: &str) -> String {
        strings::reconcile(reconciliation)
    }

    fn summarise(&self, attempts: &str) -> String {
        strings::summarise(attempts)
    }

    fn budget(&self, change: &str) -> String {
        strings::budget(change)
    }

    fn redact(&self, text: &str) -> String {
        strings::redact(text)
    }

    fn inspect(&self, text: &str) -> String {
        strings::inspect(text)
    }

    fn fingerprint(&self, statement: &str) -> String {
        strings::fingerprint(statement)
    }

    fn render(&self, envelope: &str) -> String {
        strings::render(envelope)
    }

    fn codes(&self) -> String {
        strings::codes()
    }

    fn version(&self) -> String {
        strings::version().into()
    }

    fn typed(&self) -> &dyn Typed {
        self
    }
}

impl Typed for Native {
    fn evaluate(&self, report: &contract::Report) -> contract::Verdict {
        convert::evaluate(report)
    }

    fn evaluate_many(&self, reports: &[contract::Report]) -> Vec<contract::Verdict> {
        reports.iter().map(convert::evaluate).collect()
    }

    fn reconcile(&self, reconciliation: &contract::Reconciliation) -> contract::Verdict {
        convert::reconcile(reconciliation)
    }

    fn summarise(&self, attempts: &[contract::AttemptRecord]) -> contract::OperationRecord {
        convert::summarise(attempts)
    }

    fn budget(&self, tokens: u32, event: &str, capacity: u32) -> u32 {
        retort::decide::budget(tokens, event, capacity)
    }

    fn redact(&self, text: &str, level: &str) -> contract::Redaction {
        convert::redact(text, level)
    }

    fn inspect(&self, text: &str) -> Vec<contract::Finding> {
        convert::inspect(text)
    }

    fn fingerprint(&self, statement: &str, dialect: &str) -> contract::StatementFingerprint {
        convert::fingerprint(statement, dialect)
    }

    fn render(&self, envelope: &contract::Envelope, format: &str) -> String {
        convert::render(envelope, format)
    }

    fn codes(&self) -> Vec<contract::CodeRow> {
        convert::codes()
    }
}
