//! A message → its codes, and where the server's own words begin.
//!
//! From the start, known forms and prefixes are taken off one by one. Where an unknown prefix stands before the
//! first form (`update /x: Error 1205: …`), the form is looked for up to the first quote: what stands behind a
//! quote can be a row's value, and so can a further line that nothing announces, so a form found there is only
//! [`Place::Inside`]. Behind an unknown prefix a code in its form is believed ([`Place::Sought`]), words alone are not.

use alloc::string::String;
use alloc::vec::Vec;

use super::forms;
use super::pattern::{self, Match};
use super::{Place, SignKind, Span, Text};
use crate::letters::is_letter;
use crate::signs::{Signs, find, find_last};

/// The longest text that is worked on: beyond it only head and tail are kept.
const LONGEST: usize = 64 * 1024;

/// How much of the tail is kept of a longer text.
const TAIL: usize = 8 * 1024;

/// How far behind an unknown prefix a form is looked for.
const SEEK: usize = 2048;

/// The most forms and prefixes taken off one text.
const MOST_FORMS: usize = 24;

/// Can a row's value begin behind the character?
fn is_quote(letter: char) -> bool {
    matches!(letter, '"' | '\'' | '`' | '«' | '»' | '„' | '“' | '”' | '‘' | '’' | '「' | '『')
}

/// A text cut to what is worked on: head and tail.
pub(super) fn cut(text: &str) -> String {
    if text.len() <= LONGEST {
        return String::from(text);
    }
    let head = text.floor_char_boundary(LONGEST - TAIL);
    let tail = text.floor_char_boundary(text.len() - TAIL);
    let mut kept = String::from(text.get(..head).unwrap_or_default());
    kept.push('\n');
    kept.push_str(text.get(tail..).unwrap_or_default());
    kept
}

/// What begins the part that wrappers put behind a server's words.
static APPENDED: Signs = Signs::new(&[
    " ### ",
    " 'DELETE ",
    " 'INSERT ",
    " 'SELECT ",
    " 'UPDATE ",
    " (Background on this error at: ",
    " (CallerID: ",
    " (Connection: ",
    " (SQL: ",
    " (SQLSTATE ",
    " (caused by statement ",
    " (errno ",
    " Detail: ",
    " Hint: ",
    " Location: ",
    " Position: ",
    " [ SQL",
    " [SQL: ",
    " [for Statement ",
    "')",
    "',)",
    ", query was: ",
    "; SQL [",
    "\")",
    "\\n",
    "] [",
]);

/// The lines at some places, in the text's order, each without what wrappers put behind it.
fn cores(whole: &str, starts: &[(usize, Place)]) -> Vec<Span> {
    let mut spans = Vec::with_capacity(starts.len());
    let mut end = None;
    for &(start, place) in starts {
        // Places on one line have one end.
        let here = end.filter(|end| start <= *end).unwrap_or_else(|| end_of_core(whole, start));
        let core = whole.get(start..here).unwrap_or_default();
        spans.push(Span { start, end: start + core.trim_end().len(), place });
        end = Some(here);
    }
    spans
}

/// Where the line at a place ends, or what wrappers put behind it begins.
fn end_of_core(whole: &str, start: usize) -> usize {
    let line = whole.get(start..).unwrap_or_default().lines().next().unwrap_or_default().as_bytes();
    start + APPENDED.first(line).unwrap_or(line.len())
}

/// Where the name of a violated unique constraint stands: how the message begins, what the name follows (the last
/// one of these, since a row's value can stand before it), and what ends the name.
const CONSTRAINTS: &[(&str, &str, char)] = &[
    ("duplicate key value", " violates unique constraint \"", '"'),
    ("Duplicate entry '", "' for key '", '\''),
    ("UNIQUE constraint failed: ", "UNIQUE constraint failed: ", '\n'),
    ("Violation of UNIQUE KEY constraint '", "Violation of UNIQUE KEY constraint '", '\''),
    ("Violation of PRIMARY KEY constraint '", "Violation of PRIMARY KEY constraint '", '\''),
    ("Cannot insert duplicate key row in object '", "' with unique index '", '\''),
    ("unique constraint (", "unique constraint (", ')'),
    ("ORA-00001: unique constraint (", "ORA-00001: unique constraint (", ')'),
];

/// The name of the unique constraint that a message says was violated.
pub(super) fn constraint(core: &str) -> Option<&str> {
    let line = core;
    let (_, before, end) = CONSTRAINTS.iter().find(|(start, ..)| line.starts_with(start))?;
    let name = line.get(find_last(line, before)? + before.len()..)?;
    Some(name.split(*end).next().unwrap_or(name))
}

/// Reads a text: every form goes to `note`, and the starts of the server's own words are kept.
pub(super) fn read(text: &str, mut note: impl FnMut(&Match<'_>, Place)) -> Text {
    let whole = cut(text);
    let mut starts = Vec::new();
    let mut place = Place::Form;
    let mut at = blanks(&whole, message_of_log(&whole));
    let mut taken = 0;
    let mut is_first = true;
    let mut has_code = false;
    starts.push((at, place));
    loop {
        let rest = whole.get(at..).unwrap_or_default();
        match forms::leading(rest, is_first).filter(|_| taken < MOST_FORMS) {
            Some(found) if found.len > 0 => {
                note(&found, place);
                let is_code = |kind| matches!(kind, SignKind::Code | SignKind::SqlState);
                has_code |= place != Place::Inside && found.signs.iter().any(|(kind, _)| is_code(*kind));
                is_first &= found.signs.iter().all(|(kind, _)| *kind == SignKind::Class);
                at = blanks(&whole, at.saturating_add(found.len));
                taken += 1;
                if place != Place::Inside {
                    starts.push((at, place));
                }
            }
            _ if taken >= MOST_FORMS => break,
            _ => match seek(&whole, at, has_code) {
                Some((next, is_behind_quote)) => {
                    place = place.min(if is_behind_quote { Place::Inside } else { Place::Sought });
                    at = next;
                    taken += 1;
                }
                None => break,
            },
        }
    }
    read_end(&whole, &starts, &mut note);
    starts.dedup_by_key(|(start, _)| *start);
    let spans = cores(&whole, &starts);
    Text { whole, spans }
}

/// Where the message of a line in logfmt begins (`time="…" level=error msg="…`); 0 where the text is none.
fn message_of_log(text: &str) -> usize {
    const STARTS: &[&str] = &["time=", "ts=", "t=", "level=", "timestamp="];
    const MESSAGES: &[&str] = &[" msg=\"", " message=\"", " err=\"", " error=\""];
    if !STARTS.iter().any(|start| text.starts_with(start)) {
        return 0;
    }
    let begins = MESSAGES.iter().filter_map(|words| Some(find(text, words)? + words.len()));
    begins.min().unwrap_or(0)
}

/// The trailing form at the end of the line on which the server's own words begin.
fn read_end(whole: &str, starts: &[(usize, Place)], note: &mut impl FnMut(&Match<'_>, Place)) {
    let Some(core) = starts.last().and_then(|(start, _)| whole.get(*start..)) else { return };
    let line = core.lines().next().unwrap_or_default();
    let ends = line.bytes().enumerate().rev().filter(|(_, byte)| matches!(byte, b' ' | b'.'));
    let mut forms = ends.filter_map(|(at, _)| line.get(at..).and_then(forms::trailing));
    if let Some(found) = forms.next() {
        note(&found, Place::Form);
    }
}

/// The next place behind `from` where a telling form stands, and whether a quote stands before it.
///
/// A print of values (`Class('…', {'host': Class('…')})`) escapes its strings: there only what stands inside a
/// string stands behind a quote. `stops_at_quote`: what stands behind a quote is of no interest.
fn seek(whole: &str, from: usize, stops_at_quote: bool) -> Option<(usize, bool)> {
    let rest = whole.get(from..)?;
    let mut open = open_string(whole.get(..from)?);
    let mut is_print = open.is_some();
    let mut is_behind_quote = false;
    let mut is_escaped = false;
    let mut is_astray = false;
    let mut astray = None;
    let mut before = ' ';
    let mut last = whole.get(..from)?.trim_end().chars().next_back().unwrap_or(':');
    let mut is_separate = is_separator(last);
    let mut at = 0;
    while let Some(letter) = rest.get(at..).and_then(|rest| rest.chars().next()) {
        if at > SEEK || (stops_at_quote && is_behind_quote) {
            break;
        }
        let is_start = at > 0 && !is_letter(before) && before != '_' && before != '.';
        if is_start && rest.get(at..).is_some_and(|rest| forms::is_telling(rest, is_separate)) {
            match is_astray {
                true => astray = astray.or(Some((from + at, true))),
                false => return Some((from + at, is_behind_quote || open.is_some())),
            }
        }
        if letter == '\n' {
            is_astray = !is_introduced(last, whole.get(from + at + 1..).unwrap_or_default());
        }
        let is_bracket = matches!(letter, '(' | '[' | '{');
        is_print |= is_bracket && !is_behind_quote && rest.get(at..).is_some_and(begins_print);
        match open {
            _ if is_escaped => is_escaped = false,
            Some(_) if letter == '\\' => is_escaped = true,
            Some(quote) if quote == letter => open = None,
            None if is_print && matches!(letter, '"' | '\'') => open = Some(letter),
            None if !is_print => is_behind_quote |= is_quote(letter),
            _ => {}
        }
        before = letter;
        last = if letter.is_whitespace() { last } else { letter };
        is_separate = is_separator(letter) || (is_separate && letter.is_whitespace());
        // Inside a word nothing begins.
        let word = rest.bytes().skip(at).take_while(is_part_of_word).count();
        at += word.max(letter.len_utf8());
    }
    astray
}

fn is_part_of_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}

/// Does a line belong to what stands above it: announced by that one's last mark, indented, or begun as lines of stacks
/// are? Else it can be another line of a value that the text begins with.
fn is_introduced(last: char, line: &str) -> bool {
    let is_stack = |found: Match<'_>| found.signs.iter().any(|(_, class)| class.contains(['.', ':', '\\']));
    line.starts_with([' ', '\t', '\n', '\r'])
        || matches!(last, ':' | '-' | '=' | '>' | '*')
        || pattern::take("%c", line).is_some_and(is_stack)
}

/// Does a message of its own begin behind a character?
fn is_separator(letter: char) -> bool {
    matches!(letter, ':' | ';' | '.' | '-' | '>' | '|' | '\n' | '(' | ')' | '[' | ']' | '{' | '}')
        || is_quote(letter)
}

/// The quote of the string that a print of values has just opened: `('`, `{"`.
fn open_string(before: &str) -> Option<char> {
    let mut letters = before.chars().rev();
    let quote = letters.next().filter(|last| matches!(last, '"' | '\''))?;
    letters.next().filter(|bracket| matches!(bracket, '(' | '[' | '{')).map(|_| quote)
}

/// Does a print of values begin here: a bracket with a quote or a bracket behind it?
fn begins_print(text: &str) -> bool {
    let inside = text.strip_prefix(['(', '[', '{']);
    inside.is_some_and(|rest| rest.starts_with(['\'', '"', '(', '[', '{']))
}

/// The first place at or behind `at` that holds no blank.
fn blanks(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    text.len() - rest.trim_start().len()
}

/// Does JSON behind this beginning belong to the message, and not to a value that it quotes? It stands alone, or
/// behind punctuation and without a quote before it.
pub(super) fn introduces_json(before: &str) -> bool {
    let before = before.trim_end();
    before.is_empty()
        || before == "b'"
        || (before.ends_with([':', '>', '=', '-', ']', '\n']) && !has_quote(before))
}

/// Does a text hold a quote, behind which a row's value can begin?
fn has_quote(text: &str) -> bool {
    text.strip_prefix('b').unwrap_or(text).trim_start_matches(is_quote).contains(is_quote)
}
