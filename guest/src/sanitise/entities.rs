//! Character references of HTML: a text with them is scanned decoded.

use alloc::string::String;
use alloc::vec::Vec;

use crate::signs::Signs;

/// References by name, with what they stand for.
const NAMED: &[(&str, char)] =
    &[("&amp;", '&'), ("&apos;", '\''), ("&gt;", '>'), ("&lt;", '<'), ("&quot;", '"')];

/// Starts of references.
static STARTS: Signs = Signs::new(&["&#", "&amp;", "&apos;", "&gt;", "&lt;", "&quot;"]);

/// The longest reference by number: `&#x10ffff;`.
const LONGEST: usize = 10;

/// The text without references, and for each of its bytes (and for its end) where it comes from; `None` where the text
/// has no reference.
pub(super) fn decode(text: &str) -> Option<(String, Vec<u32>)> {
    let bytes = text.as_bytes();
    if !bytes.contains(&b'&') || STARTS.first(bytes).is_none() {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    let mut origins = Vec::with_capacity(text.len() + 1);
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let (character, length) =
            reference(bytes.get(at..).unwrap_or_default()).unwrap_or((next, next.len_utf8()));
        plain.push(character);
        origins.resize(plain.len(), at as u32);
        at += length;
    }
    origins.push(text.len() as u32);
    Some((plain, origins))
}

/// The character that a reference at the start stands for, and the reference's length.
fn reference(bytes: &[u8]) -> Option<(char, usize)> {
    if bytes.first() != Some(&b'&') {
        return None;
    }
    if let Some((name, character)) = NAMED.iter().find(|(name, _)| bytes.starts_with(name.as_bytes())) {
        return Some((*character, name.len()));
    }
    let window = bytes.get(..bytes.len().min(LONGEST))?;
    let end = window.iter().position(|byte| *byte == b';')?;
    let digits = |from: usize| window.get(from..end).and_then(|digits| str::from_utf8(digits).ok());
    let number = match window {
        [b'&', b'#', b'x' | b'X', ..] => u32::from_str_radix(digits(3)?, 16),
        [b'&', b'#', ..] => digits(2)?.parse(),
        _ => return None,
    };
    Some((char::from_u32(number.ok()?)?, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_by_name_and_number_are_decoded_with_their_places() {
        let (plain, origins) = decode("a&quot;b&#61;c&#x3d;&d;").expect("references");
        assert_eq!(plain, "a\"b=c=&d;");
        assert_eq!(origins, [0, 1, 7, 8, 13, 14, 20, 21, 22, 23]);
    }

    #[test]
    fn texts_without_references_are_none() {
        assert_eq!(["", "a & b", "a&b=c", "R&D;"].map(decode), [None, None, None, None]);
    }
}
