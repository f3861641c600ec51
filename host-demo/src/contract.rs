//! The component's contract as a Rust trait.

/// The records and enums of the WIT interface `contract`.
pub mod typed {
    pub use crate::component::bindings::exports::retort::contract::contract::*;
}

/// The functions of the WIT world `retort`: those of interface `json` by their own names, and `evaluate` of the typed
/// interface. All are total: whatever comes in, a value comes out.
pub trait Contract: Send + Sync {
    /// A report in, a verdict out.
    fn evaluate(&self, report: &str) -> String;

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

    /// A typed report in, a typed verdict out.
    fn evaluate_typed(&self, report: &typed::Report) -> typed::Verdict;
}
