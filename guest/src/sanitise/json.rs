//! Texts that are JSON: every string is scanned unescaped, with its key as a cue; keys are scanned like values.

use alloc::string::String;
use alloc::vec::Vec;

use super::cues::{CUES, Cue};
use super::find;
use super::finding::{Finding, Kind, Level};
use super::mongo;
use super::scan::mark_length;
use crate::signs::Signs;

/// How deep JSON in strings of JSON is followed.
const NESTING: u8 = 3;

/// How deep objects and arrays are told apart; a deeper text is not taken for JSON.
const DEPTH: usize = 128;

/// Texts by which an object is an error's and not any data.
static ERROR_SIGNS: Signs = Signs::new(&[
    "Error",
    "Exception",
    "\"errmsg\"",
    "\"errno\"",
    "\"error\"",
    "\"message\"",
    "\"sqlState\"",
    "\"stack\"",
    "\"writeErrors\"",
]);

/// Keys whose values are prose, although the word announces a value elsewhere.
const PROSE_KEYS: &[&str] = &[
    "text", "content", "string", "document", "sequence", "parse", "convert", "cast", "client", "service",
    "literal",
];

/// A piece of JSON.
#[derive(Clone, Copy, PartialEq)]
enum Piece {
    Open,
    Close,
    Comma,
    Colon,
    /// The inside of a string.
    Text(usize, usize),
    /// A number, `true`, `false`, `null`, or a mark.
    Bare(usize, usize),
}

/// Cuts JSON into pieces; an error where a text is not JSON.
struct Pieces<'t> {
    text: &'t str,
    at: usize,
}

impl Iterator for Pieces<'_> {
    type Item = Result<Piece, ()>;

    fn next(&mut self) -> Option<Result<Piece, ()>> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        let start = self.at;
        let first = *bytes.get(start)?;
        self.at += 1;
        let rest = self.text.get(start..).unwrap_or_default();
        if let Some(length) = mark_length(rest) {
            self.at = start + length;
            return Some(Ok(Piece::Bare(start, self.at)));
        }
        Some(match first {
            b'{' | b'[' => Ok(Piece::Open),
            b'}' | b']' => Ok(Piece::Close),
            b',' => Ok(Piece::Comma),
            b':' => Ok(Piece::Colon),
            b'"' => loop {
                match bytes.get(self.at) {
                    None => break Err(()),
                    Some(b'"') => {
                        self.at += 1;
                        break Ok(Piece::Text(start + 1, self.at - 1));
                    }
                    Some(b'\\') => self.at += 2,
                    Some(_) => self.at += 1,
                }
            },
            b'0'..=b'9' | b'-' | b't' | b'f' | b'n' => {
                while matches!(bytes.get(self.at), Some(byte) if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-'))
                {
                    self.at += 1;
                }
                let bare = self.text.get(start..self.at).unwrap_or_default();
                let is_word = matches!(bare, "true" | "false" | "null");
                if is_word || first.is_ascii_digit() || first == b'-' {
                    Ok(Piece::Bare(start, self.at))
                } else {
                    Err(())
                }
            }
            _ => Err(()),
        })
    }
}

/// Is the text one JSON object or array?
fn is_json(text: &str) -> bool {
    if !text.trim_start().starts_with(['{', '[']) {
        return false;
    }
    let mut depth = 0_usize;
    let mut is_over = false;
    for piece in (Pieces { text, at: 0 }) {
        let Ok(piece) = piece else {
            return false;
        };
        if is_over || (depth == 0 && piece != Piece::Open) {
            return false;
        }
        match piece {
            Piece::Open => depth += 1,
            Piece::Close => depth -= 1,
            _ => {}
        }
        if depth >= DEPTH {
            return false;
        }
        is_over = depth == 0;
    }
    is_over
}

/// The findings in a text that is JSON; `None` where it is not.
pub(super) fn scan(text: &str, level: Level, nesting: u8) -> Option<Vec<Finding>> {
    if nesting >= NESTING || !is_json(text) {
        return None;
    }
    if mongo::starts_command(text) {
        let start = text.len() - text.trim_start().len() + 1;
        let mut found = Vec::new();
        push(&mut found, Kind::Sql, start, text.trim_end().len() - 1);
        return Some(found);
    }
    let is_error = ERROR_SIGNS.first(text.as_bytes()).is_some();
    let mut found = Vec::new();
    // The cue that the innermost key gave, and that of every open object or array.
    let mut cues = [Cue::None; DEPTH];
    let mut depth = 0_usize;
    let mut cue = Cue::None;
    let mut pieces = Pieces { text, at: 0 };
    let mut next = pieces.next();
    while let Some(Ok(piece)) = next {
        next = pieces.next();
        let outer = cues.get(depth).copied().unwrap_or(Cue::None);
        match piece {
            Piece::Open => {
                depth += 1;
                let inherited = matches!(outer, Cue::Parameters | Cue::Credential) || cue == Cue::None;
                if let Some(slot) = cues.get_mut(depth) {
                    *slot = if inherited { outer } else { cue };
                }
                cue = Cue::None;
            }
            Piece::Close => {
                depth = depth.saturating_sub(1);
                cue = Cue::None;
            }
            Piece::Comma => cue = Cue::None,
            Piece::Colon => {}
            Piece::Text(start, end) if next == Some(Ok(Piece::Colon)) => {
                let key = text.get(start..end).unwrap_or_default();
                let is_data = matches!(outer, Cue::Parameters) && is_error;
                cue = if PROSE_KEYS.contains(&key) {
                    Cue::None
                } else {
                    CUES.get(key.as_bytes()).unwrap_or(Cue::None)
                };
                if is_data && cue == Cue::None {
                    cue = Cue::Parameters;
                }
                string(text, start, end, Cue::None, level, nesting, &mut found);
            }
            Piece::Text(start, end) => {
                let cue = if cue == Cue::None || outer == Cue::Parameters && cue != Cue::Credential {
                    outer
                } else {
                    cue
                };
                let cue =
                    if matches!(cue, Cue::Parameters | Cue::Value) && !is_error { Cue::None } else { cue };
                string(text, start, end, cue, level, nesting, &mut found);
                // A command of Redis as an array: what follows are user and secret.
                if text.get(start..end) == Some("AUTH")
                    && let Some(slot) = cues.get_mut(depth)
                {
                    *slot = Cue::Credential;
                }
            }
            Piece::Bare(start, end) => {
                let is_number =
                    text.as_bytes().get(start).is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-');
                let kind = match if cue == Cue::None { outer } else { cue } {
                    Cue::Credential => Some(Kind::Credential),
                    Cue::Parameters | Cue::Value if is_error => Some(Kind::Value),
                    Cue::Port => Some(Kind::Host),
                    _ => None,
                };
                if let Some(kind) = kind.filter(|_| is_number) {
                    push(&mut found, kind, start, end);
                }
            }
        }
    }
    Some(found)
}

/// The findings in one string.
fn string(
    text: &str,
    start: usize,
    end: usize,
    cue: Cue,
    level: Level,
    nesting: u8,
    found: &mut Vec<Finding>,
) {
    let raw = text.get(start..end).unwrap_or_default();
    let whole = match cue {
        Cue::Credential => Some(Kind::Credential),
        Cue::User => Some(Kind::User),
        Cue::Host | Cue::Port => Some(Kind::Host),
        Cue::Database => Some(Kind::Database),
        Cue::Path => Some(Kind::Path),
        Cue::Identifier => Some(Kind::Identifier),
        Cue::Statement | Cue::Command => Some(Kind::Sql),
        Cue::Stack => Some(Kind::Stack),
        Cue::Parameters | Cue::Value => Some(Kind::Value),
        Cue::Name if level == Level::Strict => Some(Kind::Name),
        _ => None,
    };
    if raw.is_empty() || mark_length(raw) == Some(raw.len()) {
        return;
    }
    if let Some(kind) = whole {
        return push(found, kind, start, end);
    }
    if raw.contains('\\') {
        let (plain, origins) = unescape(raw);
        let origin = |at: u32| start + origins.get(at as usize).copied().unwrap_or(raw.len() as u32) as usize;
        for finding in find(&plain, level, nesting + 1) {
            push(found, finding.kind, origin(finding.start), origin(finding.end));
        }
    } else {
        for finding in find(raw, level, nesting + 1) {
            push(found, finding.kind, start + finding.start as usize, start + finding.end as usize);
        }
    }
}

fn push(found: &mut Vec<Finding>, kind: Kind, start: usize, end: usize) {
    found.push(Finding { kind, start: start as u32, end: end as u32 });
}

/// The string without its escapes, and for each of its bytes (and for its end) where it comes from.
fn unescape(raw: &str) -> (String, Vec<u32>) {
    let mut plain = String::with_capacity(raw.len());
    let mut origins = Vec::with_capacity(raw.len() + 1);
    let mut rest = raw.char_indices().peekable();
    while let Some((at, character)) = rest.next() {
        let character = match character {
            '\\' => match rest.next().map(|(_, escape)| escape) {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('u') => {
                    let unit = hexadecimal(raw, at + 2);
                    let low = hexadecimal(raw, at + 8).filter(|_| raw.get(at + 6..at + 8) == Some("\\u"));
                    let (character, length) = match (unit, low) {
                        (Some(high @ 0xd800..=0xdbff), Some(low @ 0xdc00..=0xdfff)) => {
                            (char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)), 10)
                        }
                        (Some(unit), _) => (char::from_u32(unit), 4),
                        (None, _) => (None, 0),
                    };
                    for _ in 0..length {
                        rest.next();
                    }
                    character.unwrap_or('\u{fffd}')
                }
                Some(other) => other,
                None => '\\',
            },
            other => other,
        };
        plain.push(character);
        origins.resize(plain.len(), at as u32);
    }
    origins.push(raw.len() as u32);
    (plain, origins)
}

/// The four hexadecimal digits at an index.
fn hexadecimal(raw: &str, at: usize) -> Option<u32> {
    u32::from_str_radix(raw.get(at..at + 4)?, 16).ok()
}
