//! Pairs of key and value in every notation: `key=value`, `"key": "value"`, `Key='a;b'`, `{key}`, `(a)=(b)`.

use super::cues::Cue;
use super::finding::Kind;
use super::lines::Search;
use super::scan::Scanner;
use super::sql;
use super::vocabulary::is_vocabulary;
use super::{secret, url};
use crate::signs::holds;

/// Values that say nothing: flags and place holders.
const EMPTY_VALUES: &[&str] = &[
    "yes",
    "no",
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "n/a",
    "unknown",
    "***",
    "****",
    "*****",
    "xxx",
    "redacted",
    "Array",
];

/// Does a value follow the key that lies at `start..end`? Then it is found.
pub(super) fn pair(scanner: &mut Scanner, cue: Cue, start: usize, end: usize) -> bool {
    let kind = match cue {
        Cue::Credential => Kind::Credential,
        Cue::User => Kind::User,
        Cue::Host | Cue::Port | Cue::Data => Kind::Host,
        Cue::Database => Kind::Database,
        Cue::Value | Cue::Parameters => Kind::Value,
        Cue::Statement => Kind::Sql,
        Cue::Path => Kind::Path,
        Cue::Identifier => Kind::Identifier,
        Cue::Stack => Kind::Stack,
        Cue::Name if secret::is_secret_compound(scanner, start, end) => {
            return pair(scanner, Cue::Credential, start, end);
        }
        Cue::Name => return storage_key(scanner, end),
        _ => return false,
    };
    let Some(separator) = Separator::read(scanner, cue, end) else {
        return false;
    };
    let at = separator.value;
    let (is_equals, is_known) =
        (separator.is_equals, scanner.slice(start, end).eq_ignore_ascii_case("value"));
    if scanner.follows_word(start) || (scanner.before(start) == b'.' && !separator.is_tight) {
        return false;
    }
    let is_quoted_key = matches!(scanner.before(start), b'"' | b'\'');
    match cue {
        Cue::Statement => statement(scanner, at, separator.is_equals),
        Cue::Parameters => parameters(scanner, start, at),
        Cue::Credential => secret::credential(scanner, at, start, separator),
        // In prose and in code these are ordinary words: only a tight `=`, or a quoted key, makes a pair of them.
        Cue::Value if !is_equals && is_known && !is_quoted_key => {
            scanner.is_driver_text() && value(scanner, kind, at, separator, is_quoted_key)
        }
        Cue::Value | Cue::Path | Cue::Stack if !is_equals && !is_quoted_key => false,
        _ if !separator.is_tight && !is_quoted_key && !scanner.is_driver_text() => false,
        _ => value(scanner, kind, at, separator, is_quoted_key),
    }
}

/// `COPY t, line 3, column c: "x"`, `JSON data, line 1: …`: what follows is data.
pub(super) fn data_line(scanner: &mut Scanner, start: usize, end: usize) -> bool {
    if ![", ", ".conf "].iter().any(|before| scanner.slice(0, start).ends_with(before)) {
        return false;
    }
    let mut at = scanner.skip_blanks(end);
    while scanner.byte(at).is_ascii_digit() {
        at += 1;
    }
    if scanner.rest(at).starts_with(", column ") {
        at = scanner.word_end(at + 9);
    }
    if !scanner.rest(at).starts_with(": ") {
        return false;
    }
    let line = scanner.line_end(at);
    scanner.found(Kind::Value, at + 2, line);
    true
}

/// `key=/Table/134/1/"…"/0`: CockroachDB prints the row's key.
fn storage_key(scanner: &mut Scanner, end: usize) -> bool {
    if !scanner.rest(end).starts_with("=/") {
        return false;
    }
    let mut is_quoted = false;
    let mut until = end + 1;
    while let Some(byte) = scanner.bytes.get(until) {
        is_quoted ^= *byte == b'"';
        if byte.is_ascii_whitespace() && !is_quoted {
            break;
        }
        until += 1;
    }
    scanner.found(Kind::Value, end + 1, until);
    true
}

/// What stands between key and value.
#[derive(Clone, Copy)]
pub(super) struct Separator {
    /// Where the value starts.
    pub(super) value: usize,
    pub(super) is_equals: bool,
    /// No white space around it.
    pub(super) is_tight: bool,
}

impl Separator {
    fn read(scanner: &Scanner, cue: Cue, end: usize) -> Option<Separator> {
        let mut at = end;
        // The quote behind a quoted key, escaped or not.
        while matches!(scanner.byte(at), b'"' | b'\'' | b'\\' | b'`') && at < end + 3 {
            at += 1;
        }
        at = scanner.skip_blanks(at);
        if cue == Cue::Statement {
            at += ["was:", "] :"]
                .iter()
                .find(|words| scanner.rest(at).starts_with(**words))
                .map_or(0, |words| words.len() - 1);
        }
        // `User Id=`, `user name:`, `Data Source=`
        let is_data = cue == Cue::Data
            && !scanner.rest(at).get(..6).is_some_and(|word| word.eq_ignore_ascii_case("source"));
        if is_data {
            return None;
        }
        if matches!(cue, Cue::User | Cue::Database | Cue::Identifier | Cue::Data)
            && let Some(length) = ["id", "Id", "ID", "name", "Name", "source", "Source"]
                .iter()
                .find(|word| scanner.rest(at).starts_with(**word))
                .map(|word| word.len())
            && matches!(scanner.byte(at + length), b'=' | b':')
        {
            at += length;
        }
        let touches = !matches!(scanner.before(at), b' ' | b'\t');
        let is_equals = match (scanner.byte(at), scanner.byte(at + 1)) {
            (b'=', b'=') => return None,
            (b'=', b'>') => {
                at += 1;
                true
            }
            (b'=', _) => true,
            (b':', b':' | b'/') => return None,
            (b':', b'=') => {
                at += 1;
                true
            }
            (b':', _) => false,
            _ => return None,
        };
        let value = scanner.skip_blanks(at + 1);
        // `user: Some("x")`: a value as Rust prints it.
        let wrapper = ["Some(\"", "[Tcp(\""].iter().find(|sign| scanner.rest(value).starts_with(**sign));
        if let Some(sign) = wrapper {
            return Some(Separator { value: value + sign.len() - 1, is_equals, is_tight: true });
        }
        let is_tight = touches && value == at + 1;
        Some(Separator { value, is_equals, is_tight })
    }
}

/// Any other pair's value.
fn value(scanner: &mut Scanner, kind: Kind, at: usize, separator: Separator, is_quoted_key: bool) -> bool {
    let (start, end) = match scanner.byte(at) {
        quote @ (b'"' | b'\'' | b'`') => (at + 1, secret::string_end(scanner, at + 1, quote)),
        b'\\' if scanner.byte(at + 1) == b'"' => (at + 2, secret::escaped_end(scanner, at + 2)),
        b'{' | b'[' | b'(' => return false,
        _ => {
            let window = scanner.slice(at, scanner.text.floor_char_boundary(at + 64));
            let bare =
                window.get(..bare_end(window.as_bytes())).unwrap_or_default().trim_end_matches(['.', ':']);
            // Colons in prose: "host: not found", "user: 5 errors".
            let is_number = bare.bytes().all(|byte| byte.is_ascii_digit()) && kind != Kind::Host;
            let is_prose = !separator.is_tight && is_vocabulary(bare)
                || is_number
                || bare.contains(['=', '('])
                || holds(bare, "::");
            if says_nothing(bare) || (is_prose && !separator.is_equals && !is_quoted_key) {
                return false;
            }
            if holds(bare, "://") {
                return url::url(scanner, at);
            }
            (at, at + bare_end(scanner.rest_bytes(at)))
        }
    };
    if says_nothing(scanner.slice(start, end)) {
        return false;
    }
    scanner.found(kind, start, end);
    scanner.at += usize::from(start > at);
    true
}

/// The length of a bare value.
fn bare_end(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || b",;&)]}\"'>".contains(byte))
        .unwrap_or(bytes.len())
}

pub(super) fn says_nothing(value: &str) -> bool {
    value.is_empty() || EMPTY_VALUES.iter().any(|word| word.eq_ignore_ascii_case(value))
}

/// `[parameters: {…}]`, `params={{…}}`, `with params [..]`: everything up to a sign that the message goes on.
fn parameters(scanner: &mut Scanner, key: usize, at: usize) -> bool {
    let end = match scanner.byte(at) {
        // MyBatis' log.
        _ if scanner.slice(0, key).ends_with("==> ") => scanner.line_end(at),
        b'{' | b'[' | b'(' => sql::boundary(scanner, at, false),
        byte if byte.is_ascii_digit() || matches!(byte, b'\'' | b'"' | b'$') => {
            sql::boundary(scanner, at, false)
        }
        _ => return false,
    };
    scanner.found(Kind::Value, at, end);
    true
}

/// `STATEMENT: …`, `[SQL: …]`, `query was: …`.
fn statement(scanner: &mut Scanner, at: usize, is_equals: bool) -> bool {
    let at = if matches!(scanner.byte(at), b'\n' | b'\r') { at + 1 } else { at };
    let opens = at + usize::from(matches!(scanner.byte(at), b'\'' | b'"' | b'`'));
    if is_equals || !sql::starts_with_verb(scanner.rest(opens)) {
        return false;
    }
    let end = sql::end(scanner, if opens > at { at } else { opens }, opens);
    scanner.found(Kind::Sql, opens, end);
    true
}

/// The end of the values in `(columns)=(values)`: where the message goes on, if within the same or the next lines of
/// it, else the line's last `)`.
pub(super) fn key_values_end(scanner: &Scanner, values: usize) -> usize {
    let on_line = scanner.last_on_line(values, b')');
    match scanner.last_sign(Search::Key, values) {
        Some(tail) if tail <= on_line || on_line == scanner.line_end(values) => tail,
        _ => on_line,
    }
}

/// Is the parenthesis at `open` a row, as in "Failing row contains (1, null, x)." of any language?
pub(super) fn is_row(scanner: &mut Scanner, open: usize) -> bool {
    if !scanner.is_localised() {
        return false;
    }
    let end = scanner.line_end(open).min(open + 400);
    let row = scanner.bytes.get(open + 1..end).unwrap_or_default();
    let first = row.split(|byte| *byte == b',').next().unwrap_or_default();
    first.len() < row.len()
        && !first.is_empty()
        && (first == b"null" || first.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-'))
}
