//! The strict level: what is left of a text is held against the vocabulary of error messages.

use alloc::vec::Vec;

use super::bytes::is_word;
use super::cues::{CUES, Cue};
use super::finding::{Finding, Kind};
use super::scan::mark_length;
use super::vocabulary::is_vocabulary;

/// Words before a number that make it a code.
const CODE_WORDS: &[&str] = &[
    "error", "code", "errno", "sqlstate", "msg", "level", "state", "severity", "position", "line", "ora",
    "tns", "http", "status",
];

/// Adds findings for every word and number outside of `findings` that the vocabulary does not hold.
pub(super) fn tighten(text: &str, findings: Vec<Finding>) -> Vec<Finding> {
    let mut all = Vec::with_capacity(findings.len() * 2);
    let mut at = 0;
    for finding in findings {
        words(text, at, finding.start as usize, &mut all);
        at = finding.end as usize;
        all.push(finding);
    }
    words(text, at, text.len(), &mut all);
    all
}

/// Looks at the words in a part of the text.
fn words(text: &str, start: usize, end: usize, found: &mut Vec<Finding>) {
    let bytes = text.as_bytes();
    let byte = |at: usize| if at < end { bytes.get(at).copied().unwrap_or(0) } else { 0 };
    let mut at = start;
    let mut last = "";
    let mut names_next = false;
    while at < end {
        if let Some(length) = text.get(at..end).and_then(mark_length) {
            at += length;
            names_next = false;
            continue;
        }
        if !is_word(byte(at)) {
            names_next &= byte(at).is_ascii_whitespace() || matches!(byte(at), b'"' | b'\'' | b'`');
            at += 1;
            continue;
        }
        let mut until = at;
        // A dot, hyphen or apostrophe inside belongs to the word.
        while is_word(byte(until))
            || (matches!(byte(until), b'.' | b'-' | b'\'' | b'/' | b'@' | b':' | b'#' | b'=' | b'\\')
                && is_word(byte(until + 1)))
        {
            until += 1;
        }
        let word = text.get(at..until).unwrap_or_default();
        let quoted =
            matches!(at.checked_sub(1).and_then(|before| bytes.get(before)), Some(b'"' | b'\'' | b'`'));
        let kind = kind(word, last, quoted && matches!(byte(until), b'"' | b'\'' | b'`'), names_next);
        if let Some(kind) = kind {
            join(text, found, kind, at, until);
        }
        names_next =
            matches!(CUES.get(word.as_bytes()), Some(Cue::Name | Cue::User | Cue::Database | Cue::Host));
        last = word;
        at = until;
    }
}

/// Why a word must go; `None` where it stays.
fn kind(word: &str, last: &str, is_quoted: bool, is_named: bool) -> Option<Kind> {
    let bytes = word.as_bytes();
    if bytes.iter().all(u8::is_ascii_digit) {
        let is_code = word.len() <= 6 && CODE_WORDS.iter().any(|code| code.eq_ignore_ascii_case(last));
        return (!is_code && word.len() > 1).then_some(Kind::Number);
    }
    if !word.is_ascii() {
        return Some(Kind::Text);
    }
    let is_code = !is_quoted && !is_named && is_code(bytes);
    let is_plain = word.split(['-', '\'', '/', ':', '=', '.']).all(is_vocabulary) || is_vocabulary(word);
    if is_code || (is_plain && !is_quoted && !(is_named && last.len() > 4 && !is_vocabulary(word))) {
        return None;
    }
    Some(if is_quoted || bytes.iter().any(|byte| !byte.is_ascii_alphabetic()) {
        Kind::Name
    } else {
        Kind::Text
    })
}

/// Native codes: `ORA-12154`, `23505`, `40P01`, `E11000`, `HY000`, `DPY-6005`.
fn is_code(bytes: &[u8]) -> bool {
    let capitals = bytes.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    let rest = bytes.get(capitals..).unwrap_or_default();
    let number = rest.strip_prefix(b"-").unwrap_or(rest);
    let is_vendor = (1..=4).contains(&capitals)
        && (3..=5).contains(&number.len())
        && number.iter().all(u8::is_ascii_digit);
    let is_sqlstate = bytes.len() == 5
        && bytes.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        && bytes.iter().any(u8::is_ascii_digit);
    is_vendor || is_sqlstate
}

/// Notes a finding; one that only white space divides from its like joins it.
fn join(text: &str, found: &mut Vec<Finding>, kind: Kind, start: usize, end: usize) {
    if let Some(last) = found.last_mut()
        && last.kind == kind
        && text.get(last.end as usize..start).is_some_and(|between| between.bytes().all(|byte| byte == b' '))
    {
        last.end = end as u32;
        return;
    }
    found.push(Finding { kind, start: start as u32, end: end as u32 });
}
