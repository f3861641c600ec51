//! What stands in brackets, and what a message puts around a value without escaping it.

use super::cues::Cue;
use super::finding::Kind;
use super::scan::{Scanner, mark_length};
use super::signs::Signs;
use super::{instruction, mongo, pair};

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

    /// The next place from `at` on where a sign of the set stands, or a later one on the same line if the message does
    /// not start anew in between. Found places are remembered: all searches together walk over the text once.
    pub(super) fn last_sign(&mut self, search: Search, at: usize) -> Option<usize> {
        let (signs, again) = search.signs();
        let slot = search as usize;
        let (from, found) = *self.searches.get(slot)?;
        let next = if from <= at && found.is_none_or(|found| found >= at) {
            found
        } else {
            let next = signs.first(self.rest_bytes(at)).map(|length| at + length);
            *self.searches.get_mut(slot)? = (at, next);
            next
        }?;
        let line = self.slice(next, self.line_end(next));
        let line = line.get(..line.find(again).unwrap_or(line.len())).unwrap_or_default();
        let last = signs.last(line.as_bytes()).unwrap_or(0);
        Some(next + last)
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
        let Some(length) = self.window(end).find(" to a number") else {
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
        let Some(length) = line.find("- [") else {
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
            if !word.starts_with(|letter: char| letter.is_uppercase()) || word.ends_with([':', '.', '"']) {
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

    /// The index of the last `close` on the line, or the line's end.
    pub(super) fn last_on_line(&self, at: usize, close: u8) -> usize {
        let end = self.line_end(at);
        let line = self.bytes.get(at..end).unwrap_or_default();
        line.iter().rposition(|byte| *byte == close).map_or(end, |found| at + found)
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

/// Signs that are searched for.
#[derive(Clone, Copy)]
pub(super) enum Search {
    /// Behind the value of MySQL's 1062.
    Entry,
    /// Behind the excerpt of a syntax error.
    Near,
    /// Behind the values of PostgreSQL's `Key (…)=(…)`.
    Key,
}

impl Search {
    /// The signs, and the words that start the next message of the same sort.
    const fn signs(self) -> (&'static Signs, &'static str) {
        static ENTRY: Signs = Signs::new(&["' for key", "' für Schl", "' pour la"]);
        static NEAR: Signs = Signs::new(&["\": syntax", "' at line", "' à la ligne"]);
        match self {
            Search::Entry => (&ENTRY, "ntry '"),
            Search::Near => (&NEAR, "near '"),
            Search::Key => (&pair::KEY_TAILS, "Key ("),
        }
    }
}
