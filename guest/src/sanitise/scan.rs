//! The scanner: one walk over a text from left to right that gathers what must not be seen.
//!
//! Words set a cue ("user", "near", "contains"), and what follows is judged by it. Every rule either consumes text or
//! leaves it; searches that fail are remembered, so that no byte is searched more than a constant number of times.

use alloc::vec::Vec;

use super::bytes::{self, bits, is_word};
use super::cues::{CUES, Cue, may_be_cue};
use super::finding::{Finding, Kind};
use super::lines::Lines;
use super::vocabulary::is_vocabulary;
use super::{chunk, control, instruction, option, pair, path, secret, sql, stack};
use crate::signs::Signs;

/// How many words a cue lasts.
const CUE_LASTS: u8 = 3;

/// Texts that only drivers and servers write. In a text with one of them a quoted text without a cue is a value.
#[rustfmt::skip]
static DRIVER_SIGNS: Signs = Signs::new(&[
    "Access denied", "Bad bool", "Bad date", "Bad double", "Bad int64", "Bad timestamp", "CONTEXT:", "Code: ", "DETAIL:", "Duplicata", "Duplicate ",
    "E11000", "ECONNREFUSED", "ERR ", "ERREUR:", "ERRO:", "ERROR:", "ERRORE:", "ER_", "Error from server", "Error:", "Exception", "FATAL:",
    "FEHLER:", "LINE ", "Login failed", "NOPERM", "ORA-", "Provided username", "SQL Server", "SQL syntax", "SQLSTATE", "Unclosed quotation",
    "_exception", "ailed to connect", "ailed to parse", "alformed", "annot open", "annot parse", "assWord: ", "assword: ", "authentication failed",
    "conflicted with", "constant (", "could not translate", "does not exist", "duplicate key", "errno", "getaddrinfo", "has no ", "invalid input",
    "ncorrect ", "no viable alternative", "not authorized", "not recognized", "nrecognized", "nvalid date", "nvalid time", "onversion failed",
    "ould not connect", "ould not convert", "out of range", "pq: ", "syntax error", "truncated", "unauthorized for", "uplicada", "verflow",
    "violates", "ОШИБКА:", "エラー:", "错误:", "오류:",
]);

/// The state of a walk.
pub(super) struct Scanner<'t> {
    pub(super) text: &'t str,
    pub(super) bytes: &'t [u8],
    pub(super) at: usize,
    pub(super) cue: Cue,
    /// Words since the cue.
    pub(super) distance: u8,
    /// Where the cue, or the preposition after it, ends.
    pub(super) cue_end: usize,
    pub(super) findings: Vec<Finding>,
    /// Up to where characters were looked at as one chunk.
    pub(super) analysed: usize,
    /// Up to where no slash starts a path.
    pub(super) no_path: usize,
    /// Closing quotes of texts that were looked into.
    pub(super) closed: [usize; 4],
    /// The next closing quote of each sort, once searched for; the text's length where there is none.
    pub(super) closings: [(u8, usize); 3],
    /// What was found on the lines looked at.
    pub(super) lines: Lines,
    /// A line's range, and whether it or the one before is a driver's.
    pub(super) driver_line: (usize, usize, bool),
    pub(super) is_ascii: Option<bool>,
    /// Is there a `^` anywhere?
    pub(super) has_caret: Option<bool>,
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
    Plus,
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
            b'+' => Class::Plus,
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
            lines: Lines::default(),
            driver_line: (0, 0, false),
            is_ascii: None,
            has_caret: None,
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

    /// Does a letter or digit stand before an index, and not what was found there?
    pub(super) fn follows_word(&self, at: usize) -> bool {
        is_word(self.before(at)) && self.findings.last().is_none_or(|last| last.end as usize != at)
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

    /// What follows on the line, at most 400 bytes of it.
    pub(super) fn window(&self, at: usize) -> &'t str {
        let window = self.slice(at, self.text.floor_char_boundary(at + 400));
        window.split('\n').next().unwrap_or_default()
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
        let is_driver = DRIVER_SIGNS.first(self.bytes.get(before..end).unwrap_or_default()).is_some();
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

    /// Can there be a caret under an excerpt of a statement?
    pub(super) fn has_caret(&mut self) -> bool {
        let bytes = self.bytes;
        *self.has_caret.get_or_insert_with(|| bytes.contains(&b'^'))
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
                Class::Slash => path::slash(self),
                Class::Control => control::ascii(self),
                Class::High => self.high(),
                Class::Less => instruction::markup(self),
                Class::Dash => option::dash(self),
                Class::Colon => chunk::colon(self),
                Class::Star => sql::star(self),
                Class::Plus => chunk::plus(self),
            }
            if self.at <= start {
                self.at = start + 1;
            }
        }
    }

    /// The end of the run of letters, digits and underscores from `at` on; a hidden character ends it.
    pub(super) fn word_end(&self, at: usize) -> usize {
        self.word_run(at).0
    }

    /// The end of a word, and the union of its bytes' bits.
    #[inline]
    fn word_run(&self, mut at: usize) -> (usize, u16) {
        let mut union = 0;
        while let Some(byte) = self.bytes.get(at) {
            let bits = bits(*byte);
            if bits & bytes::WORD == 0 || (bits & bytes::HIGH != 0 && control::hidden(self, at).is_some()) {
                break;
            }
            union |= bits;
            at += 1;
        }
        (at, union)
    }

    /// Goes over words that say nothing: letters alone, no cue, no key, and no part of a chunk.
    fn skip_words(&mut self) {
        while self.cue == Cue::None {
            let rest = self.rest_bytes(self.at);
            let end = rest.iter().position(|byte| bits(*byte) & bytes::LETTER == 0).unwrap_or(rest.len());
            let (word, behind) = rest.split_at_checked(end).unwrap_or_default();
            let (end, next) = match behind {
                [b' ', next, ..] => (end + 1, *next),
                [b',' | b';' | b'.', b' ', ..] => (end + 2, 0),
                [next, ..] if bits(*next) & (bytes::WORD | bytes::JOINT) != 0 => return,
                [next, ..] => (end, *next),
                [] => (end, 0),
            };
            if word.is_empty()
                || bits(next) & bytes::SEPARATOR != 0
                || (may_be_cue(word) && CUES.get(word).is_some())
            {
                return;
            }
            self.at += end;
        }
    }

    pub(super) fn word(&mut self) {
        let first = self.at;
        self.skip_words();
        let start = self.at;
        if start > first && bits(self.byte(start)) & (bytes::LETTER | bytes::DIGIT) == 0 {
            return;
        }
        let (end, inside) = self.word_run(start + 1);
        let has_digit = (inside | bits(self.byte(start))) & bytes::DIGIT != 0;
        let joins = bits(self.byte(end)) & bytes::JOINT != 0
            && !matches!(self.byte(end + 1), 0 | b' ' | b'\n' | b'"' | b'\'');
        let word = self.bytes.get(start..end).unwrap_or_default();
        if start >= self.analysed
            && (joins || (has_digit && self.is_telling(word, end)))
            && chunk::chunk(self, start, end)
        {
            return;
        }
        self.at = end;
        let cue = if may_be_cue(word) { CUES.get(word) } else { None };
        match cue {
            Some(cue) => self.cue_word(cue, start, end),
            None if self.is_key(end) && secret::is_secret_key(word) => {
                pair::pair(self, Cue::Credential, start, end);
            }
            None if self.byte(end) == b':' && self.rest(end).starts_with(": Authentication failed") => {
                self.found(Kind::User, start, end)
            }
            None => {
                if self.cue != Cue::None {
                    self.follow(start, end);
                }
            }
        }
    }

    /// Does what follows a word make it a key?
    fn is_key(&self, end: usize) -> bool {
        matches!(self.byte(self.skip_blanks(end)), b'=' | b':' | b'"' | b'\'' | b'\\')
    }

    /// Can a word with digits that stands alone be more than a word: has it enough of them, or others beside them?
    fn is_telling(&self, word: &[u8], end: usize) -> bool {
        let is_group = word.len() == 4 && self.byte(end) == b' ' && self.byte(end + 1).is_ascii_digit();
        word.len() >= 9 || is_group || !word.iter().all(u8::is_ascii_digit)
    }

    /// A word that announces something.
    fn cue_word(&mut self, cue: Cue, start: usize, end: usize) {
        if pair::pair(self, cue, start, end) {
            return;
        }
        let consumed = match cue {
            Cue::Verb => sql::verb(self, start),
            Cue::Instruction => instruction::sentence(self, start, end),
            Cue::Scheme | Cue::Secret => secret::secret(self, cue, start, end),
            Cue::Entry | Cue::Near => self.unescaped(cue, end),
            Cue::Line => pair::data_line(self, start, end),
            Cue::Position => sql::excerpt(self, end),
            Cue::Company => self.company(start, end),
            Cue::Containing => self.containing(end),
            Cue::Binding => self.binding(end),
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
            Cue::Credential if self.distance == 0 && is_mixed(self.slice(start, end)) => {
                return self.found(Kind::Token, start, end);
            }
            _ => return self.pass(start, end),
        };
        let word = self.slice(start, end);
        let follows = self.distance == 0 && self.skip_blanks(self.cue_end) == start && self.cue_end < start;
        if follows && !is_vocabulary(word) && !matches!(self.byte(end), b'(' | b'=') && self.is_driver_text()
        {
            let end = if kind == Kind::Database { end } else { chunk::end(self, start).max(end) };
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
}

/// Is a word long, with letters and several digits, as tokens are?
fn is_mixed(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    word.len() >= 16 && digits >= 3 && digits < word.len()
}

/// The length of the typed mark that a text starts with.
pub(super) fn mark_length(text: &str) -> Option<usize> {
    let has = |kind: &&Kind| text.starts_with(kind.mark());
    text.starts_with('[').then(|| Kind::ALL.iter().find(has).map(|kind| kind.mark().len()))?
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
