//! Numbers and texts without words: addresses, UUIDs, hashes, cards, accounts, telephone numbers.

use super::finding::Kind;
use crate::signs::holds;

/// Is the text a date, a time of day or both, as logs print them: `2024-05-01`, `12:30:45.123`, `2024-05-01T12:30:45+02:00`?
pub(super) fn is_moment(text: &[u8]) -> bool {
    let time = match after(text, b"0000-00-00") {
        Some([]) => return matches!(text, [b'1' | b'2', _, _, _, _, b'0' | b'1', _, _, b'0'..=b'3', _]),
        Some([b'T', time @ ..]) => time,
        Some(_) => return false,
        None => text,
    };
    let Some(rest) = after(time, b"00:00:00") else {
        return false;
    };
    let fraction = match rest {
        [b'.', digits @ ..] => 1 + digits.iter().take_while(|byte| byte.is_ascii_digit()).count(),
        _ => 0,
    };
    let zone = rest.get(fraction..).unwrap_or_default();
    matches!(zone, [] | [b'Z'])
        || matches!(zone, [b'+' | b'-', zone @ ..] if after(zone, b"00:00") == Some(&[]))
}

/// What follows a pattern in which `0` stands for any digit.
fn after<'t>(text: &'t [u8], pattern: &[u8]) -> Option<&'t [u8]> {
    let (head, rest) = text.split_at_checked(pattern.len())?;
    let fits = |(byte, sign): (&u8, &u8)| if *sign == b'0' { byte.is_ascii_digit() } else { byte == sign };
    head.iter().zip(pattern).all(fits).then_some(rest)
}

/// The length of an IPv4 address, with its port, that the text starts with.
pub(super) fn ipv4(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    for part in 0..4 {
        let digits = bytes.iter().skip(at).take(4).take_while(|byte| byte.is_ascii_digit()).count();
        let number: u32 = text.get(at..at + digits)?.parse().ok()?;
        if digits > 3 || number > 255 {
            return None;
        }
        at += digits;
        if part < 3 {
            (bytes.get(at) == Some(&b'.')).then_some(())?;
            at += 1;
        }
    }
    match bytes.get(at) {
        // A version of more than four parts, or a word: no address.
        Some(byte) if byte.is_ascii_alphanumeric() || *byte == b'_' => None,
        Some(b'.') if bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric) => None,
        Some(b'-') if bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic) => None,
        Some(b':' | b'/') => {
            let digits = bytes.iter().skip(at + 1).take_while(|byte| byte.is_ascii_digit()).count();
            Some(if digits > 0 { at + 1 + digits } else { at })
        }
        _ => Some(at),
    }
}

/// The length of an IPv6 address that the text starts with: at least two colons, groups of up to four hexadecimal digits,
/// a double colon or all eight groups.
pub(super) fn ipv6(text: &str) -> Option<usize> {
    let is_short = text.bytes().filter(|byte| *byte == b':').count() < 7;
    if is_short && !text.as_bytes().windows(2).any(|pair| pair == b"::") {
        return None;
    }
    let end = text
        .bytes()
        .position(|byte| !(byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.')))
        .unwrap_or(text.len());
    let address = text.get(..end)?.trim_end_matches(['.', ':']);
    let groups = address.split(':');
    let (mut count, mut empty, mut has_digit) = (0, 0, false);
    for (index, group) in groups.enumerate() {
        let is_ipv4 = group.contains('.') && ipv4(group).is_some();
        // The last group may be a port.
        let is_port =
            (index > 6 || empty > 0) && group.len() == 5 && group.bytes().all(|byte| byte.is_ascii_digit());
        let is_group = group.len() <= 4 || is_ipv4 || is_port;
        if !is_group {
            return None;
        }
        if group.contains('.') && !is_ipv4 {
            return None;
        }
        count += 1;
        empty += usize::from(group.is_empty());
        has_digit |= group.bytes().any(|byte| byte.is_ascii_digit());
    }
    let is_next_word =
        text.as_bytes().get(end).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    // A time of day has three groups and no double colon.
    let is_address = (holds(address, "::") && empty <= 3 && (has_digit || count > 3)) || count == 8;
    (count > 2 && is_address && !is_next_word).then_some(address.len())
}

/// What a chunk without words is, and how much of it. `rest` is the text from the chunk on: numbers can be written in groups.
pub(super) fn recognise(chunk: &str, rest: &str) -> Option<(Kind, usize)> {
    let bytes = chunk.as_bytes();
    if !bytes.iter().any(u8::is_ascii_digit) {
        return None;
    }
    if let Some(length) = uuid(bytes) {
        return Some((Kind::Identifier, length));
    }
    if let Some(length) = iban(rest) {
        return Some((Kind::Number, length));
    }
    if let Some(length) = card(rest) {
        return Some((Kind::Number, length));
    }
    if bytes.len() < 11 {
        return None;
    }
    if matches!(bytes, [a, b, c, b'-', d, e, b'-', f, g, h, i, ..] if [a, b, c, d, e, f, g, h, i].iter().all(|byte| byte.is_ascii_digit()))
        && bytes.len() == 11
    {
        return Some((Kind::Number, 11));
    }
    let groups = bytes.split(|byte| *byte == b'-').map(<[u8]>::len);
    if groups.eq([3, 3, 4]) && bytes.iter().filter(|byte| byte.is_ascii_digit()).count() == 10 {
        return Some((Kind::Number, bytes.len()));
    }
    let word = bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let text = chunk.get(..word)?;
    let hex = text.strip_prefix("0x").unwrap_or(text);
    let is_hex = hex.len() >= 16 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex && (hex.bytes().any(|byte| byte.is_ascii_alphabetic()) || hex.len() >= 20) {
        return Some((Kind::Identifier, word));
    }
    if mac(bytes) {
        return Some((Kind::Identifier, 17));
    }
    random(bytes).map(|length| (Kind::Token, length))
}

/// The length of a telephone number behind its `+`: eight to fifteen digits in groups.
pub(super) fn phone(bytes: &[u8]) -> Option<usize> {
    let (mut digits, mut end) = (0, 0);
    for (index, byte) in bytes.iter().enumerate().take(24) {
        match byte {
            byte if byte.is_ascii_digit() => (digits, end) = (digits + 1, index + 1),
            b' ' | b'-' | b'(' | b')' | b'.' | b'/' if index > 0 && index < end + 2 => {}
            byte if byte.is_ascii_alphabetic() && index == end => return None,
            _ => break,
        }
    }
    ((8..=15).contains(&digits) && bytes.first() != Some(&b'0')).then_some(end)
}

fn uuid(bytes: &[u8]) -> Option<usize> {
    if bytes.len() < 20 {
        return None;
    }
    let mut lengths = [0_usize; 5];
    let mut total = 0;
    for (slot, group) in lengths.iter_mut().zip(bytes.split(|byte| *byte == b'-')) {
        *slot = group.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        total += *slot;
    }
    // Groups of hexadecimal digits; a truncated or invented one with letters counts when most of it is hexadecimal.
    let hex = bytes.iter().take(36).filter(|byte| byte.is_ascii_hexdigit()).count();
    (lengths.starts_with(&[8, 4, 4, 4]) && hex >= 24 && total >= 20)
        .then_some(24 + lengths.last().copied().unwrap_or(0))
        .or_else(|| {
            (lengths.starts_with(&[8])
                && bytes.len() >= 32
                && hex >= 26
                && bytes.iter().filter(|byte| **byte == b'-').count() >= 4)
                .then_some(bytes.len())
        })
}

fn mac(bytes: &[u8]) -> bool {
    bytes.len() == 17
        && bytes.iter().enumerate().all(|(index, byte)| {
            if index % 3 == 2 { matches!(byte, b':' | b'-') } else { byte.is_ascii_hexdigit() }
        })
}

/// An international bank account number, in groups or not, whose checksum is right.
fn iban(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let [a, b, c, d, ..] = bytes else {
        return None;
    };
    if !(a.is_ascii_uppercase() && b.is_ascii_uppercase() && c.is_ascii_digit() && d.is_ascii_digit()) {
        return None;
    }
    let mut symbols = [0_u8; 34];
    let (mut count, mut end) = (0, 0);
    for (index, byte) in bytes.iter().enumerate().take(42) {
        match byte {
            b' ' if index >= 4 && count % 4 == 0 => {}
            byte if byte.is_ascii_digit() || byte.is_ascii_uppercase() => {
                *symbols.get_mut(count)? = *byte;
                count += 1;
                end = index + 1;
            }
            _ => break,
        }
    }
    let symbols = symbols.get(..count)?;
    let (head, body) = symbols.split_at_checked(4)?;
    let remainder = body.iter().chain(head).fold(0_u32, |sum, byte| match byte {
        b'0'..=b'9' => (sum * 10 + u32::from(byte - b'0')) % 97,
        _ => (sum * 100 + u32::from(byte - b'A') + 10) % 97,
    });
    (count >= 15 && remainder == 1).then_some(end)
}

/// A card's number, in groups or not, whose checksum is right.
fn card(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    if !matches!(bytes.first(), Some(b'2'..=b'6')) {
        return None;
    }
    let mut digits = [0_u8; 20];
    let (mut count, mut end, mut separators) = (0, 0, 0);
    for (index, byte) in bytes.iter().enumerate().take(26) {
        match byte {
            b' ' | b'-'
                if count > 0 && end == index && bytes.get(index + 1).is_some_and(u8::is_ascii_digit) =>
            {
                separators += 1
            }
            byte if byte.is_ascii_digit() => {
                *digits.get_mut(count)? = byte - b'0';
                count += 1;
                end = index + 1;
            }
            byte if byte.is_ascii_alphabetic() || *byte == b'_' => return None,
            _ => break,
        }
    }
    if !((13..=19).contains(&count) && matches!(separators, 0 | 2 | 3 | 4)) {
        return None;
    }
    let sum: u32 = digits
        .get(..count)?
        .iter()
        .rev()
        .enumerate()
        .map(|(index, digit)| match (index % 2, u32::from(*digit)) {
            (0, digit) => digit,
            (_, digit) => {
                if digit > 4 {
                    digit * 2 - 9
                } else {
                    digit * 2
                }
            }
        })
        .sum();
    sum.is_multiple_of(10).then_some(end)
}

/// A random text: long, with capitals, small letters or many digits in turns, as no word or name has.
fn random(bytes: &[u8]) -> Option<usize> {
    let length = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-'))
        .count();
    let text = bytes.get(..length)?;
    if length < 20 {
        return None;
    }
    let class = |byte: u8| match byte {
        b'0'..=b'9' => 1,
        b'A'..=b'Z' => 2,
        b'a'..=b'z' => 3,
        _ => 0,
    };
    let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
    let joints = text.iter().filter(|byte| matches!(byte, b'_' | b'-' | b'/')).count();
    let runs = text.windows(2).filter(|pair| matches!(pair, [a, b] if class(*a) == 1 && class(*b) > 1 || class(*a) > 1 && class(*b) == 1)).count();
    (digits >= 4 && runs >= 6 && joints <= 2 && digits * 8 >= length).then_some(length)
}
