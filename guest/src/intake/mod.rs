//! Report → evidence: whatever the driver threw, reduced to what recognising needs.
//!
//! An error is any JSON: an object in any driver's spelling, a string, a log line, JSON in a string. [`fields`]
//! says which field holds what, [`forms`] which fixed forms a code can have inside a text, [`hints`] what tells
//! a system by its shape. A new driver is a row in one of them.

mod beginnings;
mod bulk;
mod dump;
mod fields;
mod forms;
mod hints;
mod literal;
mod pattern;
mod scalars;
mod texts;
mod walk;

use alloc::string::String;
use alloc::vec::Vec;

use crate::report::Report;
use crate::systems::System;
use crate::tables::{self, Driver};

/// What kind of name a sign is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SignKind {
    /// A code of the server or of the driver: a number or a symbolic name.
    Code,
    /// A SQLSTATE by its field or form.
    SqlState,
    /// The name of an exception class or error type.
    Class,
    /// An HTTP status.
    Http,
    /// The number or name of a gRPC status.
    Grpc,
}

/// Where a sign stands: how far it can be trusted.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Place {
    /// Somewhere inside a text, where a row's value could have put it: never a proof of no effect.
    Inside,
    /// In a fixed form behind an unknown beginning without a quote: a code is believed, unless something better placed
    /// leaves the outcome open; words without one prove nothing.
    Sought,
    /// In a fixed form at a text's start, or behind what wrappers put there.
    Form,
    /// In a field of its own.
    Field,
}

/// A code, SQLSTATE, class name or status.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sign {
    /// What it is.
    pub kind: SignKind,
    /// As it is spelled.
    pub text: String,
    /// Where it stands.
    pub place: Place,
}

impl Sign {
    /// Has it the form of a SQLSTATE: five digits or capitals?
    pub fn is_sqlstate(&self) -> bool {
        let is_part = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
        matches!(self.kind, SignKind::Code | SignKind::SqlState)
            && self.text.len() == 5
            && self.text.bytes().all(is_part)
    }
}

/// One error of the chain of causes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fault {
    /// How many errors enclose it.
    pub depth: usize,
    /// Its codes, classes and statuses, in the order found.
    pub signs: Vec<Sign>,
    /// Its messages, whole, and what is left of them behind the prefixes of wrappers.
    pub texts: Vec<Text>,
    /// The system call that failed.
    pub system_call: Option<String>,
    /// Is it a list's item or a map's, beside others of its kind?
    pub is_one_of_many: bool,
}

impl Fault {
    /// What may be the server's own words, where they can be trusted at least as far as a sign that they go with.
    pub fn cores(&self, place: Place) -> impl Iterator<Item = Core<'_>> {
        let cores = self.texts.iter().flat_map(Text::cores);
        cores.filter(move |core| core.place >= place.min(Place::Form))
    }
}

/// A message.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Text {
    /// The message, cut to 64 KiB (head and tail kept).
    pub whole: String,
    /// Where in it a server's or driver's own words may stand.
    spans: Vec<Span>,
}

/// Where a server's or driver's own words may stand in a message: one line, behind what wrappers put before it and
/// without what they put behind it (statements, parameters, links).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Span {
    /// Where it begins, in bytes.
    start: usize,
    /// Where it ends, in bytes.
    end: usize,
    /// How far words there can be trusted.
    place: Place,
}

/// What may be a server's or driver's own words.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Core<'t> {
    /// The words.
    pub words: &'t str,
    /// How far they can be trusted.
    pub place: Place,
}

impl Text {
    /// What may be a server's or driver's own words.
    pub fn cores(&self) -> impl Iterator<Item = Core<'_>> {
        self.spans
            .iter()
            .filter_map(|span| Some(Core { words: self.whole.get(span.start..span.end)?, place: span.place }))
    }
}

/// What the server itself says about the effect.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct OwnWords {
    /// It says that it committed.
    pub yes: bool,
    /// It says that it did not.
    pub no: bool,
    /// It says that it does not know.
    pub unknown: bool,
    /// It says that a part was committed.
    pub part: bool,
}

/// The signs of a bulk write.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Bulk {
    /// How many operations failed.
    pub failed: u32,
    /// How many documents or rows were changed, where the error counts them.
    pub done: Option<u64>,
    /// The first failed operation, counted from 0.
    pub first_failed: Option<u32>,
    /// Does the error speak of a bulk write at all?
    pub is_bulk: bool,
    /// Was the whole transaction cancelled, so that nothing was applied?
    pub is_cancelled_whole: bool,
}

/// Everything that recognising needs of an error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The system by the host's word, else by the driver, else by the shape.
    pub system: Option<System>,
    /// The driver, where its name is known.
    pub driver: Option<Driver>,
    /// The errors of the chain, outermost first.
    pub faults: Vec<Fault>,
    /// Labels that server and driver attached.
    pub labels: Vec<String>,
    /// The names of violated constraints.
    pub constraints: Vec<String>,
    /// What the server itself says about the effect.
    pub own_words: OwnWords,
    /// The signs of a bulk write.
    pub bulk: Bulk,
    /// Does the stack show that the driver was opening a connection?
    pub is_connecting: bool,
    /// Does the stack show that the pool was taking the connection back, after the statement?
    pub is_releasing: bool,
    /// Did a write concern fail, after the write was applied?
    pub has_write_concern_error: bool,
    /// The type of a write that timed out.
    pub write_type: Option<String>,
    /// How often the driver sent the request, where it says so.
    pub attempts: Option<u32>,
    /// The server's own wait before a retry, in milliseconds.
    pub retry_after_ms: Option<u32>,
    /// The failed operation of a batch, counted from 0.
    pub op_index: Option<u32>,
}

impl Evidence {
    /// The messages, outermost first, for the restricted diagnostic. They hold what the driver wrote: redact them.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.faults.iter().flat_map(|fault| fault.texts.iter().map(|text| text.whole.as_str()))
    }
}

/// Collects the evidence of a report.
pub fn collect(report: &Report<'_>) -> Evidence {
    let driver = report.driver.as_deref().and_then(tables::driver);
    let told = report
        .system
        .as_deref()
        .and_then(System::parse)
        .or_else(|| driver.and_then(|driver| driver.system))
        .or_else(|| report.driver.as_deref().and_then(hints::by_driver));
    let mut walk = walk::Walk::new(told.is_none());
    if let Some(error) = &report.error {
        walk.error(error);
    }
    let (mut evidence, shape) = walk.finish();
    evidence.driver = driver;
    evidence.system = told.or(shape);
    if !matches!(evidence.system, None | Some(System::Mongreldb)) {
        // Only MongrelDB speaks of its commits; elsewhere such a field is not the server's.
        evidence.own_words = OwnWords::default();
    }
    evidence
}

#[cfg(test)]
mod tests;
