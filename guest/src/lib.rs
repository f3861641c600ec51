//! Retort turns raw database driver errors into safe public error envelopes, and says what happened to the write.
//!
//! The modules are the stations of one error's way:
//!
//! ```text
//! report ─▶ intake ─▶ recognise ─▶ judge ─▶ decide ─▶ publish ─▶ verdict
//! (JSON     evidence   finding      category  retry      envelope    envelope   (the model sees this)
//!  or WIT)             + proof      + outcome decision   diagnostic  decision   (the host program acts on this)
//!                                                        attempt     diagnostic (restricted log)
//!                                                                    attempt    (metrics, traces)
//! ```
//!
//! Everything here is pure and total: the same report gives the same bytes, on every host, and nothing panics.
//!
//! ```
//! use retort::report::Report;
//!
//! let report = Report::read(r#"{"error": {"condition": "POOL_BUSY"}, "operation": {"phase": "acquire"}, "seed": 7}"#);
//! let envelope = retort::evaluate(&report).envelope;
//! assert_eq!(envelope.code().as_str(), "POOL_BUSY");
//! assert_eq!(envelope.outcome().as_str(), "not_started");
//! assert!(envelope.retryable());
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod codes;
pub mod decide;
pub mod hash;
pub mod intake;
pub mod json;
pub mod judge;
mod letters;
mod lookup;
pub mod observe;
pub mod publish;
mod read;
pub mod recognise;
pub mod reconcile;
pub mod render;
pub mod report;
pub mod sanitise;
#[cfg(feature = "schema")]
pub mod schema;
mod signs;
pub mod strings;
pub mod systems;
pub mod tables;
pub mod words;

use serde::Serialize;

use crate::decide::Decision;
use crate::observe::{AttemptRecord, Diagnostic, RedactedTexts};
use crate::publish::{Envelope, Publishable};
use crate::report::Report;

pub use crate::read::{LONGEST_REPORT, MOST_VIOLATIONS};

/// What an error means, for each of its readers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// For the model. Safe to publish.
    pub envelope: Envelope,
    /// For the program.
    pub decision: Decision,
    /// For the operator. Restricted.
    pub diagnostic: Diagnostic,
    /// For metrics and traces. Safe to export.
    pub attempt: AttemptRecord,
}

/// Judges one error: the whole way, from report to verdict.
pub fn evaluate(report: &Report<'_>) -> Verdict {
    let evidence = intake::collect(report);
    let finding = recognise::recognise(&evidence, report);
    let judgement = judge::judge(&finding, report);
    let decision = decide::decide(&judgement, report);
    let publishable = Publishable {
        context: &report.context,
        operation_key: report.operation.operation_key.as_ref(),
        op_index: report.operation.op_index.or(finding.op_index),
        violations: &report.violations,
        seed: report.seed,
    };
    let envelope = publish::publish(&judgement, &decision, &publishable);
    let texts = RedactedTexts::of(evidence.texts(), report.operation.statement.as_deref(), finding.system);
    let diagnostic = observe::diagnose(&finding, &judgement, &decision, report, envelope.trace_id(), texts);
    let attempt = observe::record(&finding, &judgement, &decision, report);
    Verdict { envelope, decision, diagnostic, attempt }
}
