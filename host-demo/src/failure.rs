//! A verdict as an error of Rust, for programs that would rather raise it: one variant per class of MongrelDB's clients, and
//! unknown outcomes as a class of their own, because a caller that takes one for a conflict or a failed query repeats a write
//! that may have taken effect.

use std::fmt;

use serde::Deserialize;

/// What may be published of a failed operation. Nothing in it comes from the driver's text.
///
/// Without a field, which no verdict lacks, the cautious reading holds: the outcome is unknown.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(default)]
#[non_exhaustive]
pub struct Envelope {
    /// A published code, such as `POOL_BUSY`.
    pub code: String,
    /// The code's kind.
    pub category: String,
    /// May the same call be made again?
    pub retryable: bool,
    /// Not before this many milliseconds.
    pub retry_after_ms: Option<u32>,
    /// What happened to the write: `not_started`, `not_committed`, `committed` or `unknown`.
    pub outcome: String,
    /// The trace id, by which operators find the diagnostic.
    pub trace_id: String,
    /// The code's constant text.
    pub message: String,
    /// The next step.
    pub next: String,
    /// The operation key, where a later look-up or resubmission needs it.
    pub operation_key: Option<String>,
    /// Look the key up after this many milliseconds.
    pub check_after_ms: Option<u32>,
    /// The operation of a batch that failed, counted from 0.
    pub op_index: Option<u32>,
    /// The host's reference for people.
    pub reference: Option<String>,
}

impl Default for Envelope {
    fn default() -> Envelope {
        let code = retort::codes::Code::OutcomeUnknown;
        Envelope {
            code: code.as_str().into(),
            category: code.category().as_str().into(),
            retryable: false,
            retry_after_ms: None,
            outcome: String::from("unknown"),
            trace_id: String::new(),
            message: code.message().into(),
            next: String::from("escalate"),
            operation_key: None,
            check_after_ms: None,
            op_index: None,
            reference: None,
        }
    }
}

impl fmt::Display for Envelope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.code, self.message)
    }
}

/// A failed database operation. It has no source, as causes leak.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// Refused, without a hint why: the kind that HTTP answers with 401 or 403.
    #[error("{0}")]
    Auth(Envelope),
    /// The data's present state is in the way, and the operation had no effect.
    #[error("{envelope}")]
    Conflict {
        /// The public code.
        code: String,
        /// The operation of a batch that failed, counted from 0.
        op_index: Option<u32>,
        /// The public error.
        envelope: Envelope,
    },
    /// What was asked for does not exist.
    #[error("{0}")]
    NotFound(Envelope),
    /// Any other failure: a malformed request, the server, the transport, an encoding.
    #[error("{0}")]
    Query(Envelope),
    /// Nobody knows whether the write took effect: look `operation_key` up, do not repeat the write.
    #[error("{0}")]
    UnknownOutcome(Envelope),
}

impl Failure {
    /// The failure that a verdict (JSON) tells.
    pub fn of_verdict(verdict: &str) -> Failure {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Verdict {
            envelope: Envelope,
        }
        let Verdict { envelope } = serde_json::from_str(verdict).unwrap_or_default();
        envelope.into()
    }

    /// The public error.
    pub fn envelope(&self) -> &Envelope {
        match self {
            Failure::Auth(envelope)
            | Failure::Conflict { envelope, .. }
            | Failure::NotFound(envelope)
            | Failure::Query(envelope)
            | Failure::UnknownOutcome(envelope) => envelope,
        }
    }
}

impl From<Envelope> for Failure {
    fn from(envelope: Envelope) -> Failure {
        match envelope.category.as_str() {
            "authorization" => Failure::Auth(envelope),
            "conflict" => {
                Failure::Conflict { code: envelope.code.clone(), op_index: envelope.op_index, envelope }
            }
            "not_found" => Failure::NotFound(envelope),
            "unknown_outcome" => Failure::UnknownOutcome(envelope),
            _ => Failure::Query(envelope),
        }
    }
}
