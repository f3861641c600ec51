//! JSON objects inside texts, also in Python's spelling of dictionaries.

use alloc::string::String;

use crate::json::Json;

/// The longest object that is read out of a text.
const LONGEST: usize = 64 * 1024;

/// The most places that are tried.
const MOST_TRIES: usize = 4;

/// The first object in a text, with what stands before it. `None` where none has an end and a member.
pub(super) fn object_in(text: &str) -> Option<(&str, Json<'_>)> {
    let starts = text.match_indices('{').filter_map(|(start, _)| text.split_at_checked(start));
    let first = |rest: &str| rest.get(1..).and_then(|rest| rest.trim_start().chars().next());
    starts.filter(|(_, rest)| matches!(first(rest), Some('"' | '\''))).take(MOST_TRIES).find_map(
        |(before, rest)| {
            let is_python = first(rest) == Some('\'');
            let span = rest.get(..span(rest, is_python)?)?;
            let json = match is_python {
                true => Json::read(&from_python(span)).ok()?.into_owned(),
                false => Json::read(span).ok()?,
            };
            Some((before, json))
        },
    )
}

/// Where the object at the start of a text ends.
fn span(text: &str, is_python: bool) -> Option<usize> {
    let mut depth = 0usize;
    let mut quote = None;
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().take(LONGEST) {
        match (quote, byte) {
            _ if is_escaped => is_escaped = false,
            (Some(_), b'\\') => is_escaped = true,
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"') => quote = Some(byte),
            (None, b'\'') if is_python => quote = Some(byte),
            (None, b'{' | b'[') => depth += 1,
            (None, b'}' | b']') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            (None, _) => {}
        }
    }
    None
}

/// A dictionary in Python's spelling as JSON: quotes, `True`, `False` and `None`.
fn from_python(text: &str) -> String {
    let mut json = String::with_capacity(text.len());
    let mut quote = None;
    let mut letters = text.chars().peekable();
    let mut word = String::new();
    while let Some(letter) = letters.next() {
        match quote {
            Some(open) => match letter {
                '\\' if letters.peek() == Some(&'\'') => json.extend(letters.next()),
                '\\' => {
                    json.push('\\');
                    json.extend(letters.next());
                }
                '"' if open == '\'' => json.push_str("\\\""),
                _ if letter == open => {
                    json.push('"');
                    quote = None;
                }
                _ => json.push(letter),
            },
            None if letter.is_ascii_alphabetic() => word.push(letter),
            None => {
                push_word(&mut json, &mut word);
                if matches!(letter, '"' | '\'') {
                    quote = Some(letter);
                    json.push('"');
                } else {
                    json.push(letter);
                }
            }
        }
    }
    push_word(&mut json, &mut word);
    json
}

/// Puts a bare word in JSON's spelling.
fn push_word(json: &mut String, word: &mut String) {
    json.push_str(match word.as_str() {
        "True" => "true",
        "False" => "false",
        "None" => "null",
        other => other,
    });
    word.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_behind_a_prefix_and_in_python_s_spelling() {
        let (before, json) = object_in(r#"b'{"error":{"code":5}}\n'"#).unwrap();
        assert_eq!(
            (before, json.get("error").and_then(|error| error.get("code"))),
            ("b'", Some(&Json::Whole(5)))
        );
        let (_, json) =
            object_in(r#"full error: {'code': 11000, 'ok': True, 'errmsg': 'it\'s "x"'}"#).unwrap();
        assert_eq!(json.get("code"), Some(&Json::Whole(11000)));
        assert_eq!(json.get("errmsg").and_then(Json::as_text), Some("it's \"x\""));
    }

    #[test]
    fn what_has_no_end_or_no_member_is_no_object() {
        for text in ["{", "{}", "{'a': ", "x } y", "[1, 2]", "{not json}"] {
            assert_eq!(object_in(text), None, "{text}");
        }
    }
}
