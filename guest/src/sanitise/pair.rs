//! Pairs of key and value in every notation: `key=value`, `"key": "value"`, `Key='a;b'`, `{key}`, `(a)=(b)`.

use super::chunk;
use super::cues::Cue;
use super::finding::Kind;
use super::scan::{Scanner, Search, is_word, mark_length};
use super::sql;
use super::vocabulary::is_vocabulary;

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
        Cue::Name if is_secret_compound(scanner, start, end) => {
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
    if is_word(scanner.before(start)) || (scanner.before(start) == b'.' && !separator.is_tight) {
        return false;
    }
    let is_quoted_key = matches!(scanner.before(start), b'"' | b'\'');
    match cue {
        Cue::Statement => statement(scanner, at, separator.is_equals),
        Cue::Parameters => parameters(scanner, at),
        Cue::Credential => credential(scanner, at, start, separator),
        // In prose and in code these are ordinary words: only a tight `=`, or a quoted key, makes a pair of them.
        Cue::Value if !is_equals && is_known && !is_quoted_key => {
            scanner.is_driver_text() && value(scanner, kind, at, separator, is_quoted_key)
        }
        Cue::Value | Cue::Path | Cue::Stack if !is_equals && !is_quoted_key => false,
        _ if !separator.is_tight && !is_quoted_key && !scanner.is_driver_text() => false,
        _ => value(scanner, kind, at, separator, is_quoted_key),
    }
}

/// Does a key that the table does not hold name a secret: `clientSecret`, `redis_auth_token`, `secret_access_key`?
pub(super) fn is_secret_key(word: &[u8]) -> bool {
    const TAILS: &[&str] = &[
        "password",
        "passwd",
        "passwort",
        "secret",
        "token",
        "passphrase",
        "apikey",
        "secretkey",
        "_pwd",
        "_pass",
        "credentials",
        "dsn",
    ];
    let ends = |tail: &str| {
        word.len()
            .checked_sub(tail.len())
            .and_then(|start| word.get(start..))
            .is_some_and(|end| end.eq_ignore_ascii_case(tail.as_bytes()))
    };
    let is_compound_key = || {
        ends("key")
            && ["secret", "access", "api", "private", "auth", "signing", "encryption"]
                .iter()
                .any(|part| contains(word, part))
    };
    TAILS.iter().any(|tail| ends(tail)) || is_compound_key()
}

fn contains(word: &[u8], part: &str) -> bool {
    word.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

/// `x-api-key`, `access-key`.
fn is_secret_compound(scanner: &Scanner, start: usize, end: usize) -> bool {
    let before = scanner.slice(start.saturating_sub(12), start);
    scanner.slice(start, end).eq_ignore_ascii_case("key")
        && ["api-", "access-", "secret-", "private-", "auth-", "api ", "access "].iter().any(|word| {
            before.len() >= word.len()
                && before.get(before.len() - word.len()..).is_some_and(|tail| tail.eq_ignore_ascii_case(word))
        })
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
struct Separator {
    /// Where the value starts.
    value: usize,
    is_equals: bool,
    /// No white space around it.
    is_tight: bool,
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
        let is_tight = touches && value == at + 1;
        Some(Separator { value, is_equals, is_tight })
    }
}

/// A secret: in doubt about its end, it is long.
fn credential(scanner: &mut Scanner, at: usize, key: usize, separator: Separator) -> bool {
    let in_list =
        scanner.before(key) == b';' || (scanner.before(key) == b' ' && scanner.before(key - 1) == b';');
    let in_query = matches!(scanner.before(key), b'?' | b'&');
    let (start, end) = match scanner.byte(at) {
        quote @ (b'"' | b'\'' | b'`') => (at + 1, string_end(scanner, at + 1, quote)),
        b'\\' if matches!(scanner.byte(at + 1), b'"' | b'\'') => (at + 2, escaped_end(scanner, at + 2)),
        b'{' if separator.is_equals => (at + 1, braced_end(scanner, at + 1)),
        b'\n' | b'\r' | 0 => return false,
        b'[' if mark_length(scanner.rest(at)).is_some() => (at, token_end(scanner, at, in_list, in_query)),
        _ => (at, token_end(scanner, at, in_list, in_query)),
    };
    let value = scanner.slice(start, end);
    // "password: required", "token: expected": prose.
    let is_prose = !separator.is_equals
        && !separator.is_tight
        && start == at
        && is_vocabulary(value.trim_end_matches(['.', ',', ')']));
    if says_nothing(value) || is_prose {
        return false;
    }
    // `Authorization: Bearer x`, `Token="a b"`: schemes are followed by the secret itself.
    let end = if start == at && !separator.is_equals && scanner.byte(end) == b' ' && is_scheme(value) {
        scanner.line_end(at)
    } else {
        end
    };
    scanner.found(Kind::Credential, start, end);
    scanner.at += usize::from(start > at);
    true
}

fn is_scheme(value: &str) -> bool {
    ["bearer", "basic", "token", "apikey", "digest", "negotiate", "snowflake", "aws4-hmac-sha256"]
        .iter()
        .any(|scheme| scheme.eq_ignore_ascii_case(value))
}

/// The end of a string in quotes: a doubled or escaped quote does not end it, and one inside a word neither.
fn string_end(scanner: &mut Scanner, start: usize, quote: u8) -> usize {
    let mut at = start;
    let limit = scanner.bytes.len();
    while at < limit {
        match scanner.byte(at) {
            b'\\' => at += 2,
            byte if byte == quote && scanner.byte(at + 1) == quote => at += 2,
            byte if byte == quote && !scanner.byte(at + 1).is_ascii_alphanumeric() => return at,
            _ => at += 1,
        }
    }
    limit
}

/// The end of a string whose quotes are escaped themselves.
fn escaped_end(scanner: &Scanner, start: usize) -> usize {
    let rest = scanner.rest_bytes(start);
    rest.windows(2)
        .position(|pair| pair == b"\\\"" || pair == b"\\'")
        .map_or(scanner.bytes.len(), |found| start + found)
}

/// The end of an ODBC value in braces, where `}}` is a brace.
fn braced_end(scanner: &Scanner, start: usize) -> usize {
    let mut at = start;
    while at < scanner.bytes.len() {
        match (scanner.byte(at), scanner.byte(at + 1)) {
            (b'}', b'}') => at += 2,
            (b'}', _) => return at,
            _ => at += 1,
        }
    }
    at
}

/// The end of a bare secret: white space, a quote or `;`; in a `;` list white space belongs to it, in a URL's query `&` does not.
fn token_end(scanner: &Scanner, start: usize, in_list: bool, in_query: bool) -> usize {
    let list_end =
        scanner.rest_bytes(start).iter().take(256).position(|byte| matches!(byte, b';' | b'\n' | b'"'));
    let takes_blanks = in_list && list_end.is_some_and(|found| scanner.byte(start + found) == b';');
    let mut end = start;
    while let Some(byte) = scanner.bytes.get(end) {
        match byte {
            b' ' | b'\t' if takes_blanks => {}
            b' ' | b'\t' | b'\n' | b'\r' | b'"' | b';' => break,
            b'\'' if !is_word(scanner.byte(end + 1)) => break,
            b'&' if in_query => break,
            _ => {}
        }
        end += 1;
    }
    // What closes around the pair is no part of it; what closes inside, as a mark does, is.
    let opens = scanner.slice(start, end).contains(['(', '[', '{']);
    while end > start
        && (matches!(scanner.byte(end - 1), b',' | b'.')
            || (!opens && matches!(scanner.byte(end - 1), b')' | b']' | b'}')))
    {
        end -= 1;
    }
    end
}

/// Any other pair's value.
fn value(scanner: &mut Scanner, kind: Kind, at: usize, separator: Separator, is_quoted_key: bool) -> bool {
    let (start, end) = match scanner.byte(at) {
        quote @ (b'"' | b'\'' | b'`') => (at + 1, string_end(scanner, at + 1, quote)),
        b'\\' if scanner.byte(at + 1) == b'"' => (at + 2, escaped_end(scanner, at + 2)),
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
                || bare.contains("::");
            if says_nothing(bare) || (is_prose && !separator.is_equals && !is_quoted_key) {
                return false;
            }
            if bare.contains("://") {
                return chunk::url(scanner, at);
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

fn says_nothing(value: &str) -> bool {
    value.is_empty() || EMPTY_VALUES.iter().any(|word| word.eq_ignore_ascii_case(value))
}

/// `[parameters: {…}]`, `params={{…}}`, `with params [..]`: everything up to a sign that the message goes on.
fn parameters(scanner: &mut Scanner, at: usize) -> bool {
    let end = match scanner.byte(at) {
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

/// A secret without a separator: `Bearer x`, `AUTH user secret`, `requirepass x`.
pub(super) fn secret(scanner: &mut Scanner, cue: Cue, start: usize, end: usize) -> bool {
    let at = scanner.skip_blanks(end);
    if at == end {
        return false;
    }
    let is_command = cue == Cue::Secret && (scanner.slice(start, end) == "AUTH" || end - start > 4);
    let mut until = at;
    while let Some(byte) = scanner.bytes.get(until) {
        if matches!(byte, b'\n' | b'\r' | b'"')
            || (!is_command && byte.is_ascii_whitespace())
            || (byte == &b'\'' && !is_command)
        {
            break;
        }
        until += 1;
    }
    let value = scanner.slice(at, until);
    let mut words = value.split(' ').map(|word| word.trim_end_matches([',', '.', ':', ')']));
    let first = words.clone().next().unwrap_or_default();
    let is_secret = match cue {
        Cue::Scheme => {
            value.len() >= 8 && !is_vocabulary(first) && value.bytes().any(|byte| !byte.is_ascii_lowercase())
        }
        _ => is_command && !first.is_empty() && words.by_ref().take(2).any(|word| !is_vocabulary(word)),
    };
    if is_secret {
        scanner.found(Kind::Credential, at, until);
    }
    is_secret
}

/// How PostgreSQL goes on after the values of a key.
pub(super) const KEY_TAILS: &[&str] = &[
    ") already exists",
    ") is not present",
    ") is still referenced",
    ") is duplicated",
    ") is referenced",
    ") conflicts with",
    ") violates",
    ") existiert",
    ") ist ",
    ") existe ",
    ") n'est pas",
    ") no está",
    ") не ",
    ") уже",
    ") はすでに",
    ") 已存在",
];

/// The end of the values in `(columns)=(values)`: where the message goes on, if within the same or the next lines of
/// it, else the line's last `)`.
pub(super) fn key_values_end(scanner: &mut Scanner, values: usize) -> usize {
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
