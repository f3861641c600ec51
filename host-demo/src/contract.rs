//! The component's contract as Rust traits, one for each of its interfaces.

use crate::Failure;

/// The records and enums of the WIT interface `contract`.
pub mod typed {
    pub use crate::component::bindings::exports::retort::contract::contract::*;
}

/// The interface `json`: one string in, one string out. All functions are total: whatever comes in, a value comes out.
pub trait Contract: Send + Sync {
    /// A report in, a verdict out.
    fn evaluate(&self, report: &str) -> String;

    /// A report in, its verdict out as an error, for programs that would rather raise: `Err(contract.check(&report))?`.
    fn check(&self, report: &str) -> Failure {
        Failure::of_verdict(&self.evaluate(report))
    }

    /// An array of reports in, an array of verdicts out.
    fn evaluate_many(&self, reports: &str) -> String;

    /// An earlier verdict with what its receipt says in, a verdict out.
    fn reconcile(&self, reconciliation: &str) -> String;

    /// An array of attempt records in, an operation record out.
    fn summarise(&self, attempts: &str) -> String;

    /// `{"tokens", "event", "capacity"?}` in, `{"tokens"}` out.
    fn budget(&self, change: &str) -> String;

    /// `{"text", "level"?}` in, `{"text", "findings"}` out.
    fn redact(&self, text: &str) -> String;

    /// `{"text"}` in, `{"findings"}` out.
    fn inspect(&self, text: &str) -> String;

    /// `{"text", "dialect"?}` in, `{"fingerprint", "shape", "operation", "summary"}` out.
    fn fingerprint(&self, statement: &str) -> String;

    /// `{"envelope" or "verdict", "as"}` in, the rendered text out.
    fn render(&self, envelope: &str) -> String;

    /// The table of public codes.
    fn codes(&self) -> String;

    /// The version of the component.
    fn version(&self) -> String;

    /// The typed interface of the same contract.
    fn typed(&self) -> &dyn Typed;
}

/// The interface `contract`: records in, records out.
pub trait Typed: Send + Sync {
    /// Judges one error.
    fn evaluate(&self, report: &typed::Report) -> typed::Verdict;

    /// Judges several errors, in order.
    fn evaluate_many(&self, reports: &[typed::Report]) -> Vec<typed::Verdict>;

    /// Judges an earlier verdict anew, with what its receipt says.
    fn reconcile(&self, reconciliation: &typed::Reconciliation) -> typed::Verdict;

    /// Folds the attempts of one operation, in order, into one record.
    fn summarise(&self, attempts: &[typed::AttemptRecord]) -> typed::OperationRecord;

    /// Retry tokens after an event.
    fn budget(&self, tokens: u32, event: &str, capacity: u32) -> u32;

    /// Replaces what should not be published.
    fn redact(&self, text: &str, level: &str) -> typed::Redaction;

    /// Finds what should not be published.
    fn inspect(&self, text: &str) -> Vec<typed::Finding>;

    /// Strips a statement of literals and comments.
    fn fingerprint(&self, statement: &str, dialect: &str) -> typed::StatementFingerprint;

    /// Writes an envelope for a carrier.
    fn render(&self, envelope: &typed::Envelope, format: &str) -> String;

    /// The whole table of public codes.
    fn codes(&self) -> Vec<typed::CodeRow>;
}
