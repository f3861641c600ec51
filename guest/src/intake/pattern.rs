//! Patterns of fixed forms in texts, and their matcher.
//!
//! A pattern is matched from where it is tried. ASCII case does not matter to its letters. `~` takes blanks and
//! line ends, and these capture:
//!
//! | | takes | gives |
//! | --- | --- | --- |
//! | `%d` | 1 to 9 digits | a code |
//! | `%z` | six digits | a code |
//! | `%n` | 1 to 9 digits | nothing |
//! | `%x` | hexadecimal digits | a code |
//! | `%s` | five digits or capitals, one a digit | a SQLSTATE |
//! | `%p` | capitals, a hyphen, digits: `ORA-00001` | a code |
//! | `%w` | capitals and `_`: `SQLITE_BUSY` | a code |
//! | `%t` | capitals, digits and `_`: `ECONNREFUSED` | a code |
//! | `%c` | a class name, qualified or telling | a class |
//! | `%i` | one word | a code |
//! | `%a` | the same | nothing |
//! | `%o` | capitals: `WRONGTYPE` | a code |
//! | `%k` | one to three words, the first with a capital: `Invalid Input` | a class |
//! | `%u` | a UUID | nothing |
//! | `%g` | one word | a gRPC status |
//! | `%h` | three digits | an HTTP status |
//! | `%r` | digits | the number of repetitions |
//! | `%*` | up to what follows, on the same line and without a quote | nothing |

use alloc::vec::Vec;

use super::SignKind;
use crate::systems::System;

/// What a form's match gives.
#[derive(Debug, Default)]
pub(super) struct Match<'t> {
    /// How many bytes it covers.
    pub len: usize,
    /// Codes and classes.
    pub signs: Vec<(SignKind, &'t str)>,
    /// A code in hexadecimal digits.
    pub hexadecimal: Option<&'t str>,
    /// How often the driver repeated the request.
    pub retries: Option<u32>,
    /// The system that the form tells.
    pub system: Option<System>,
}

/// The longest class name.
const LONGEST_NAME: usize = 160;

/// How far `%*` reaches.
const LONGEST_GAP: usize = 240;

/// Matches a pattern from the start of a text.
pub(super) fn take<'t>(pattern: &str, text: &'t str) -> Option<Match<'t>> {
    let mut found = Match::default();
    let (mut pattern, mut rest) = (pattern, text);
    while let Some(first) = pattern.bytes().next() {
        let width = match first {
            b'~' => {
                rest = rest.trim_start();
                1
            }
            b'%' => {
                let kind = *pattern.as_bytes().get(1)?;
                let (taken, left) = rest.split_at_checked(length(kind, rest, pattern.get(2..)?)?)?;
                match kind {
                    b'x' => found.hexadecimal = Some(taken),
                    b'r' => found.retries = taken.parse().ok(),
                    _ => found.signs.extend(sign_kind(kind).map(|kind| (kind, taken))),
                }
                rest = left;
                2
            }
            _ => {
                let letters = literal(pattern);
                let (taken, left) = rest.split_at_checked(letters.len())?;
                if !taken.eq_ignore_ascii_case(letters) {
                    return None;
                }
                rest = left;
                letters.len()
            }
        };
        pattern = pattern.get(width..)?;
    }
    found.len = text.len() - rest.len();
    Some(found)
}

/// What a pattern begins with that stands for itself.
fn literal(pattern: &str) -> &str {
    let end = pattern.bytes().position(|byte| matches!(byte, b'%' | b'~'));
    end.and_then(|end| pattern.get(..end)).unwrap_or(pattern)
}

/// What a capture gives.
const fn sign_kind(kind: u8) -> Option<SignKind> {
    match kind {
        b'd' | b'z' | b'p' | b'w' | b't' | b'i' | b'o' => Some(SignKind::Code),
        b's' => Some(SignKind::SqlState),
        b'c' | b'k' => Some(SignKind::Class),
        b'g' => Some(SignKind::Grpc),
        b'h' => Some(SignKind::Http),
        _ => None,
    }
}

/// Can a capture take this byte?
pub(super) fn takes(kind: u8, byte: u8) -> bool {
    TAKEN[usize::from(byte)] >> (kind % 32) & 1 == 1
}

/// For each byte the captures that can take it, as bits.
static TAKEN: [u32; 256] = {
    let mut taken = [0; 256];
    let mut byte = 0;
    while byte < taken.len() {
        let mut kind = b'a';
        while kind <= b'z' {
            taken[byte] |= (can_take(kind, byte as u8) as u32) << (kind % 32);
            kind += 1;
        }
        byte += 1;
    }
    taken
};

/// The same as a rule.
pub(super) const fn can_take(kind: u8, byte: u8) -> bool {
    match kind {
        b'd' | b'n' | b'r' | b'z' | b'h' => byte.is_ascii_digit(),
        b'x' => byte.is_ascii_hexdigit(),
        b'u' => byte.is_ascii_hexdigit() || byte == b'-',
        b's' => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
        b'w' | b't' => byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_',
        b'i' | b'a' => byte.is_ascii_alphanumeric() || byte == b'_',
        b'g' => byte.is_ascii_alphabetic() || byte == b'_',
        b'o' | b'p' => byte.is_ascii_uppercase(),
        b'k' => byte.is_ascii_alphabetic() || byte == b' ',
        b'c' => {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'\\' | b'$' | b':' | b'+' | b'/')
        }
        _ => true,
    }
}

/// How many bytes a capture takes, where it can.
fn length(kind: u8, text: &str, pattern: &str) -> Option<usize> {
    let run = |most: usize| run(text, most, |byte| takes(kind, byte));
    match kind {
        b'd' | b'n' | b'r' => run(9),
        b'z' => run(7).filter(|len| *len == 6),
        b'h' => run(4).filter(|len| *len == 3),
        b'x' => run(8),
        b'u' => run(40).filter(|len| *len == 36),
        b's' => run(6).filter(|len| *len == 5 && text.bytes().take(*len).any(|byte| byte.is_ascii_digit())),
        b'w' => run(80).filter(|len| text.get(..*len).is_some_and(|word| word.contains('_'))),
        b't' => run(40),
        b'i' | b'a' => run(80),
        b'g' => run(24),
        b'o' => run(24).filter(|len| *len >= 3),
        b'k' => kind_of_error(text),
        b'p' => prefixed(text),
        b'c' => class(text),
        b'*' => gap(text, literal(pattern)),
        _ => None,
    }
}

/// How many bytes at the start satisfy a test: at least one, at most `most`.
fn run(text: &str, most: usize, is_part: impl Fn(u8) -> bool) -> Option<usize> {
    let len = text.bytes().take(most + 1).take_while(|byte| is_part(*byte)).count();
    (1..=most).contains(&len).then_some(len)
}

/// `ORA-00001`: two to five capitals, a hyphen, three to six digits.
fn prefixed(text: &str) -> Option<usize> {
    let letters = run(text, 5, |byte| byte.is_ascii_uppercase()).filter(|len| *len >= 2)?;
    let digits = run(text.get(letters..)?.strip_prefix('-')?, 6, |byte| byte.is_ascii_digit())?;
    (digits >= 3).then_some(letters + 1 + digits)
}

/// The kind before ` Error:`: one to three words, the first with a capital.
fn kind_of_error(text: &str) -> Option<usize> {
    /// The longest kind, with room.
    const LONGEST: usize = 32;
    let len = run(text, LONGEST, |byte| takes(b'k', byte)).or(Some(LONGEST))?;
    let error = b" Error";
    let words = text.as_bytes().get(..len)?.windows(error.len()).position(|part| part == error)?;
    let kind = text.get(..words)?;
    (kind.starts_with(|first: char| first.is_ascii_uppercase()) && kind.split(' ').count() <= 3)
        .then_some(words)
}

/// A class name: qualified with a capital in its last part, or one word that ends as errors do.
pub(super) fn class(text: &str) -> Option<usize> {
    let (mut len, mut is_marked) = (0, false);
    for byte in text.bytes().take(LONGEST_NAME).take_while(|byte| takes(b'c', *byte)) {
        is_marked |= byte.is_ascii_uppercase() || byte == b'_';
        len += 1;
    }
    if !is_marked {
        return None;
    }
    let name = text.get(..len)?.trim_end_matches([':', '.', '\\', '/']);
    let (bytes, is_separator) = (name.as_bytes(), |byte: &u8| b".:\\$/+".contains(byte));
    let last = name.get(bytes.iter().rposition(is_separator).map_or(0, |at| at + 1)..)?;
    let is_telling = ERROR_ENDINGS.iter().any(|ending| last.ends_with(ending));
    let is_qualified = || last.len() < name.len() && !bytes.windows(2).any(|pair| pair == b"//");
    let is_named = || {
        bytes.first().is_some_and(u8::is_ascii_alphabetic)
            && last.starts_with(|first: char| first.is_ascii_uppercase())
            && last.bytes().any(|byte| byte.is_ascii_lowercase())
    };
    (is_telling || (is_named() && is_qualified())).then_some(name.len())
}

/// How the names of error classes end.
const ERROR_ENDINGS: &[&str] = &[
    "Error",
    "Exception",
    "Violation",
    "_violation",
    "_error",
    "_exception",
    "Fault",
    "Canceled",
    "Timeout",
    "Refused",
    "Failed",
    "Exceeded",
    "Denied",
    "ConnectionBad",
];

/// Up to the next `end`, on the same line and without a quote.
fn gap(text: &str, end: &str) -> Option<usize> {
    for (at, letter) in text.char_indices() {
        if text.get(at..).is_some_and(|rest| rest.starts_with(end)) {
            return Some(at);
        }
        if at > LONGEST_GAP || matches!(letter, '\n' | '"' | '\'' | '`') {
            return None;
        }
    }
    None
}
