//! JSON values as they come: borrowed where possible, order kept, nothing refused that can be read.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number that fits.
    Whole(i64),
    /// Any other number.
    Real(f64),
    /// A string.
    Text(Cow<'a, str>),
    /// An array.
    List(Vec<Json<'a>>),
    /// An object, in the order of the text.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Reads a text. Nesting deeper than 128 is an error, and so is anything after the value.
    ///
    /// Lone surrogates (`"\ud800"`), which JSON in the wild holds but text cannot, become U+FFFD.
    pub fn read(text: &'a str) -> Result<Json<'a>, serde_json::Error> {
        serde_json::from_str(text).or_else(|error| {
            repair_surrogates(text).map_or(Err(error), |text| Ok(Json::read(&text)?.into_owned()))
        })
    }

    /// The value of a member, where this is an object that has one. The last of several counts.
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        match self {
            Json::Object(members) => {
                members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The text, where this is a string.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value, where this is one.
    pub const fn as_bool(&self) -> Option<bool> {
        match self {
            Json::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The whole number, where this is one.
    pub const fn as_whole(&self) -> Option<i64> {
        match self {
            Json::Whole(value) => Some(*value),
            _ => None,
        }
    }

    /// Members of an object; none for anything else.
    pub fn members(&self) -> &[(Cow<'a, str>, Json<'a>)] {
        match self {
            Json::Object(members) => members,
            _ => &[],
        }
    }

    /// Items of an array; none for anything else.
    pub fn items(&self) -> &[Json<'a>] {
        match self {
            Json::List(items) => items,
            _ => &[],
        }
    }

    /// The same value, borrowing nothing.
    pub fn into_owned(self) -> Json<'static> {
        match self {
            Json::Null => Json::Null,
            Json::Bool(value) => Json::Bool(value),
            Json::Whole(value) => Json::Whole(value),
            Json::Real(value) => Json::Real(value),
            Json::Text(text) => Json::Text(Cow::Owned(text.into_owned())),
            Json::List(items) => Json::List(items.into_iter().map(Json::into_owned).collect()),
            Json::Object(members) => Json::Object(
                members
                    .into_iter()
                    .map(|(key, value)| (Cow::Owned(key.into_owned()), value.into_owned()))
                    .collect(),
            ),
        }
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json<'de>, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(Json::Whole(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(i64::try_from(value).map_or(Json::Real(value as f64), Json::Whole))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(Json::Real(value))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(String::from(text))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some(Key(key)) = access.next_key()? {
            members.push((key, access.next_value()?));
        }
        Ok(Json::Object(members))
    }
}

/// An object's key, borrowed where it holds no escape.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key<'de>, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a key")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(String::from(text))))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

/// The parts between the brackets of an array or object, as they stand in its text, and whether that was all there was.
///
/// Only quotes, commas and brackets are looked at: what is wrong inside one part does not reach the others.
pub(crate) fn parts(text: &str, open: char, close: char) -> (Vec<&str>, bool) {
    let mut parts = Vec::new();
    let Some(mut rest) = text.trim_matches(BLANKS).strip_prefix(open) else { return (parts, false) };
    loop {
        let Some((part, behind)) = part_end(rest).and_then(|end| rest.split_at_checked(end)) else {
            return (parts, false);
        };
        if let Some(next) = behind.strip_prefix(',') {
            parts.push(part);
            rest = next;
            continue;
        }
        let end = behind.strip_prefix(close);
        let is_empty = parts.is_empty() && part.trim_matches(BLANKS).is_empty();
        parts.extend(Some(part).filter(|_| end.is_some() && !is_empty));
        return (parts, end == Some(""));
    }
}

/// The name of a member and its value, as they stand in its text.
pub(crate) fn member(part: &str) -> Option<(&str, &str)> {
    let part = part.trim_matches(BLANKS);
    let (name, rest) = part.split_at_checked(string_end(part.as_bytes(), 0)?)?;
    Some((name, rest.trim_start_matches(BLANKS).strip_prefix(':')?))
}

/// White space between JSON's values.
const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// The index of the comma or bracket that ends a part.
fn part_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        match bytes.get(at)? {
            b'"' => {
                at = string_end(bytes, at)?;
                continue;
            }
            b'[' | b'{' => depth += 1,
            b',' | b']' | b'}' if depth == 0 => return Some(at),
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

/// The index behind the string that starts at an index.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    bytes.get(start).filter(|byte| **byte == b'"')?;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The text with every escaped lone surrogate replaced by an escaped U+FFFD; `None` where there is none.
fn repair_surrogates(text: &str) -> Option<String> {
    let mut repaired = String::new();
    let mut kept = 0;
    let mut at = 0;
    let bytes = text.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        if byte != b'\\' {
            at += 1;
            continue;
        }
        match surrogate(bytes, at) {
            Some(unit) if unit < 0xDC00 && surrogate(bytes, at + 6).is_some_and(|low| low >= 0xDC00) => {
                at += 12
            }
            Some(_) => {
                repaired.push_str(text.get(kept..at)?);
                repaired.push_str("\\ufffd");
                at += 6;
                kept = at;
            }
            None => at += 2,
        }
    }
    if kept == 0 {
        return None;
    }
    repaired.push_str(text.get(kept..)?);
    Some(repaired)
}

/// The surrogate that an escape `\uXXXX` at this place stands for.
fn surrogate(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at.checked_add(6)?)?;
    let digits = core::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
    let unit = digits.chars().try_fold(0, |unit, digit| Some(unit * 16 + digit.to_digit(16)?))?;
    (0xD800..0xE000).contains(&unit).then_some(unit)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn lone_surrogates_become_replacement_characters() {
        let read = Json::read(r#"{"a":"\ud800x","b":"\ude00\ud83d\ude00\\ud800"}"#).unwrap();
        assert_eq!(read.get("a").and_then(Json::as_text), Some("\u{fffd}x"));
        assert_eq!(read.get("b").and_then(Json::as_text), Some("\u{fffd}\u{1f600}\\ud800"));
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_stack_overflow() {
        let deep = "[".repeat(100_000);
        assert!(Json::read(&deep).is_err());
    }

    #[test]
    fn parts_are_cut_at_commas_outside_strings_and_brackets() {
        let cut = |text| parts(text, '[', ']');
        assert_eq!(
            cut(r#" [1, {"a": [2, 3]} ,"4, \"]", ] "#),
            (vec!["1", r#" {"a": [2, 3]} "#, r#""4, \"]""#, " "], true)
        );
        assert_eq!(cut("[]"), (vec![], true));
        assert_eq!(cut("[ ]"), (vec![], true));
        for (text, whole) in [
            ("", vec![]),
            ("1", vec![]),
            ("[", vec![]),
            ("[1,\"", vec!["1"]),
            ("[1,[2]", vec!["1"]),
            ("[1,2}3]", vec!["1"]),
        ] {
            assert_eq!(cut(text), (whole, false), "{text}");
        }
        assert_eq!(cut("[1]x"), (vec!["1"], false));
    }

    #[test]
    fn members_are_cut_at_the_colon_behind_their_names() {
        assert_eq!(member(r#" "a:\"b" : {"c": 1} "#), Some((r#""a:\"b""#, r#" {"c": 1}"#)));
        for text in ["", "a: 1", r#""a" 1"#, r#""a"#, r#""a""#] {
            assert_eq!(member(text), None, "{text}");
        }
    }

    #[test]
    fn the_last_of_repeated_members_counts() {
        let read = Json::read(r#"{"a":1,"a":2}"#).unwrap();
        assert_eq!(read.get("a").and_then(Json::as_whole), Some(2));
    }
}
