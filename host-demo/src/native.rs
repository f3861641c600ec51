//! The contract without WebAssembly: the same logic, called as a library.

use retort::strings;

use crate::contract::{Contract, typed};

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

    fn evaluate_typed(&self, report: &typed::Report) -> typed::Verdict {
        todo!()
    }
}
