//! Statements inside texts: where one starts and how far it may go.

use super::dialect::Dialect;
use super::finding::Kind;
use super::lexer::{self, Lexer};
use super::scan::Scanner;
use super::vocabulary::is_vocabulary;
use crate::lookup::{Words, words};
use crate::signs::{Signs, find};

/// How much of a text is looked at to see whether it is a statement, in bytes.
const WINDOW: usize = 600;

/// What may follow `CREATE`, `ALTER`, `DROP` and `TRUNCATE`.
const OBJECTS: &[&str] = &[
    "TABLE",
    "INDEX",
    "VIEW",
    "USER",
    "ROLE",
    "DATABASE",
    "SCHEMA",
    "FUNCTION",
    "PROCEDURE",
    "TRIGGER",
    "SEQUENCE",
    "EXTENSION",
    "TYPE",
    "LOGIN",
    "UNIQUE",
    "OR",
    "TEMP",
    "TEMPORARY",
    "MATERIALIZED",
    "SERVER",
    "SECRET",
    "SUBSCRIPTION",
    "PUBLICATION",
    "KEYSPACE",
    "COLUMN",
    "CLUSTERED",
    "NONCLUSTERED",
    "EXTERNAL",
    "GLOBAL",
    "VIRTUAL",
    "POLICY",
    "DICTIONARY",
    "STAGE",
    "CONNECTION",
    "FOREIGN",
    "PUBLIC",
    "CREDENTIAL",
    "SYSTEM",
    "IF",
    "SYNONYM",
    "PACKAGE",
    "DOMAIN",
    "STREAM",
    "TASK",
];

/// Words that start a statement, with the number of tokens that tell whether one follows.
#[rustfmt::skip]
static VERBS: Words<u8> = words!(u8, &[
    ("SELECT", 80), ("UPDATE", 80), ("COPY", 80), ("GRANT", 12), ("REVOKE", 12), ("INSERT", 4), ("REPLACE", 4), ("MERGE", 4),
    ("UPSERT", 4), ("WITH", 4), ("SET", 4), ("DELETE", 3), ("CREATE", 3), ("ALTER", 3), ("DROP", 3), ("TRUNCATE", 3), ("CALL", 3),
    ("EXEC", 3), ("EXECUTE", 3), ("ATTACH", 2), ("DECLARE", 2), ("IDENTIFIED", 2), ("EXPLAIN", 1), ("BEGIN", 1), ("SHOW", 1),
    ("PRAGMA", 1), ("USE", 1), ("LOCK", 1), ("VALUES", 1),
]);

/// Words that stand in front of a statement.
const PREFIXES: &[&str] = &["EXPLAIN", "BEGIN"];

/// Where a message goes on behind a statement, if not inside one of its literals.
static BOUNDARIES: Signs = Signs::new(&[
    "\n\tat ",
    "\n         ^",
    "\n    at ",
    "\n  File ",
    "\n  Position",
    "\n#",
    "\nBindings",
    "\nCONTEXT",
    "\nDETAIL",
    "\nERREUR",
    "\nERROR",
    "\nError Code",
    "\nFEHLER",
    "\nHINT",
    "\nLocation",
    "\nPL/pgSQL",
    "\nPosition",
    "\nStatement",
    "\nTraceback",
    "### Cause",
    "### The error",
    "(Background on this error",
    ") (SQLSTATE",
    ", BindVars",
    ". (CANNOT_",
    ". (ILLEGAL_",
    ". (NO_SUCH",
    ". (SYNTAX_",
    ". (TYPE_",
    ". (UNKNOWN_",
    "; nested exception",
    "[parameters:",
    "[params:",
    "] [parameters",
    "]; nested exception",
]);

/// A word that can start a statement stands at `start`.
pub(super) fn verb(scanner: &mut Scanner, start: usize) -> bool {
    // "could not create unique index": prose about a statement.
    let before = scanner.slice(0, start).trim_end_matches(' ');
    let is_prose = scanner.byte(start).is_ascii_lowercase()
        && ["not", "to", "cannot", "can't", "the", "a"].iter().any(|word| before.ends_with(word));
    if is_prose || !is_statement(scanner.rest(start)) {
        return false;
    }
    let open =
        start.checked_sub(1).filter(|at| matches!(scanner.byte(*at), b'"' | b'\'' | b'`')).unwrap_or(start);
    let until = end(scanner, open, start);
    scanner.found(Kind::Sql, start, until);
    true
}

/// A comment, or a command of the MongoDB shell, at `start` that a statement follows.
pub(super) fn comment(scanner: &mut Scanner, start: usize) -> bool {
    if scanner.before(start) != b'\n' {
        return false;
    }
    let next = scanner.line_end(start) + 1;
    if !is_statement(scanner.rest(next)) {
        return false;
    }
    let until = boundary(scanner, next, false);
    scanner.found(Kind::Sql, start, until);
    true
}

/// ClickHouse's excerpt: `failed at position 7 (x): x FROM t. Expected one of: …`.
pub(super) fn excerpt(scanner: &mut Scanner, end: usize) -> bool {
    let window = scanner.slice(end, scanner.text.floor_char_boundary(end + 400));
    let number = window.trim_start_matches([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    let Some(excerpt) = number.strip_prefix('(').filter(|_| window.len() > number.len() + 1) else {
        return false;
    };
    let Some(colon) = find(excerpt, "): ") else {
        return false;
    };
    let start = end + window.len() - excerpt.len();
    let known = find(excerpt, ". Expected").filter(|found| *found > colon);
    let until = known.map_or_else(|| scanner.line_end(start), |length| start + length);
    scanner.found(Kind::Sql, start, until);
    true
}

/// `* from`: a statement with a misspelt verb goes from that verb on.
pub(super) fn star(scanner: &mut Scanner) {
    let star = scanner.at;
    scanner.at += 1;
    let follows = scanner.slice(star, star + 6);
    if follows.eq_ignore_ascii_case("* from") && scanner.before(star) == b' ' {
        let verb = scanner
            .slice(0, star - 1)
            .rfind(|letter: char| !letter.is_ascii_alphabetic())
            .map_or(0, |at| at + 1);
        let verb = scanner.text.ceil_char_boundary(verb);
        let until = boundary(scanner, star, false);
        scanner.found(Kind::Sql, verb, until);
    }
}

/// Does the text start with a verb?
pub(super) fn starts_with_verb(text: &str) -> bool {
    VERBS.get(first_word(text).as_bytes()).is_some()
}

fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.bytes().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Has the text the structure of a statement from its first word on? Prose that starts with such a verb has not.
pub(super) fn is_statement(text: &str) -> bool {
    let word = first_word(text);
    if PREFIXES.iter().any(|prefix| prefix.eq_ignore_ascii_case(word)) {
        let rest = text.trim_start().get(word.len()..).unwrap_or_default();
        return VERBS.get(first_word(rest).as_bytes()).is_some_and(|reach| has_structure(rest, reach));
    }
    VERBS.get(word.as_bytes()).is_some_and(|reach| has_structure(text, reach))
}

/// Have the first tokens of a text, a verb in front, the structure of a statement?
fn has_structure(text: &str, reach: u8) -> bool {
    let window = text.get(..text.floor_char_boundary(WINDOW)).unwrap_or(text);
    let mut words = [""; 12];
    let mut has_marks = false;
    let mut from = None;
    let mut set = None;
    let mut has_equals = false;
    for (index, token) in Lexer::new(window, Dialect::Postgresql).take(reach.into()).enumerate() {
        let word = window.get(token.start..token.end).unwrap_or_default();
        if let Some(slot) = words.get_mut(index) {
            *slot = word;
        }
        if index > 0 && word == ";" {
            break;
        }
        let is = |known: &str| word.eq_ignore_ascii_case(known);
        has_marks |= from.is_none()
            && (token.kind != lexer::Kind::Word || word.contains('_'))
            && !matches!(word, "." | ":" | "!" | "-" | "'");
        has_equals |= word == "=";
        from = from.or(is("FROM").then_some(index));
        set = set.or(is("SET").then_some(index));
    }
    let [verb, first, second, third, ..] = words;
    let is_capital = verb.bytes().all(|byte| byte.is_ascii_uppercase());
    let is = |word: &str, known: &str| word.eq_ignore_ascii_case(known);
    let names_something =
        |word: &str| !word.is_empty() && (!is_vocabulary(word) || word.starts_with(['"', '`', '[']));
    let verb_is = |known: &str| verb.eq_ignore_ascii_case(known);
    if verb_is("SELECT") {
        let starts = matches!(first, "*" | "(" | "[") || second == "(" || matches!(second, "," | "." | "=");
        let is_from = from.is_some_and(|at| {
            at > 1 && words.get(at + 1).is_none_or(|next| is_capital || names_something(next))
        });
        return starts
            || (is_from && (has_marks || is_capital || has_equals))
            || (is_capital
                && (first.starts_with(['\'', '"', '`', '?', '$', '@', ':', '1'])
                    || is(first, "TOP")
                    || is(first, "DISTINCT")));
    }
    if verb_is("INSERT") || verb_is("REPLACE") || verb_is("MERGE") || verb_is("UPSERT") {
        let into = [first, second].iter().position(|word| is(word, "INTO"));
        return into
            .is_some_and(|at| words.get(at + 2).is_some_and(|target| is_capital || names_something(target)));
    }
    if verb_is("UPDATE") {
        return set.is_some_and(|at| at > 1 && at < 6) && (has_equals || is_capital);
    }
    if verb_is("DELETE") {
        return is(first, "FROM") && (is_capital || names_something(second));
    }
    if ["CREATE", "ALTER", "DROP", "TRUNCATE"].iter().any(|known| verb_is(known)) {
        let is_object = OBJECTS.iter().any(|object| is(first, object)) || (verb_is("TRUNCATE") && is_capital);
        return is_object
            && (is_capital && !is_vocabulary(second)
                || names_something(second)
                || is(second, "IF")
                || is(second, "TABLE")
                || is(second, "VIEW")
                || is(second, "INDEX"));
    }
    if verb_is("GRANT") || verb_is("REVOKE") {
        return is_capital && words.iter().any(|word| is(word, "ON") || is(word, "TO") || is(word, "FROM"))
            || is(first, "ALL");
    }
    if verb_is("WITH") {
        return (is(second, "AS") && third == "(") || is(first, "RECURSIVE");
    }
    if verb_is("IDENTIFIED") {
        return is(first, "BY") || is(first, "WITH") || is(first, "USING");
    }
    if verb_is("SET") {
        return is(first, "PASSWORD") && !is_vocabulary(if is(second, "FOR") { third } else { second });
    }
    if verb_is("COPY") {
        return is_capital && from.is_some()
            || words.iter().any(|word| is(word, "STDIN") || is(word, "STDOUT"));
    }
    if verb_is("ATTACH") {
        return is(first, "DATABASE") || first.starts_with('\'');
    }
    if verb_is("DECLARE") {
        return first.starts_with('@');
    }
    (verb_is("CALL") && is_capital && second == "(")
        || ((verb_is("EXEC") || verb_is("EXECUTE"))
            && is_capital
            && (first.starts_with('@') || first.contains('_') || second == "."))
}

/// The end of a statement that starts at `start`; `open` is the index of the quote around it, or `start`. A statement
/// goes up to where the message goes on for certain, or to the text's end.
pub(super) fn end(scanner: &Scanner, open: usize, start: usize) -> usize {
    let quote = scanner.rest(open).chars().next().filter(|_| open < start);
    let until = boundary(scanner, start, quote == Some('\''));
    let Some(quote) = quote else {
        return until;
    };
    let close = match quote {
        '«' => '»',
        '»' => '«',
        '“' => '”',
        '„' => '“',
        '「' => '」',
        other => other,
    };
    let statement = scanner.slice(start, until);
    match statement.rfind(close) {
        // Parameters follow the statement, the last of them without quotes.
        Some(length)
            if statement
                .get(length..)
                .is_some_and(|tail| tail.trim_end().ends_with(['}', ']']) && tail.contains(':')) =>
        {
            until
        }
        Some(length) => start + length,
        None => until,
    }
}

/// The first place behind `start` where a message goes on, outside of literals in single quotes.
pub(super) fn boundary(scanner: &Scanner, start: usize, mut is_literal: bool) -> usize {
    for (index, byte) in scanner.rest_bytes(start).iter().enumerate() {
        if *byte == b'\'' {
            is_literal = !is_literal;
        } else if !is_literal && BOUNDARIES.start(scanner.rest_bytes(start + index)) {
            return start + index;
        }
    }
    scanner.bytes.len()
}
