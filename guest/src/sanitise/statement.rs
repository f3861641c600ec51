//! A statement's fingerprint: its shape without literals and comments, a stable hash of it, what it does and to what.

use alloc::string::String;

use super::cut;
use super::dialect::Dialect;
use super::{mongo, shape};
use crate::hash::Hash;

/// The operation word of a statement that starts with no known verb.
pub(super) const OTHER: &str = "OTHER";

/// The longest summary, in bytes (as OpenTelemetry limits `db.query.summary`).
const SUMMARY_LIMIT: usize = 255;

/// What is known of a statement without its values. Restricted: it holds names of objects.
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct Fingerprint {
    /// A hash of the shape: 16 hexadecimal digits, the same on every host and in every version of this contract.
    pub fingerprint: String,
    /// The statement with `?` for every literal and place holder, without comments, lists folded, keywords in capitals.
    pub shape: String,
    /// The operation, from a closed list: `SELECT`, `INSERT`, …; a MongoDB command's name; otherwise `OTHER`.
    pub operation: String,
    /// Operations and their targets in the style of OpenTelemetry's `db.query.summary`: `INSERT audit SELECT users`.
    pub summary: String,
}

/// The fingerprint of a statement. Broken, truncated and over-long statements have one too; what cannot be read is
/// taken for a literal.
pub fn fingerprint(statement: &str, dialect: Dialect) -> Fingerprint {
    let (head, tail) = cut(statement);
    let mut shape = shape(head, dialect);
    if !tail.is_empty() {
        // What follows a gap may be the inside of a literal: only the fact that there is more counts.
        shape.text.push_str(" …");
    }
    Fingerprint {
        fingerprint: hex(Hash::new().long(&shape.text).finish()),
        shape: shape.text,
        operation: String::from(shape.operation),
        summary: shape.summary,
    }
}

/// A statement's shape and what was seen on the way.
pub(super) struct Shape {
    pub(super) text: String,
    pub(super) operation: &'static str,
    pub(super) summary: String,
}

impl Shape {
    pub(super) fn new(capacity: usize) -> Shape {
        Shape { text: String::with_capacity(capacity), operation: OTHER, summary: String::new() }
    }

    /// Adds a word to the summary, unless it would grow over its limit.
    pub(super) fn summarise(&mut self, word: &str, separator: &str) {
        if self.summary.len() + separator.len() + word.len() <= SUMMARY_LIMIT {
            if !self.summary.is_empty() {
                self.summary.push_str(separator);
            }
            self.summary.push_str(word);
        }
    }
}

fn shape(statement: &str, dialect: Dialect) -> Shape {
    if mongo::is_command(statement, dialect) {
        return mongo::shape(statement);
    }
    shape::write(statement, dialect)
}

fn hex(hash: u64) -> String {
    let mut digits = [0; 16];
    for (place, digit) in digits.iter_mut().rev().enumerate() {
        *digit = b"0123456789abcdef"[(hash >> (place * 4)) as usize & 15];
    }
    String::from(str::from_utf8(&digits).unwrap_or_default())
}
