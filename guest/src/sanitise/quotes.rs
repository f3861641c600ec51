//! Texts in quotes of any sort: what they are follows from the cue before them.

use super::bytes::is_word;
use super::cues::{CUES, Cue};
use super::finding::Kind;
use super::scan::Scanner;
use super::vocabulary::is_vocabulary;
use super::{control, pair, sql};
use crate::signs::{find, holds};

impl<'t> Scanner<'t> {
    /// The index of the quote that closes one at `open`: not doubled, not escaped, not in front of a letter.
    pub(super) fn closing(&mut self, open: usize) -> Option<usize> {
        let quote = self.byte(open);
        let slot = self.closings.iter().position(|(known, _)| *known == quote)?;
        let (_, known) = *self.closings.get(slot)?;
        let close = if known > open { known } else { self.search_closing(open, quote) };
        *self.closings.get_mut(slot)? = (quote, close);
        (close < self.bytes.len()).then_some(close)
    }

    pub(super) fn search_closing(&self, open: usize, quote: u8) -> usize {
        let mut at = open + 1;
        while at < self.bytes.len() {
            let byte = self.byte(at);
            let is_doubled = byte == quote && self.byte(at + 1) == quote && quote != b'`' && at > open + 1;
            if is_doubled || (byte == b'\\' && self.byte(at + 1) != quote) {
                at += 2;
            } else if byte == quote && !self.byte(at + 1).is_ascii_alphanumeric() {
                return at;
            } else {
                at += 1;
            }
        }
        self.bytes.len()
    }

    pub(super) fn quote(&mut self) {
        let open = self.at;
        // An apostrophe, or the end of a quoted text that was looked into.
        let is_apostrophe = is_word(self.before(open)) && self.before(open) < 0x80;
        if is_apostrophe || self.closed.contains(&open) || ends_with_mark(self.slice(0, open)) {
            self.at += 1;
            return;
        }
        let Some(close) = self.closing(open) else {
            self.at += 1;
            return;
        };
        self.quoted(open, open + 1, close, close + 1);
    }

    /// A text between quotes: `inner..close`, with its quotes `open..end`.
    pub(super) fn quoted(&mut self, open: usize, inner: usize, close: usize, end: usize) {
        let content = self.slice(inner, close);
        if let Some(cue) = CUES.get(content.as_bytes())
            && pair::pair(self, cue, inner, end)
        {
            return;
        }
        self.at = inner;
        self.closed.rotate_right(1);
        self.closed[0] = close;
        if sql::is_statement(content) {
            let until = sql::end(self, open, inner);
            self.found(Kind::Sql, inner, until);
            self.at = self.at.max(until);
            return;
        }
        let (is_driver_text, is_localised) = (self.is_driver_text(), self.is_localised());
        // `type integer: "x"`: a name's cue does not reach over a colon, nor over further words.
        let follows_colon = self.slice(0, open).trim_end_matches(' ').ends_with(':');
        // What is longer than any name is not searched for a colon: quotes that close far away would make that quadratic.
        let is_far =
            || self.distance > 0 || follows_colon || content.len() > LONGEST_NAME || holds(content, ": ");
        let cue = if self.cue == Cue::Name && is_far() { Cue::None } else { self.cue };
        let is_account = self.byte(end) == b'@' && matches!(self.byte(end + 1), b'\'' | b'"' | b'`');
        let kind = match cue {
            _ if is_account => Some(Kind::User),
            Cue::User => Some(Kind::User),
            Cue::Host | Cue::Port => Some(Kind::Host),
            Cue::Database => Some(Kind::Database),
            Cue::Path => Some(Kind::Path),
            Cue::Value
            | Cue::Entry
            | Cue::Near
            | Cue::Parameters
            | Cue::Command
            | Cue::Row
            | Cue::Duplicate => Some(Kind::Value),
            Cue::Credential | Cue::Secret if self.distance == 0 => Some(Kind::Credential),
            Cue::Statement if self.distance == 0 => Some(Kind::Sql),
            Cue::Identifier if self.distance == 0 => Some(Kind::Identifier),
            Cue::Name => None,
            _ if content.is_empty()
                || is_sentence(content)
                || is_harmless(content)
                || self.byte(end) == b':' =>
            {
                None
            }
            // A backtick quotes names only.
            _ if self.byte(open) == b'`' => None,
            _ if is_driver_text => Some(Kind::Value),
            _ if is_localised && content.bytes().any(|byte| !byte.is_ascii_alphabetic()) => Some(Kind::Value),
            _ => None,
        };
        // A whole message in quotes is looked into.
        let kind = kind.filter(|_| content.len() < 60 || !is_sentence(content) || cue == Cue::Value);
        let needs_driver = matches!(
            self.cue,
            Cue::Value | Cue::Command | Cue::Row | Cue::Path | Cue::User | Cue::Host | Cue::Database
        );
        if let Some(kind) = kind
            && (!needs_driver
                || is_account
                || self.is_driver_text()
                || self.is_localised()
                || self.distance == 0)
        {
            self.found(kind, inner, close);
            self.at = end;
            // `'user'@'host'`
            if is_account {
                (self.cue, self.distance) = (Cue::Host, 0);
                self.at = end + 1;
            }
        }
    }

    /// Quotes and letters outside ASCII.
    pub(super) fn high(&mut self) {
        let start = self.at;
        if control::unicode(self) {
            return;
        }
        const PAIRS: &[(&str, &str)] =
            &[("«", "»"), ("»", "«"), ("“", "”"), ("„", "“"), ("「", "」"), ("‘", "’"), ("『", "』")];
        let rest = self.rest(start);
        if self.closed.contains(&start)
            || (rest.starts_with(['»', '”', '“'])
                && ends_with_mark(self.slice(0, start).trim_end_matches(' ')))
        {
            self.at += rest.chars().next().map_or(1, char::len_utf8);
            return;
        }
        if let Some((open, close)) = PAIRS.iter().find(|(open, _)| rest.starts_with(open))
            && let Some(length) = rest.bytes().take(400).count().checked_sub(open.len())
            && let Some(found) = rest
                .get(open.len()..open.len() + floor(rest, open.len(), length))
                .and_then(|window| find(window, close))
        {
            let inner = start + open.len();
            self.quoted(start, inner, inner + found, inner + found + close.len());
            return;
        }
        self.word();
    }
}

/// Is the text the name of a class of errors, or a date?
fn is_harmless(text: &str) -> bool {
    let is_date = text.bytes().all(|byte| byte.is_ascii_digit() || b"-:.TZ+ /".contains(&byte))
        && text.bytes().filter(|byte| b"-:/".contains(byte)).count() >= 2;
    let is_class =
        ["Error", "Exception", "Violation", "_violation", "Warning"].iter().any(|tail| text.ends_with(tail));
    is_date
        || (is_class && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:\\$".contains(&byte)))
}

/// No database has longer names, in bytes, whatever the length of a character.
const LONGEST_NAME: usize = 512;

/// Do the first words of a text belong to the vocabulary of messages?
fn is_sentence(text: &str) -> bool {
    let mut words = text.split([' ', '\n', ':', '(', ')', '[', ']', '"']).filter(|word| !word.is_empty());
    let known = words
        .by_ref()
        .take(4)
        .filter(|word| is_vocabulary(word.trim_end_matches(['.', ',', ';', '!', '\''])))
        .count();
    known >= 2
}

/// `length` bytes from `start` on, cut to a character's boundary.
fn floor(text: &str, start: usize, length: usize) -> usize {
    text.floor_char_boundary(start + length).saturating_sub(start)
}

/// Does a text end with a typed mark?
fn ends_with_mark(text: &str) -> bool {
    text.ends_with(']') && Kind::ALL.iter().any(|kind| text.ends_with(kind.mark()))
}
