//! The values of secrets: in doubt about their end, they are long.

use super::bytes::is_word;
use super::cues::Cue;
use super::finding::Kind;
use super::pair::{Separator, says_nothing};
use super::scan::{Scanner, mark_length};
use super::vocabulary::is_vocabulary;

/// A secret: in doubt about its end, it is long.
pub(super) fn credential(scanner: &mut Scanner, at: usize, key: usize, separator: Separator) -> bool {
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
pub(super) fn string_end(scanner: &mut Scanner, start: usize, quote: u8) -> usize {
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
pub(super) fn escaped_end(scanner: &Scanner, start: usize) -> usize {
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

/// Does a key that the table does not hold name a secret: `clientSecret`, `redis_auth_token`, `secret_access_key`?
pub(super) fn is_secret_key(word: &[u8]) -> bool {
    let tails: &[&str] = match word.last().map(u8::to_ascii_lowercase) {
        Some(b'd') => &["password", "passwd", "_pwd"],
        Some(b'e') => &["passphrase"],
        Some(b'h') => &["_auth"],
        Some(b'n') => &["token", "dsn"],
        Some(b's') => &["_pass", "credentials"],
        Some(b't') => &["passwort", "secret"],
        Some(b'y') => &["apikey", "secretkey"],
        _ => return false,
    };
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
    tails.iter().any(|tail| ends(tail)) || is_compound_key()
}

fn contains(word: &[u8], part: &str) -> bool {
    word.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

/// `x-api-key`, `access-key`.
pub(super) fn is_secret_compound(scanner: &Scanner, start: usize, end: usize) -> bool {
    let before = scanner.slice(start.saturating_sub(12), start);
    scanner.slice(start, end).eq_ignore_ascii_case("key")
        && ["api-", "access-", "secret-", "private-", "auth-", "api ", "access "].iter().any(|word| {
            before.len() >= word.len()
                && before.get(before.len() - word.len()..).is_some_and(|tail| tail.eq_ignore_ascii_case(word))
        })
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
