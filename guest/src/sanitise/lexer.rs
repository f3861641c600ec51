//! A lexer for SQL in any dialect: linear, total, and in doubt it reads a literal.

use super::bytes::{self, bits};
use super::dialect::{Backslash, Dialect, DoubleQuotes, Traits};

/// What a token is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// A keyword or a bare name.
    Word,
    /// A quoted name.
    Name,
    /// A string or number.
    Literal,
    /// A place holder or variable: `?`, `$1`, `:name`, `@name`, `%s`, `%(name)s`, `{name:Type}`.
    Parameter,
    /// One character of punctuation.
    Mark,
}

/// A token of a statement: the byte range `start..end`. Comments and white space are no tokens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The tokens of a statement, one after the other.
#[derive(Clone)]
pub(super) struct Lexer<'t> {
    bytes: &'t [u8],
    at: usize,
    traits: Traits,
    /// Is a value rather than a name expected next? Only asked where `"…"` can be either.
    expects_value: bool,
    /// Does an open parenthesis hold values?
    holds_values: bool,
    /// Would a parenthesis that opens now hold names (a list of columns)?
    lists_names: bool,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str, dialect: Dialect) -> Lexer<'t> {
        Lexer {
            bytes: text.as_bytes(),
            at: 0,
            traits: dialect.traits(),
            expects_value: false,
            holds_values: false,
            lists_names: false,
        }
    }

    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// The end of the text quoted from `open` on: the index behind `close`, where a doubled one does not count.
    fn quoted(&self, open: usize, close: u8, backslash: Backslash) -> usize {
        let mut at = open + 1;
        loop {
            match self.bytes.get(at) {
                None => return self.bytes.len(),
                Some(&byte) if byte == close => {
                    if self.byte(at + 1) != close {
                        return at + 1;
                    }
                    at += 2;
                }
                Some(b'\\') if backslash == Backslash::Escape => at += 2,
                Some(b'\\') if backslash == Backslash::Doubt && self.byte(at + 1) == close => {
                    return self.bytes.len();
                }
                Some(_) => at += 1,
            }
        }
    }

    /// The end of a comment that starts at `at`, if one does.
    fn comment(&self, at: usize) -> Option<usize> {
        match (self.byte(at), self.byte(at + 1)) {
            (b'-', b'-') => Some(self.line_end(at)),
            (b'#', _) if self.traits.hash_comments => Some(self.line_end(at)),
            (b'/', b'*') => Some(self.block_comment_end(at + 2)),
            _ => None,
        }
    }

    fn line_end(&self, at: usize) -> usize {
        self.bytes
            .iter()
            .skip(at)
            .position(|byte| *byte == b'\n')
            .map_or(self.bytes.len(), |found| at + found)
    }

    fn block_comment_end(&self, mut at: usize) -> usize {
        let mut depth = 1;
        while at < self.bytes.len() {
            match (self.byte(at), self.byte(at + 1)) {
                (b'*', b'/') if depth == 1 => return at + 2,
                (b'*', b'/') => (depth, at) = (depth - 1, at + 2),
                (b'/', b'*') if self.traits.nested_comments => (depth, at) = (depth + 1, at + 2),
                _ => at += 1,
            }
        }
        self.bytes.len()
    }

    /// The end of a dollar-quoted text that opens at `at`: `$tag$ … $tag$`.
    fn dollar_quoted(&self, at: usize) -> Option<usize> {
        let tag = self.bytes.get(at + 1..)?.iter().position(|byte| !is_word(*byte))?;
        let body = at + 1 + tag + 1;
        if self.byte(body - 1) != b'$' || self.byte(at + 1).is_ascii_digit() {
            return None;
        }
        let delimiter = self.bytes.get(at..body)?;
        let mut from = body;
        // Each candidate is compared once: a failed comparison moves on to the next `$`, which it has not passed.
        while let Some(found) = self.bytes.get(from..)?.iter().position(|byte| *byte == b'$') {
            from += found;
            if self.bytes.get(from..)?.starts_with(delimiter) {
                return Some(from + delimiter.len());
            }
            from += 1;
        }
        Some(self.bytes.len())
    }

    /// The end of `q'[…]'` whose quote is at `quote`.
    fn q_quoted(&self, quote: usize) -> usize {
        let close = match self.byte(quote + 1) {
            b'[' => b']',
            b'(' => b')',
            b'{' => b'}',
            b'<' => b'>',
            other => other,
        };
        let mut at = quote + 2;
        while at < self.bytes.len() {
            if self.byte(at) == close && self.byte(at + 1) == b'\'' {
                return at + 2;
            }
            at += 1;
        }
        self.bytes.len()
    }

    /// The end of a word; a `$` is part of it only in front of a letter or digit.
    fn word_end(&self, mut at: usize) -> usize {
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            at += rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
            if self.byte(at) != b'$' || !self.byte(at + 1).is_ascii_alphanumeric() {
                return at;
            }
            at += 1;
        }
    }

    fn number_end(&self, mut at: usize) -> usize {
        while is_word(self.byte(at))
            || self.byte(at) == b'.'
            || (matches!(self.byte(at), b'+' | b'-')
                && matches!(self.byte(at - 1), b'e' | b'E')
                && self.byte(at + 1).is_ascii_digit())
        {
            at += 1;
        }
        at
    }

    /// A word, or the literal that it prefixes: `N''`, `E''`, `X''`, `U&''`, `_utf8''`, `q'[]'`.
    fn word(&self, start: usize) -> Token {
        let end = self.word_end(start + 1);
        if !matches!(self.byte(end), b'\'' | b'"' | b'&') {
            return Token { kind: Kind::Word, start, end };
        }
        let length = end - start;
        let first = self.byte(start) | 0x20;
        let (quote, is_unicode) = match (self.byte(end), self.byte(end + 1)) {
            (b'&', b'\'' | b'"') if length == 1 && first == b'u' => (end + 1, true),
            _ => (end, false),
        };
        let opens_q = first == b'q' || (first == b'n' && self.byte(start + 1) | 0x20 == b'q');
        match self.byte(quote) {
            b'\'' if self.traits.q_quotes && length <= 2 && opens_q => {
                self.literal(start, self.q_quoted(quote))
            }
            b'\'' if length <= 2 || self.byte(start) == b'_' || is_unicode => {
                let backslash = match first {
                    b'e' => Backslash::Escape,
                    _ => self.traits.backslash,
                };
                self.literal(start, self.quoted(quote, b'\'', backslash))
            }
            b'"' if is_unicode => self.double_quoted(start, quote),
            _ => Token { kind: Kind::Word, start, end },
        }
    }

    fn literal(&self, start: usize, end: usize) -> Token {
        Token { kind: Kind::Literal, start, end }
    }

    fn double_quoted(&self, start: usize, quote: usize) -> Token {
        let is_name = match self.traits.double_quotes {
            DoubleQuotes::Name => true,
            DoubleQuotes::Literal => false,
            DoubleQuotes::Position => !self.expects_value,
        };
        let backslash = if is_name { Backslash::Plain } else { self.traits.backslash };
        let end = self.quoted(quote, b'"', backslash);
        let is_closed = end > quote + 1 && self.byte(end - 1) == b'"';
        let kind = if is_name && is_closed { Kind::Name } else { Kind::Literal };
        Token { kind, start, end }
    }

    /// A name in quotes of its own; unterminated it is taken for a literal.
    fn name(&self, start: usize, close: u8) -> Token {
        let end = self.quoted(start, close, Backslash::Plain);
        let is_closed = end > start + 1 && self.byte(end - 1) == close;
        Token { kind: if is_closed { Kind::Name } else { Kind::Literal }, start, end }
    }

    /// A place holder or variable.
    fn parameter(&self, start: usize) -> Option<Token> {
        let next = self.byte(start + 1);
        let end = match self.byte(start) {
            b'?' => start + 1,
            b'$' if next.is_ascii_digit() => self.word_end(start + 1),
            b'$' | b':' if is_word_start(next) => self.word_end(start + 1),
            b':' if next.is_ascii_digit() && self.byte(start.wrapping_sub(1)) != b':' => {
                self.word_end(start + 1)
            }
            b'@' if is_word_start(next) => self.word_end(start + 1),
            b'@' if next == b'@' => self.word_end(start + 2),
            b'%' if next == b's' && !is_word(self.byte(start + 2)) => start + 2,
            b'%' if next == b'(' => {
                let close = self.bytes.get(start..)?.iter().take(130).position(|byte| *byte == b')')?;
                start + close + if self.byte(start + close + 1) == b's' { 2 } else { 1 }
            }
            b'{' if is_word_start(next) => {
                let colon = self.word_end(start + 1);
                if self.byte(colon) != b':' {
                    return None;
                }
                let close = self.bytes.get(colon..)?.iter().take(130).position(|byte| *byte == b'}')?;
                colon + close + 1
            }
            _ => return None,
        };
        Some(Token { kind: Kind::Parameter, start, end })
    }

    fn token(&self, start: usize) -> Token {
        let byte = self.byte(start);
        if bits(byte) & bytes::MARK != 0 {
            return self.mark(start);
        }
        // `#table` of T-SQL.
        if is_word_start(byte) || (byte == b'#' && self.traits.brackets) {
            return self.word(start);
        }
        if byte.is_ascii_digit()
            || (byte == b'.' && self.byte(start + 1).is_ascii_digit() && !self.follows_name())
        {
            return self.literal(start, self.number_end(start + 1));
        }
        if byte == b'$'
            && let Some(end) = self.dollar_quoted(start)
        {
            return self.literal(start, end);
        }
        match byte {
            b'\'' => self.literal(start, self.quoted(start, b'\'', self.traits.backslash)),
            b'"' => self.double_quoted(start, start),
            b'`' => self.name(start, b'`'),
            b'[' if self.traits.brackets => self.name(start, b']'),
            // A cast, `::type`, is two marks.
            b':' if self.byte(start + 1) == b':' || self.byte(start.wrapping_sub(1)) == b':' => {
                self.mark(start)
            }
            _ => self.parameter(start).unwrap_or_else(|| self.mark(start)),
        }
    }

    /// Skips `, 'text'` and `, 123` as long as such constants follow that read the same in every dialect.
    pub(super) fn skip_plain_constants(&mut self) {
        while self.byte(self.at) == b',' {
            let mut at = self.at + 1;
            while self.byte(at) == b' ' {
                at += 1;
            }
            let first = self.byte(at);
            at += 1;
            match first {
                b'\'' => {
                    while !matches!(self.byte(at), b'\'' | b'\\' | 0) {
                        at += 1;
                    }
                    if self.byte(at) != b'\'' {
                        return;
                    }
                    at += 1;
                }
                b'0'..=b'9' => {
                    while self.byte(at).is_ascii_digit() {
                        at += 1;
                    }
                }
                _ => return,
            }
            if !matches!(self.byte(at), b',' | b')') {
                return;
            }
            self.at = at;
        }
    }

    /// Keeps track of whether a double-quoted text that comes next is a name or, in doubt, a value.
    fn expect_after(&mut self, token: Token) {
        let word = self.bytes.get(token.start..token.end).unwrap_or_default();
        self.expects_value = match (token.kind, word) {
            (Kind::Mark, b"(") => {
                self.holds_values = !self.lists_names;
                self.holds_values
            }
            (Kind::Mark, b",") => self.holds_values,
            (Kind::Mark, b")") => {
                self.holds_values = false;
                false
            }
            (Kind::Mark, b"." | b";" | b"*") => false,
            (Kind::Mark, _) => true,
            (Kind::Word, _) => {
                self.lists_names =
                    is_one_of(LIST_WORDS, word) || (self.lists_names && !is_one_of(UNLIST_WORDS, word));
                is_one_of(VALUE_WORDS, word)
            }
            _ => false,
        };
    }

    fn follows_name(&self) -> bool {
        is_word(self.byte(self.at.wrapping_sub(1)))
    }

    fn mark(&self, start: usize) -> Token {
        Token { kind: Kind::Mark, start, end: start + 1 }
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            if bits(byte) & (bytes::NAME | bytes::MARK) != 0 {
                break;
            }
            if byte.is_ascii_whitespace() || byte == 0 {
                self.at += 1;
            } else if let Some(end) = self.comment(self.at) {
                self.at = end;
            } else {
                break;
            }
        }
        let token = self.token(self.at);
        self.at = token.end;
        if self.traits.double_quotes == DoubleQuotes::Position {
            self.expect_after(token);
        }
        Some(token)
    }
}

/// Words after which a double-quoted text is a value rather than a name.
const VALUE_WORDS: &[&str] =
    &["like", "glob", "match", "regexp", "between", "then", "else", "return", "default"];

/// Words after which a parenthesis lists names.
const LIST_WORDS: &[&str] = &["into", "table", "index", "references", "key", "unique", "on"];

/// Words after which it lists no names any more.
const UNLIST_WORDS: &[&str] = &["values", "in", "check", "where", "set", "select"];

fn is_one_of(words: &[&str], word: &[u8]) -> bool {
    words.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(word))
}

/// Can the byte be part of a word? Letters of other scripts can.
pub(super) fn is_word(byte: u8) -> bool {
    bits(byte) & bytes::NAME != 0
}

fn is_word_start(byte: u8) -> bool {
    bits(byte) & (bytes::NAME | bytes::DIGIT) == bytes::NAME
}
