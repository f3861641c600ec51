//! What stands in brackets, and what a message puts around a value without escaping it.

use super::cues::Cue;
use super::finding::Kind;
use super::lines::Search;
use super::scan::{Scanner, mark_length};
use super::{instruction, mongo, pair};
use crate::signs::find;

impl<'t> Scanner<'t> {
    /// `Duplicate entry 'a-'b' for key 'k'`, `near 'x' y' at line 1`: the quoted text is not escaped, so it ends at
    /// the last quote on its line that the message goes on after.
    pub(super) fn unescaped(&mut self, cue: Cue, end: usize) -> bool {
        let open = self.skip_blanks(end);
        if !matches!(self.byte(open), b'\'' | b'"') {
            return false;
        }
        let (search, kind) =
            if cue == Cue::Entry { (Search::Entry, Kind::Value) } else { (Search::Near, Kind::Sql) };
        let Some(tail) = self.last_sign(search, open + 1) else {
            return false;
        };
        self.found(kind, open + 1, tail);
        true
    }

    /// A group in brackets behind a cue: `contains (…)`, `dup key: {…}`, `command {…}`, `parameters [...]`.
    pub(super) fn group(&mut self, cue: Cue, end: usize) -> bool {
        let mut at = self.skip_blanks(end);
        if cue == Cue::Duplicate {
            if !self.rest(at).starts_with("key:") {
                return false;
            }
            at = self.skip_blanks(at + 4);
        }
        let open = self.byte(at);
        let (close, kind) = match (cue, open) {
            (Cue::Row, b'(') => (b')', Kind::Value),
            (Cue::Parameters, b'(') if self.is_driver_text() => (b')', Kind::Value),
            (Cue::Duplicate, b'{') => (b'}', Kind::Value),
            (Cue::Command, b'{') => (b'}', Kind::Sql),
            (Cue::Parameters, b'[') => (b']', Kind::Value),
            (Cue::Parameters, b'{') => (b'}', Kind::Value),
            _ => return false,
        };
        let until = self.last_on_line(at, close);
        self.found(kind, at + 1, until);
        true
    }

    /// `string value containing x to a number: T.C`: Oracle quotes nothing.
    pub(super) fn containing(&mut self, end: usize) -> bool {
        let Some(length) = find(self.window(end), " to a number") else {
            return false;
        };
        self.found(Kind::Value, end + 1, end + length);
        true
    }

    /// `binding parameter (1:VARCHAR) <- [x]`, `binding parameter [1] as [VARCHAR] - [x]`: Hibernate's log.
    pub(super) fn binding(&mut self, end: usize) -> bool {
        let line = self.window(end);
        if !line.starts_with(" parameter") {
            return false;
        }
        let Some(length) = find(line, "- [") else {
            return false;
        };
        let until = self.last_on_line(end, b']');
        self.found(Kind::Value, end + length + 3, until);
        true
    }

    /// `connect('…', 'user', 'secret')`: positional arguments.
    pub(super) fn arguments(&mut self, end: usize) -> bool {
        let is_call = self.byte(end) == b'(' && matches!(self.byte(end + 1), b'\'' | b'"');
        if is_call {
            let until = self.last_on_line(end, b')');
            self.found(Kind::Credential, end + 1, until);
        }
        is_call
    }

    /// `Acme Example GmbH`: the capitalised words before belong to the name.
    pub(super) fn company(&mut self, start: usize, end: usize) -> bool {
        let before = self.slice(start.saturating_sub(60), start);
        let mut name = start;
        for word in before.trim_end().rsplit(' ').take(3) {
            if !word.starts_with(|letter: char| letter.is_ascii_uppercase() || !letter.is_ascii())
                || word.ends_with([':', '.', '"'])
            {
                break;
            }
            name = name.saturating_sub(word.len() + 1);
        }
        let is_name = name < start && self.byte(start).is_ascii_uppercase();
        if is_name {
            self.found(Kind::Value, name, end);
        }
        is_name
    }

    pub(super) fn open(&mut self) {
        let open = self.at;
        self.at += 1;
        if let Some(mark) = mark_length(self.rest(open)) {
            self.at = open + mark;
            return;
        }
        match self.byte(open) {
            b'(' if self.cue == Cue::Value && self.distance <= 1 && self.is_driver_text() => {
                let until = self.last_on_line(open, b')');
                self.found(Kind::Value, open + 1, until);
            }
            b'(' if pair::is_row(self, open) => {
                let until = self.last_on_line(open, b')');
                self.found(Kind::Value, open + 1, until);
            }
            b'[' if mark_length(self.rest(open + 1)).is_some() => {}
            b'[' if self.slice(open.saturating_sub(11), open) == "date field " => {
                let window = self.window(open);
                let until = open + window.find(']').unwrap_or(window.len());
                self.found(Kind::Value, open + 1, until);
            }
            b'[' if matches!(self.cue, Cue::User | Cue::Value | Cue::Host)
                && self.skip_blanks(self.cue_end) == open
                && self.is_driver_text() =>
            {
                let window =
                    self.bytes.get(open + 1..self.line_end(open).min(open + 200)).unwrap_or_default();
                if let Some(length) = window.iter().position(|byte| *byte == b']') {
                    let kind = if self.cue == Cue::Value { Kind::Value } else { Kind::User };
                    self.found(kind, open + 1, open + 1 + length);
                }
            }
            b'[' => instruction::markup(self),
            b'{' if mongo::starts_command(self.rest(open)) => {
                let until = self.last_on_line(open, b'}');
                self.found(Kind::Sql, open + 1, until);
            }
            _ => {}
        }
    }

    /// `(columns)=(values)` in any language: the values go up to the last parenthesis that can end them.
    pub(super) fn close(&mut self) {
        let close = self.at;
        self.at += 1;
        if self.byte(close + 1) == b'=' && self.byte(close + 2) == b'(' {
            let values = close + 3;
            let end = pair::key_values_end(self, values);
            self.found(Kind::Value, values, end);
        }
    }
}
