//! The scanner: one walk over a text from left to right that gathers what must not be seen.
//!
//! Words set a cue ("user", "near", "contains"), and what follows is judged by it. Every rule either consumes text or
//! leaves it; searches that fail are remembered, so that no byte is searched more than a constant number of times.

use alloc::vec::Vec;

use super::cues::{CUES, Cue};
use super::finding::{Finding, Kind};
use super::vocabulary::is_vocabulary;
use super::{chunk, control, instruction, mongo, pair, sql, stack};

/// How many words a cue lasts.
const CUE_LASTS: u8 = 3;

/// Texts that only drivers and servers write. In a text with one of them a quoted text without a cue is a value.
#[rustfmt::skip]
const DRIVER_SIGNS: &[&str] = &[
    "SQLSTATE", "ERROR:", "FATAL:", "DETAIL:", "CONTEXT:", "ORA-", "Error:", "Exception", "E11000", "errno", "violates", "Duplicate ", "duplicate key",
    "SQL syntax", "SQL Server", "syntax error", "FEHLER:", "ERREUR:", "ERRORE:", "ERRO:", "ОШИБКА:", "错误:", "오류:", "エラー:", "Code: ", "ERR ",
    "conflicted with", "LINE ", "Error from server", "pq: ", "ER_", "Access denied", "Login failed", "authentication failed", "ailed to connect",
    "could not translate", "not authorized on", "ould not connect", "does not exist", "invalid input", "out of range", "alformed", "nrecognized",
    "ould not convert", "annot parse", "ailed to parse", "onversion failed", "ncorrect ", "verflow", "getaddrinfo", "ECONNREFUSED", "NOPERM",
    "has no ", "Provided username", "no viable alternative", "_exception", "Bad double", "Bad int64", "Bad timestamp", "Bad date", "Bad bool", "Duplicata", "uplicada",
    "unauthorized for", "truncated", "Unclosed quotation", "annot open",
];

/// The state of a walk.
pub(super) struct Scanner<'t> {
    pub(super) text: &'t str,
    pub(super) bytes: &'t [u8],
    pub(super) at: usize,
    pub(super) cue: Cue,
    /// Words since the cue.
    distance: u8,
    /// Where the cue, or the preposition after it, ends.
    cue_end: usize,
    findings: Vec<Finding>,
    /// Up to where characters were looked at as one chunk.
    pub(super) analysed: usize,
    /// Up to where no slash starts a path.
    pub(super) no_path: usize,
    /// Closing quotes of texts that were looked into.
    closed: [usize; 4],
    /// The next closing quote of each sort, once searched for; the text's length where there is none.
    closings: [(u8, usize); 3],
    /// The next occurrence of a set of signs, once searched for: where from, and where it is.
    searches: [(usize, Option<usize>); 3],
    /// A line's range, and whether it or the one before is a driver's.
    driver_line: (usize, usize, bool),
    is_ascii: Option<bool>,
}

/// Finds what must not be seen in a text that is not JSON.
pub(super) fn scan(text: &str) -> Vec<Finding> {
    let mut scanner = Scanner::new(text);
    scanner.run();
    scanner.findings
}

/// What a byte may start.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Class {
    Inert,
    Line,
    Word,
    Quote,
    Open,
    Close,
    Slash,
    Control,
    High,
    Less,
    Dash,
    Colon,
    Star,
}

static CLASSES: [Class; 256] = {
    let mut classes = [Class::Inert; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'\t' | b'\r' | b' ' => Class::Inert,
            b'\n' => Class::Line,
            0..=0x1f | 0x7f => Class::Control,
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => Class::Word,
            b'\'' | b'"' | b'`' => Class::Quote,
            b'(' | b'[' | b'{' => Class::Open,
            b')' => Class::Close,
            b'/' | b'\\' | b'~' | b'.' => Class::Slash,
            b'<' => Class::Less,
            b'-' => Class::Dash,
            b':' => Class::Colon,
            b'*' => Class::Star,
            0x80..=0xff => Class::High,
            _ => Class::Inert,
        };
        byte += 1;
    }
    classes
};

impl<'t> Scanner<'t> {
    fn new(text: &'t str) -> Scanner<'t> {
        Scanner {
            text,
            bytes: text.as_bytes(),
            at: 0,
            cue: Cue::None,
            distance: 0,
            cue_end: 0,
            findings: Vec::new(),
            analysed: 0,
            no_path: 0,
            closed: [usize::MAX; 4],
            closings: [(b'\'', 0), (b'"', 0), (b'`', 0)],
            searches: [(usize::MAX, None); 3],
            driver_line: (0, 0, false),
            is_ascii: None,
        }
    }

    /// The byte at an index; 0 outside the text.
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// The byte before an index; a line feed at the text's start.
    pub(super) fn before(&self, at: usize) -> u8 {
        at.checked_sub(1).map_or(b'\n', |index| self.byte(index))
    }

    /// A part of the text; empty where the range does not lie on characters.
    pub(super) fn slice(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or_default()
    }

    pub(super) fn rest(&self, start: usize) -> &'t str {
        self.text.get(start..).unwrap_or_default()
    }

    /// The index behind white space without line feeds.
    pub(super) fn skip_blanks(&self, mut at: usize) -> usize {
        while matches!(self.byte(at), b' ' | b'\t') {
            at += 1;
        }
        at
    }

    /// The end of the line that `at` lies in.
    pub(super) fn line_end(&self, at: usize) -> usize {
        self.rest_bytes(at)
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(self.bytes.len(), |found| at + found)
    }

    pub(super) fn rest_bytes(&self, at: usize) -> &'t [u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    /// Does only a driver or a server write such a line, or the one before it?
    pub(super) fn is_driver_text(&mut self) -> bool {
        let (start, end, known) = self.driver_line;
        if start <= self.at && self.at < end {
            return known;
        }
        let line = self.line_start(self.at);
        let before = self.line_start(line.saturating_sub(1));
        let end = self.line_end(self.at);
        let text = self.slice(before, end);
        let is_driver = DRIVER_SIGNS.iter().any(|sign| text.contains(sign));
        self.driver_line = (line, end, is_driver);
        is_driver
    }

    fn line_start(&self, at: usize) -> usize {
        let before = self.bytes.get(..at).unwrap_or_default();
        before.iter().rposition(|byte| *byte == b'\n').map_or(0, |found| found + 1)
    }

    /// Has the text letters outside ASCII, as localised messages have?
    pub(super) fn is_localised(&mut self) -> bool {
        let text = self.text;
        !*self.is_ascii.get_or_insert_with(|| text.is_ascii())
    }

    /// Was a finding of this kind made already?
    pub(super) fn has_found(&self, kind: Kind) -> bool {
        self.findings.iter().rev().take(8).any(|finding| finding.kind == kind)
    }

    /// Notes a finding and goes on behind it. Nothing is noted where only marks would be covered.
    pub(super) fn found(&mut self, kind: Kind, start: usize, end: usize) {
        let from = self.findings.last().map_or(0, |last| last.end as usize);
        let (start, end) = (start.max(from), self.text.ceil_char_boundary(end));
        if start < end && !is_inert(self.slice(start, end)) {
            let joins = |last: &Finding| {
                let between = self.slice(last.end as usize, start);
                last.kind == kind
                    && (between.is_empty() || (kind == Kind::Stack && between.trim_ascii().is_empty()))
            };
            let joins = self.findings.last().is_some_and(joins);
            match self.findings.last_mut() {
                Some(last) if joins => last.end = end as u32,
                _ => self.findings.push(Finding { kind, start: start as u32, end: end as u32 }),
            }
        }
        self.at = self.at.max(end);
    }

    fn run(&mut self) {
        stack::line(self);
        while let Some(byte) = self.bytes.get(self.at) {
            let start = self.at;
            match CLASSES[usize::from(*byte)] {
                Class::Inert => self.at += 1,
                Class::Line => {
                    self.at += 1;
                    stack::line(self);
                }
                Class::Word => self.word(),
                Class::Quote => self.quote(),
                Class::Open => self.open(),
                Class::Close => self.close(),
                Class::Slash => chunk::slash(self),
                Class::Control => control::ascii(self),
                Class::High => self.high(),
                Class::Less => instruction::markup(self),
                Class::Dash => chunk::dash(self),
                Class::Colon => chunk::colon(self),
                Class::Star => sql::star(self),
            }
            if self.at <= start {
                self.at = start + 1;
            }
        }
    }

    /// The end of the run of letters, digits and underscores from `at` on.
    pub(super) fn word_end(&self, mut at: usize) -> usize {
        while is_word(self.byte(at)) {
            at += 1;
        }
        at
    }

    fn word(&mut self) {
        let start = self.at;
        let end = self.word_end(start + 1);
        let next = self.byte(end);
        let joins =
            matches!(next, b'.' | b':' | b'/' | b'\\' | b'@' | b'=' | b'-' | b'+' | b'%' | b'#' | b'~');
        let word = self.bytes.get(start..end).unwrap_or_default();
        if start >= self.analysed
            && (joins && !matches!(self.byte(end + 1), 0 | b' ' | b'\n' | b'"' | b'\'')
                || !word.iter().all(u8::is_ascii_lowercase))
            && chunk::chunk(self, start, end)
        {
            return;
        }
        self.at = end;
        match CUES.get(word) {
            Some(cue) => self.cue_word(cue, start, end),
            None if matches!(self.byte(end), b'=' | b':' | b' ' | b'"' | b'\'' | b'\\')
                && pair::is_secret_key(word) =>
            {
                pair::pair(self, Cue::Credential, start, end);
            }
            None if self.rest(end).starts_with(": Authentication failed") => {
                self.found(Kind::User, start, end)
            }
            None => {
                if self.cue != Cue::None {
                    self.follow(start, end);
                }
            }
        }
    }

    /// A word that announces something.
    fn cue_word(&mut self, cue: Cue, start: usize, end: usize) {
        if pair::pair(self, cue, start, end) {
            return;
        }
        let consumed = match cue {
            Cue::Verb => sql::verb(self, start),
            Cue::Instruction => instruction::sentence(self, start, end),
            Cue::Scheme | Cue::Secret => pair::secret(self, cue, start, end),
            Cue::Entry | Cue::Near => self.unescaped(cue, end),
            Cue::Line => pair::data_line(self, start, end),
            Cue::Position => sql::excerpt(self, end),
            Cue::Company => self.company(start, end),
            Cue::Constructor | Cue::Host => self.arguments(end),
            Cue::Duplicate | Cue::Command | Cue::Row | Cue::Parameters => self.group(cue, end),
            _ => false,
        };
        if !consumed && !matches!(cue, Cue::Verb | Cue::Instruction) {
            (self.cue, self.distance, self.cue_end) = (cue, 0, end);
        }
    }

    /// A word behind a cue: in a driver's text a bare name after `user`, `host` or `database` goes.
    fn follow(&mut self, start: usize, end: usize) {
        let kind = match self.cue {
            Cue::User => Kind::User,
            Cue::Host => Kind::Host,
            Cue::Database => Kind::Database,
            Cue::Port if self.slice(start, end).bytes().all(|byte| byte.is_ascii_digit()) => {
                if self.has_found(Kind::Host) || self.is_driver_text() {
                    self.found(Kind::Host, start, end);
                }
                self.cue = Cue::None;
                return;
            }
            _ => return self.pass(start, end),
        };
        let word = self.slice(start, end);
        let follows = self.distance == 0 && self.skip_blanks(self.cue_end) == start && self.cue_end < start;
        if follows && !is_vocabulary(word) && !matches!(self.byte(end), b'(' | b'=') && self.is_driver_text()
        {
            let end = if kind == Kind::Host { chunk::end(self, start) } else { end };
            self.found(kind, start, end);
            self.cue = Cue::None;
        } else {
            self.pass(start, end);
        }
    }

    /// One more word has passed since the cue; prepositions do not count.
    fn pass(&mut self, start: usize, end: usize) {
        if matches!(
            self.slice(start, end),
            "to" | "at" | "on" | "for" | "with" | "name" | "is" | "von" | "de"
        ) {
            self.cue_end = end;
            return;
        }
        self.distance += 1;
        if self.distance > CUE_LASTS {
            self.cue = Cue::None;
        }
    }

    /// `Duplicate entry 'a-'b' for key 'k'`, `near 'x' y' at line 1`: the quoted text is not escaped, so it ends at
    /// the last quote on its line that the message goes on after.
    fn unescaped(&mut self, cue: Cue, end: usize) -> bool {
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
            let rest = self.rest(at);
            let next = signs.iter().filter_map(|sign| rest.find(sign)).min().map(|length| at + length);
            *self.searches.get_mut(slot)? = (at, next);
            next
        }?;
        let line = self.slice(next, self.line_end(next));
        let line = line.get(..line.find(again).unwrap_or(line.len())).unwrap_or_default();
        let last = signs.iter().filter_map(|sign| line.rfind(sign)).max().unwrap_or(0);
        Some(next + last)
    }

    /// A group in brackets behind a cue: `contains (…)`, `dup key: {…}`, `command {…}`, `parameters [...]`.
    fn group(&mut self, cue: Cue, end: usize) -> bool {
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

    /// `connect('…', 'user', 'secret')`: positional arguments.
    fn arguments(&mut self, end: usize) -> bool {
        let is_call = self.byte(end) == b'(' && matches!(self.byte(end + 1), b'\'' | b'"');
        if is_call {
            let until = self.last_on_line(end, b')');
            self.found(Kind::Credential, end + 1, until);
        }
        is_call
    }

    /// `Acme Example GmbH`: the capitalised words before belong to the name.
    fn company(&mut self, start: usize, end: usize) -> bool {
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

    /// The index of the quote that closes one at `open`: not doubled, not escaped, not in front of a letter.
    fn closing(&mut self, open: usize) -> Option<usize> {
        let quote = self.byte(open);
        let slot = self.closings.iter().position(|(known, _)| *known == quote)?;
        let (_, known) = *self.closings.get(slot)?;
        let close = if known > open { known } else { self.search_closing(open, quote) };
        *self.closings.get_mut(slot)? = (quote, close);
        (close < self.bytes.len()).then_some(close)
    }

    fn search_closing(&self, open: usize, quote: u8) -> usize {
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

    fn quote(&mut self) {
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
    fn quoted(&mut self, open: usize, inner: usize, close: usize, end: usize) {
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
        let is_far = self.distance > 0 || follows_colon || content.contains(": ");
        let cue = if self.cue == Cue::Name && is_far { Cue::None } else { self.cue };
        let kind = match cue {
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
            && (!needs_driver || self.is_driver_text() || self.is_localised() || self.distance == 0)
        {
            self.found(kind, inner, close);
            self.at = end;
            // `'user'@'host'`
            if self.byte(end) == b'@' && matches!(self.byte(end + 1), b'\'' | b'"' | b'`') {
                self.cue = Cue::Host;
                self.at = end + 1;
            }
        }
    }

    /// Quotes and letters outside ASCII.
    fn high(&mut self) {
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
                .and_then(|window| window.find(close))
        {
            let inner = start + open.len();
            self.quoted(start, inner, inner + found, inner + found + close.len());
            return;
        }
        self.word();
    }

    fn open(&mut self) {
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
    fn close(&mut self) {
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
    const fn signs(self) -> (&'static [&'static str], &'static str) {
        match self {
            Search::Entry => (&["' for key", "' für Schl", "' pour la"], "ntry '"),
            Search::Near => (&["' at line", "\": syntax", "' à la ligne"], "near '"),
            Search::Key => (pair::KEY_TAILS, "Key ("),
        }
    }
}

/// Can the byte be part of a word?
pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
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

/// The length of the typed mark that a text starts with.
pub(super) fn mark_length(text: &str) -> Option<usize> {
    Kind::ALL.iter().find_map(|kind| text.starts_with(kind.mark()).then(|| kind.mark().len()))
}

/// Does a text end with a typed mark?
fn ends_with_mark(text: &str) -> bool {
    text.ends_with(']') && Kind::ALL.iter().any(|kind| text.ends_with(kind.mark()))
}

/// Does the text hold nothing but marks, white space and punctuation?
fn is_inert(mut text: &str) -> bool {
    while let Some(byte) = text.bytes().next() {
        let length = match byte {
            b'[' => mark_length(text).unwrap_or(1),
            b' ' | b'\n' | b'\r' | b'\t' | b',' | b';' | b':' | b'.' | b'\'' | b'"' | b'(' | b')' | b']'
            | b'{' | b'}' => 1,
            _ => return false,
        };
        text = text.get(length..).unwrap_or_default();
    }
    true
}
