//! A statement's fingerprint: its shape without literals and comments, a stable hash of it, what it does and to what.

use alloc::string::String;

use super::cut;
use super::dialect::Dialect;
use super::{mongo, shape};

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
        fingerprint: hex(hash(shape.text.as_bytes())),
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

/// A 64-bit hash, eight bytes at a time: multiply and rotate, then MurmurHash3's finaliser.
fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = FACTOR ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(slot, byte)| *slot = *byte);
    for word in words.iter().chain([&last]) {
        hash = (hash.rotate_left(23) ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR);
    }
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
    }
    hash ^ (hash >> 33)
}

fn hex(hash: u64) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    (0..16).rev().map(|nibble| char::from(DIGITS[(hash >> (nibble * 4)) as usize & 15])).collect()
}
