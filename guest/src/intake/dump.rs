//! Debug prints of structures (Rust, Haskell, Go's `%#v`, Node's inspect): fields outside of quotes.
//!
//! Such a print escapes its strings, so what stands outside of them is the program's and not a row's.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::json::Json;
use crate::letters::is_letter;

/// The most fields that are read.
const MOST_FIELDS: usize = 64;

/// How far a print is read.
const LONGEST: usize = 16 * 1024;

/// The fields of a debug print as an object, nesting ignored; of fields with one name the first. `None` where the
/// text does not begin as a print, with a name and a bracket.
pub(super) fn fields_in(text: &str) -> Option<Json<'_>> {
    let text = text.trim_start().trim_start_matches(['&', '*']);
    let name = text.find(|letter: char| !(is_letter(letter) || "_.:'".contains(letter)))?;
    let rest = text.get(name..)?.trim_start();
    let starts = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '{');
    if !starts || !rest.starts_with(['{', '(']) || rest.starts_with("()") {
        return None;
    }
    let mut members: Vec<(Cow<'_, str>, Json<'_>)> = Vec::new();
    let mut scan = Scan { text, at: name };
    while let Some((key, value)) = scan.field().filter(|_| members.len() < MOST_FIELDS) {
        if !members.iter().any(|(known, _)| known == key) {
            members.push((Cow::Borrowed(key), Json::Text(Cow::Borrowed(value))));
        }
    }
    (!members.is_empty()).then_some(Json::Object(members))
}

/// A scan through a print.
struct Scan<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scan<'t> {
    /// The next field: a word, then `:`, `=` or `=>`, then a string, a number or a word, however many
    /// constructors stand around it.
    fn field(&mut self) -> Option<(&'t str, &'t str)> {
        while self.at < self.text.len().min(LONGEST) {
            if let Some(string) = self.string() {
                self.at = string.1;
                continue;
            }
            let Some(word) = self.word() else {
                self.skip();
                continue;
            };
            let end = self.at;
            self.blanks();
            let separator = ["=>", ":", "="].iter().find(|mark| self.rest().starts_with(**mark));
            if let Some(mark) = separator.filter(|_| !self.rest().starts_with("::")) {
                self.at += mark.len();
                if let Some(value) = self.value() {
                    return Some((word, value));
                }
            } else {
                self.at = self.at.max(end);
            }
        }
        None
    }

    /// A value: a string, or the innermost word behind constructors such as `Some(` and `SqlState(`.
    fn value(&mut self) -> Option<&'t str> {
        let mut last = None;
        for _ in 0..6 {
            self.blanks();
            if let Some((string, end)) = self.string() {
                self.at = end;
                return Some(string);
            }
            if self.rest().starts_with('(') {
                self.at += 1;
                continue;
            }
            match self.word() {
                Some(word) => last = Some(word),
                None => return last,
            }
            if !self.rest().starts_with(['(', ' ']) {
                return last;
            }
        }
        last
    }

    /// The string at this place, and where it ends.
    fn string(&self) -> Option<(&'t str, usize)> {
        let rest = self.rest();
        let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''))?;
        let mut is_escaped = false;
        for (at, letter) in rest.char_indices().skip(1) {
            match letter {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                _ if letter == quote => return Some((rest.get(1..at)?, self.at + at + 1)),
                _ => {}
            }
        }
        None
    }

    /// The word at this place.
    fn word(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_$.-'".contains(letter);
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let word = rest.get(..end).filter(|word| !word.is_empty())?;
        self.at += end;
        Some(word)
    }

    /// Goes past blanks.
    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Goes past one character.
    fn skip(&mut self) {
        self.at += self.rest().chars().next().map_or(1, char::len_utf8);
    }

    /// What is left.
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One field of a print.
    fn field(text: &str, name: &str) -> Option<alloc::string::String> {
        fields_in(text)?.get(name).and_then(Json::as_text).map(alloc::string::String::from)
    }

    #[test]
    fn fields_of_every_language_s_print_are_read() {
        for (text, name, value) in [
            (
                r#"Database(PgDatabaseError { severity: Error, code: "23505", message: "x" })"#,
                "code",
                "23505",
            ),
            (
                r#"Error { kind: Db, cause: Some(DbError { code: SqlState(E23505), detail: None }) }"#,
                "code",
                "E23505",
            ),
            (r#"&pq.Error{Severity:"ERROR", Code:"23505", Message:"x"}"#, "Code", "23505"),
            (
                r#"ServiceError (ServiceError' {_code = ErrorCode "Throttled", _status = 400})"#,
                "_code",
                "Throttled",
            ),
            (r#"MySqlError { ERROR 1062 (23000): x, code: 1062 }"#, "code", "1062"),
        ] {
            assert_eq!(field(text, name).as_deref(), Some(value), "{text}");
        }
    }

    #[test]
    fn what_stands_in_a_string_is_no_field_and_a_sentence_is_no_print() {
        let print = r#"DbError { message: "x\", code: \"40001\"", code: "23505" }"#;
        assert_eq!(field(print, "code").as_deref(), Some("23505"));
        assert_eq!(fields_in("could not do it: Foo { code: 40001 }"), None);
        assert_eq!(fields_in("{\"code\": 1"), None);
    }

    #[test]
    fn no_input_makes_the_scan_fail() {
        for text in ["a{", "a(b:", "é{ü: ö", "a{b:\"", "a{b: Some(((((((((((c", "a{'"] {
            fields_in(text);
        }
    }
}
