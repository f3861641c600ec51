//! The sanitiser: takes credentials, values, SQL, addresses and whatever else must not be seen out of texts, says
//! where such things are, and gives statements a safe fingerprint.
//!
//! Every function is total and linear in its input; in doubt a text goes, it never stays. Texts above 64 KiB are read
//! at their head and tail only, and what lies between goes.

mod bytes;
mod chunk;
mod control;
mod cues;
mod dialect;
mod entities;
mod finding;
mod groups;
mod instruction;
mod json;
mod keywords;
mod lexer;
mod lines;
mod mongo;
mod number;
mod option;
mod pair;
mod path;
mod quotes;
mod scan;
mod secret;
mod shape;
mod sql;
mod stack;
mod statement;
mod strict;
mod url;
mod verbs;
mod vocabulary;

#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

pub use dialect::Dialect;
pub use finding::{Finding, Kind, Level};
pub use statement::{Fingerprint, fingerprint};
pub use verbs::{commits, writes};

/// The longest text that is read whole, in bytes.
const LIMIT: usize = 64 * 1024;

/// How much of a longer text is read at its head, and again at its tail: with a mark between them they are no longer
/// than the limit.
const HALF: usize = LIMIT / 2 - 64;

/// How often a redacted text is looked at again before it goes as a whole.
const ROUNDS: usize = 4;

/// A text without what must not be seen.
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct Redaction {
    /// The text, with a typed mark such as `[credential]` for each finding. [`inspect`] finds nothing in it, and
    /// redacting it again changes nothing.
    pub text: String,
    /// What was taken out: ranges of the original text, in order, not overlapping.
    pub findings: Vec<Finding>,
}

/// Takes out of a text what must not be seen at this level.
pub fn redact(text: &str, level: Level) -> Redaction {
    let mut findings = find_all(text, level);
    for _ in 0..ROUNDS {
        let redacted = render(text, &findings);
        let rest = if findings.is_empty() { Vec::new() } else { find_all(&redacted, level) };
        if rest.is_empty() {
            return Redaction { text: redacted, findings };
        }
        findings = widen(text, &findings, &rest);
    }
    let whole = Finding { kind: Kind::Value, start: 0, end: text.len() as u32 };
    Redaction { text: String::from(Kind::Value.mark()), findings: vec![whole] }
}

/// Where in a text there is what must not be seen: the gate on any tool's output. In order, not overlapping.
pub fn inspect(text: &str) -> Vec<Finding> {
    find_all(text, Level::Diagnostic)
}

/// The findings in a text of any length.
fn find_all(text: &str, level: Level) -> Vec<Finding> {
    let (head, tail) = cut(text);
    let mut findings = find(head, level, 0);
    if tail.is_empty() {
        return findings;
    }
    let (gap, resumes) = (head.len() as u32, (text.len() - tail.len()) as u32);
    // A finding that goes up to the gap may go on behind it.
    let is_open = findings.last().is_some_and(|last| last.end == gap);
    findings.push(Finding {
        kind: Kind::Value,
        start: gap,
        end: if is_open { text.len() as u32 } else { resumes },
    });
    if !is_open {
        findings.extend(find(tail, level, 0).into_iter().map(|finding| Finding {
            kind: finding.kind,
            start: finding.start + resumes,
            end: finding.end + resumes,
        }));
    }
    findings
}

/// The findings in a text that is short enough; `nesting` counts the strings of JSON that it lies in.
fn find(text: &str, level: Level, nesting: u8) -> Vec<Finding> {
    if let Some(findings) = json::scan(text, level, nesting) {
        return findings;
    }
    let findings = match entities::decode(text) {
        Some((plain, origins)) => scan::scan(&plain)
            .into_iter()
            .map(|Finding { kind, start, end }| {
                let origin = |at: u32| origins.get(at as usize).copied().unwrap_or(text.len() as u32);
                Finding { kind, start: origin(start), end: origin(end) }
            })
            .collect(),
        None => scan::scan(text),
    };
    match level {
        Level::Diagnostic => findings,
        Level::Strict => strict::tighten(text, findings),
    }
}

/// The text with a mark for each finding.
fn render(text: &str, findings: &[Finding]) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut at = 0;
    for finding in findings {
        redacted.push_str(text.get(at..finding.start as usize).unwrap_or_default());
        redacted.push_str(finding.kind.mark());
        at = finding.end as usize;
    }
    redacted.push_str(text.get(at..).unwrap_or_default());
    redacted
}

/// The findings together with those of the redacted text, mapped back; what overlaps or touches a mark joins it.
fn widen(text: &str, findings: &[Finding], rest: &[Finding]) -> Vec<Finding> {
    // Where each mark lies in the redacted text.
    let mut shift = 0_i64;
    let marks: Vec<(u32, u32)> = findings
        .iter()
        .map(|finding| {
            let start = i64::from(finding.start) + shift;
            let end = start + finding.kind.mark().len() as i64;
            shift = end - i64::from(finding.end);
            (start as u32, end as u32)
        })
        .collect();
    let origin = |at: u32, is_end: bool| {
        let after = marks.partition_point(|(start, _)| *start < at + u32::from(!is_end));
        match after.checked_sub(1).and_then(|index| Some((marks.get(index)?, findings.get(index)?))) {
            None => at,
            Some(((_, end), finding)) if at < *end || (is_end && at == *end) => {
                if is_end {
                    finding.end
                } else {
                    finding.start
                }
            }
            Some(((_, end), finding)) => finding.end + (at - end),
        }
    };
    let moved = rest.iter().map(|finding| Finding {
        kind: finding.kind,
        start: origin(finding.start, false),
        end: origin(finding.end, true).min(text.len() as u32),
    });
    let mut moved = moved.peekable();
    let mut joined: Vec<Finding> = Vec::with_capacity(findings.len() + rest.len());
    let mut join = |finding: Finding| match joined.last_mut() {
        Some(last) if finding.start < last.end => last.end = last.end.max(finding.end),
        _ => joined.push(finding),
    };
    // Both are in order, so that they only have to be merged.
    for finding in findings {
        while let Some(other) = moved.next_if(|other| (other.start, other.end) < (finding.start, finding.end))
        {
            join(other);
        }
        join(*finding);
    }
    moved.for_each(join);
    joined
}

/// The parts of a text that are read: all of it, or of a text above 64 KiB the head and the tail.
fn cut(text: &str) -> (&str, &str) {
    if text.len() <= LIMIT {
        return (text, "");
    }
    (
        text.get(..text.floor_char_boundary(HALF)).unwrap_or_default(),
        text.get(text.ceil_char_boundary(text.len() - HALF)..).unwrap_or_default(),
    )
}
