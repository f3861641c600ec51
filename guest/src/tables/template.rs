//! Templates of fixed texts: literals with `%` where a server puts something in.
//!
//! A template is anchored at the start, and at the end too unless it ends with a hole. Every hole takes as little
//! as it can, so matching is linear and never goes back; ASCII case does not matter.

use alloc::string::String;
use core::cmp::Ordering;

use super::TextMatch;

/// What tools put before a server's own words.
const LEAD_INS: &[&str] =
    &["error:", "fatal:", "panic:", "pq:", "libpq:", "runtime error:", "db error:", "database error:"];

/// A template.
#[derive(Clone, Copy)]
pub(super) struct Template<'a> {
    pattern: &'a str,
}

impl<'a> Template<'a> {
    /// The template written as `pattern`.
    pub fn new(pattern: &'a str) -> Template<'a> {
        Template { pattern }
    }

    /// The template as it is written.
    pub fn pattern(self) -> &'a str {
        self.pattern
    }

    /// How many bytes of it are fixed.
    pub fn literal_len(self) -> usize {
        self.pattern.len() - self.pattern.matches('%').count()
    }

    /// How much of a text a match covers.
    pub fn reach(self) -> TextMatch {
        if self.pattern.ends_with('%') { TextMatch::Start } else { TextMatch::Whole }
    }

    /// Does the template match the line?
    pub fn matches(self, line: &str) -> bool {
        let (head, tail) = match self.pattern.split_once('%') {
            None => return self.pattern.eq_ignore_ascii_case(line),
            Some(parts) => parts,
        };
        let Some(mut rest) = strip_start(line.as_bytes(), head.as_bytes()) else { return false };
        let (middle, last) = tail.rsplit_once('%').unwrap_or(("", tail));
        for literal in middle.split('%').filter(|literal| !literal.is_empty()) {
            match after(rest, literal.as_bytes()) {
                Some(left) => rest = left,
                None => return false,
            }
        }
        let end = rest.len().checked_sub(last.len()).and_then(|start| rest.get(start..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(last.as_bytes()))
    }
}

/// Does a template behind its code and a `+` come before a line behind its own, or begin it? Templates are in the order
/// of their codes and heads; the heads have no case.
pub(super) fn is_before(text: &[u8], code: &str, line: &str) -> bool {
    let (own, head) = text.split_at_checked(code.len() + 1).unwrap_or((text, &[]));
    match own.iter().copied().cmp(code.bytes().chain([b'+'])) {
        Ordering::Equal => begins_before(head, line.as_bytes()),
        order => order == Ordering::Less,
    }
}

/// Does a head come before a line, or begin it?
fn begins_before(head: &[u8], line: &[u8]) -> bool {
    for (at, byte) in head.iter().enumerate() {
        match (byte, line.get(at)) {
            (b'%', _) => return true,
            (byte, Some(other)) if byte.eq_ignore_ascii_case(other) => {}
            (byte, other) => {
                return other.is_some_and(|other| byte.to_ascii_lowercase() < other.to_ascii_lowercase());
            }
        }
    }
    true
}

/// What templates are matched with: a text's first line without blanks at its ends and without the lead-ins of tools.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a>(&'a str);

impl<'a> Line<'a> {
    /// The line's text.
    pub(super) fn as_str(self) -> &'a str {
        self.0
    }
}

impl<'a> From<&'a String> for Line<'a> {
    fn from(text: &'a String) -> Self {
        Line::from(text.as_str())
    }
}

impl<'a> From<&'a str> for Line<'a> {
    fn from(text: &'a str) -> Self {
        let mut line = text.trim_start().lines().next().unwrap_or_default().trim();
        while let Some(rest) = LEAD_INS.iter().find_map(|lead_in| {
            let lead = line.get(..lead_in.len())?;
            lead.eq_ignore_ascii_case(lead_in).then(|| line.get(lead_in.len()..))?
        }) {
            line = rest.trim_start();
        }
        Line(line)
    }
}

/// What follows `literal` at the start of `text`.
fn strip_start<'a>(text: &'a [u8], literal: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = text.split_at_checked(literal.len())?;
    start.eq_ignore_ascii_case(literal).then_some(rest)
}

/// What follows the first place where `literal` stands in `text`.
fn after<'a>(text: &'a [u8], literal: &[u8]) -> Option<&'a [u8]> {
    let (first, others) = literal.split_first()?;
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    let mut rest = text;
    loop {
        let at = rest.iter().position(|byte| *byte == lower || *byte == upper)?;
        rest = rest.get(at + 1..)?;
        if let Some(left) = strip_start(rest, others) {
            return Some(left);
        }
    }
}
