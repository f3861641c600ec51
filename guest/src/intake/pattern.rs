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
    let mut rest = text;
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '~' => rest = rest.trim_start(),
            '%' => {
                let kind = letters.next()?;
                let len = length(kind, rest, letters.as_str())?;
                let (taken, left) = rest.split_at_checked(len)?;
                match kind {
                    'x' => found.hexadecimal = Some(taken),
                    'r' => found.retries = taken.parse().ok(),
                    _ => found.signs.extend(sign_kind(kind).map(|kind| (kind, taken))),
                }
                rest = left;
            }
            _ => {
                let first = rest.chars().next()?;
                if !first.eq_ignore_ascii_case(&letter) {
                    return None;
                }
                rest = rest.get(first.len_utf8()..)?;
            }
        }
    }
    found.len = text.len() - rest.len();
    Some(found)
}

/// What a capture gives.
const fn sign_kind(kind: char) -> Option<SignKind> {
    match kind {
        'd' | 'z' | 'p' | 'w' | 't' | 'i' | 'o' => Some(SignKind::Code),
        's' => Some(SignKind::SqlState),
        'c' | 'k' => Some(SignKind::Class),
        'g' => Some(SignKind::Grpc),
        'h' => Some(SignKind::Http),
        _ => None,
    }
}

/// Can a capture take this byte?
pub(super) const fn takes(kind: u8, byte: u8) -> bool {
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
fn length(kind: char, text: &str, pattern: &str) -> Option<usize> {
    let run = |most: usize| run(text, most, |byte| takes(kind as u8, byte));
    match kind {
        'd' | 'n' | 'r' => run(9),
        'z' => run(7).filter(|len| *len == 6),
        'h' => run(4).filter(|len| *len == 3),
        'x' => run(8),
        'u' => run(40).filter(|len| *len == 36),
        's' => run(6).filter(|len| *len == 5 && text.bytes().take(*len).any(|byte| byte.is_ascii_digit())),
        'w' => run(80).filter(|len| text.get(..*len).is_some_and(|word| word.contains('_'))),
        't' => run(40),
        'i' | 'a' => run(80),
        'g' => run(24),
        'o' => run(24).filter(|len| *len >= 3),
        'k' => kind_of_error(text),
        'p' => prefixed(text),
        'c' => class(text),
        '*' => gap(text, pattern.split(['~', '%']).next()?),
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
    let words = text.get(..len)?.find(" Error")?;
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
    let mut name = text.get(..len)?;
    while name.ends_with([':', '.', '\\', '/']) {
        len -= 1;
        name = text.get(..len)?;
    }
    let last = name.rsplit(['.', ':', '\\', '$', '/', '+']).next()?;
    let is_qualified = last.len() < name.len() && !name.contains("//") && !name.starts_with('/');
    let is_telling = ERROR_ENDINGS.iter().any(|ending| last.ends_with(ending));
    let is_named = last.starts_with(|first: char| first.is_ascii_uppercase())
        && last.contains(|letter: char| letter.is_ascii_lowercase());
    (is_telling || (is_qualified && is_named && name.starts_with(|first: char| first.is_ascii_alphabetic())))
        .then_some(len)
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
