//! The finding: what an error means, as far as its evidence says.

use alloc::string::String;

use crate::codes::{Code, Proof};
use crate::systems::System;
use crate::tables::KnownCode;

/// Side facts of a condition that judge and decide use.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Marks {
    /// At COMMIT this code means for certain that the transaction was rolled back (40001, deferred constraints).
    pub aborts_commit: bool,
    /// Only a statement that was executed can give this error (a constraint, 40003).
    pub executed: bool,
    /// The transaction survives: only the statement was undone (MySQL 1205, ORA-00060).
    pub keeps_transaction: bool,
    /// The client gave up waiting; the statement may go on running.
    pub client_timeout: bool,
    /// The connection is gone.
    pub connection_lost: bool,
    /// The table's row rests on memory of the vendor's reference: never transient, never a proof.
    pub recalled: bool,
}

/// What recognise makes of the evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The condition.
    pub code: Code,
    /// What the native error proves about a write.
    pub proof: Proof,
    /// Side facts.
    pub marks: Marks,
    /// The rule that matched: `table/key`, or `none`. Never evidence text.
    pub rule: String,
    /// The system the error comes from.
    pub system: System,
    /// The native code, where the tables know it.
    pub native: Option<KnownCode>,
    /// Does the violated constraint carry the name in `operation.key_constraint`?
    pub is_key_violation: bool,
    /// Did the driver repeat the request by itself before it gave up?
    pub has_hidden_attempts: bool,
    /// The first failed operation of a batch, counted from 0.
    pub op_index: Option<u32>,
    /// The server's own wait before a retry, in milliseconds.
    pub retry_after_ms: Option<u32>,
}

impl Finding {
    /// The finding of an error that no rule matches.
    pub fn unrecognised(system: System) -> Finding {
        Finding {
            code: Code::DatabaseError,
            proof: Proof::Nothing,
            marks: Marks::default(),
            rule: String::from("none"),
            system,
            native: None,
            is_key_violation: false,
            has_hidden_attempts: false,
            op_index: None,
            retry_after_ms: None,
        }
    }

    /// The finding of a condition that the host names itself.
    pub fn condition(code: Code, system: System) -> Finding {
        let mut rule = String::from("condition/");
        rule.push_str(code.as_str());
        let mut finding = Finding { code, proof: code.proof(), rule, ..Finding::unrecognised(system) };
        finding.marks.client_timeout = code == Code::DbTimeout;
        finding.marks.connection_lost = code == Code::ConnectionLost;
        finding
    }
}
