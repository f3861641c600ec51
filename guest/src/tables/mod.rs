//! What native codes mean: data, one table per system and layer, and one way to look things up.
//!
//! The tables live in `guest/tables/*.tsv`, each row with its source; a generator packs them into
//! [`packed`](self), and a test holds that the packed form is fresh.

use alloc::string::String;

use crate::codes::{Code, Proof};
use crate::recognise::Marks;
use crate::systems::System;

/// A native code that the tables know: the only way in which one gets into an attempt record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KnownCode(String);

impl KnownCode {
    /// The code in the table's own spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The condition.
    pub code: Code,
    /// What it proves about a write.
    pub proof: Proof,
    /// Side facts.
    pub marks: Marks,
    /// The rule's id: `table/key`.
    pub rule: String,
    /// The code in the table's own spelling, where the row is a code's and not a text's.
    pub native: Option<KnownCode>,
}

/// The row of a numeric code (errno, vendor number, extended result code, HTTP or gRPC status).
pub fn by_number(_system: System, _number: i64) -> Option<Row> {
    None
}

/// The row of a code by name: SQLSTATE, symbolic name, exception class, error label.
pub fn by_name(_system: System, _name: &str) -> Option<Row> {
    None
}
