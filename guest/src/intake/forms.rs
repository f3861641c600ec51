//! The fixed forms that codes and class names have inside texts, and the prefixes that wrappers put before a
//! server's own words. One row per form; nothing here knows a database beyond its row.
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

/// How a form is used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Use {
    /// Telling enough to be looked for behind a prefix that is not known.
    Telling,
    /// Taken only where everything before it has been taken.
    Leading,
    /// Taken only where a text begins.
    First,
    /// Looked for at the end of the server's own words.
    Trailing,
}

use Use::{First, Leading, Telling, Trailing};

/// Pattern, use, and the system it tells. The first match counts.
const FORMS: &[(&str, Use, Option<System>)] = &[
    ("SQLSTATE[%s]~[%d]~", Telling, None),
    ("SQLSTATE[%s]:~%*:~%d~", Telling, None),
    ("SQLSTATE[%s]:~", Telling, None),
    ("SQLSTATE[%s]~", Telling, None),
    ("SQLSTATE=%s~", Telling, None),
    ("SQL Error:~%d,~SQLState:~%s~", Telling, None),
    ("SQL Error [%d] [%s]:~", Telling, None),
    ("SQL Error [%s]:~", Telling, None),
    ("SQL Error [%d]:~", Telling, None),
    ("SQL State~:~%s~Error Code~:~%d~Message~:~", Telling, None),
    ("Error Code~:~%d~Error Message~:~", Telling, None),
    ("Error Code~:~%d.~", Telling, None),
    ("Error type:~%d~Error Message:~", Telling, None),
    ("Error Number:~%d,~State:~%n,~Class:~%n~", Telling, Some(System::SqlServer)),
    ("SqlState:~%s,~VendorCode:~%d", Telling, None),
    ("Msg %d, Level %n, State %n, %*\n", Telling, Some(System::SqlServer)),
    ("ERROR %d (%s) at line %n:~", Telling, None),
    ("ERROR %d (%s):~", Telling, None),
    ("ERROR %s (%i)~", Telling, None),
    ("ERROR %d at line %n:~", Telling, None),
    ("ERROR %d:~", Telling, None),
    ("Errno %d:~", Telling, None),
    ("Code: %d. DB::Exception:~", Telling, Some(System::Clickhouse)),
    ("Code: %d, e.displayText() = DB::Exception:~", Telling, Some(System::Clickhouse)),
    ("Code: %d.~", Telling, Some(System::Clickhouse)),
    ("code: %d, message:~", Telling, Some(System::Clickhouse)),
    ("Received from %*. DB::Exception:~", Leading, Some(System::Clickhouse)),
    ("E11000 ", Telling, Some(System::Mongodb)),
    ("E%d duplicate key", Telling, Some(System::Mongodb)),
    ("%p:~", Telling, None),
    ("%p,~", Telling, None),
    ("Error from server: code=%x [%*] message=\"", Telling, Some(System::Cassandra)),
    ("An error occurred (%i) when calling the %* operation (reached max retries: %r):~", Telling, None),
    ("An error occurred (%i) when calling the %* operation:~", Telling, None),
    ("Command failed (%i):~", Telling, Some(System::Mongodb)),
    ("Command failed with error %d (%i):~", Telling, Some(System::Mongodb)),
    ("Command failed with error %d:~", Telling, Some(System::Mongodb)),
    ("rpc error: code = %g desc =~", Telling, None),
    ("StatusCode=%g,~", Telling, None),
    ("[es/%*] failed: [%i]~", Telling, Some(System::Elasticsearch)),
    ("Elasticsearch exception [type=%i, reason=", Telling, Some(System::Elasticsearch)),
    ("[type=%i, reason=", Telling, Some(System::Elasticsearch)),
    ("{\"type\"=>\"%i\", \"reason\"=>\"", Telling, Some(System::Elasticsearch)),
    ("ServerError: Type:~%i~Reason:~", Telling, Some(System::Elasticsearch)),
    ("Request failed with status code %h", Telling, None),
    ("Request failed with code %h", Telling, None),
    ("%c(%h, '%i',~'", Telling, None),
    ("(%h, '%i',~'", Leading, None),
    ("%z (%s): %u:~", Telling, Some(System::Snowflake)),
    ("%z (%s):~", Telling, Some(System::Snowflake)),
    ("(%d,~", Leading, None),
    ("('%s',~", Leading, None),
    ("(%c)~", Telling, None),
    ("(conn=%n)~", Leading, None),
    ("(conn:%*, no: %d, SQLState: %s)~", Telling, None),
    ("(code: %d)~", Telling, None),
    ("SQLite Error %d: '", Telling, Some(System::Sqlite)),
    ("terminate called after throwing an instance of '%c'~", Telling, None),
    ("<class '%c'>~", Telling, None),
    ("<class \\'%c\\'>~", Telling, None),
    ("#<%c:~", Leading, None),
    ("'%c'~", Leading, None),
    ("%c [%t]:~", Telling, None),
    ("%c (0x%*):~", Telling, None),
    ("%c (%s):~", Telling, None),
    ("%c (%d):~", Telling, None),
    ("%w:~", Telling, None),
    ("%c:~", Telling, None),
    ("%c {~", Telling, None),
    ("%c[", Telling, None),
    ("%c(", Telling, None),
    ("%c~-~", Telling, None),
    ("%c\n", Telling, None),
    ("[%s]~", Telling, None),
    ("[%w]~", Telling, None),
    ("%s:~", Leading, None),
    ("%d (%s):~", Telling, None),
    ("%k Error:~", Telling, Some(System::Duckdb)),
    ("%o ", First, None),
    ("(error) %o ", First, None),
    ("(%i) ", First, None),
    ("HTTP %h~", Leading, None),
    ("%h GET http%*: ~", Leading, None),
    ("%h POST http%*: ~", Leading, None),
    ("%h PUT http%*: ~", Leading, None),
    ("%h~", Leading, None),
    (" (SQLSTATE %s)", Trailing, None),
    (" (SQLSTATE=%s)", Trailing, None),
    (" (errno %d) (sqlstate %s)", Trailing, None),
    (". (%d) (SQL%a)", Trailing, None),
    (" (code %d %w)", Trailing, None),
    (" (%w)", Trailing, None),
    (" SQLSTATE: %s", Trailing, None),
];

/// Prefixes that say nothing themselves, as patterns.
const PREFIXES: &[&str] = &[
    "ERROR:~",
    "Error:~",
    "FATAL:~",
    "FATAL ~",
    "WARNING ~",
    "PANIC:~",
    "user_facing_error: Some(KnownError {~",
    "message:~\"",
    "Invalid `prisma.%*` invocation:~",
    "FEHLER:~",
    "ERREUR:~",
    "ERREUR :~",
    "ERRORE:~",
    "ERRO:~",
    "ОШИБКА:~",
    "错误:~",
    "错误：~",
    "エラー:~",
    "HATA:~",
    "BŁĄD:~",
    "FATAL :~",
    "FATALE:~",
    "ВАЖНО:~",
    "pq:~",
    "sql:~",
    "connection failed:~",
    "connection is bad:~",
    "dial error:~",
    "db error:~",
    "what():~",
    "uncaught exception:~",
    "unhandled exception:~",
    "nested exception is~",
    "nested:~",
    "Cause:~",
    "Caused by:~",
    "Original exception was:~",
    "An exception occured in driver:~",
    "An exception occurred in the driver:~",
    "An exception occurred in driver:~",
    "An exception occurred while executing a query:~",
    "could not execute statement~[",
    "could not execute query~[",
    "could not execute batch~[",
    "could not execute statement;~",
    "could not prepare statement~[",
    "could not extract ResultSet~[",
    "Hibernate operation:~",
    "### Error updating database.~",
    "### Error querying database.~",
    "DBI Exception:~",
    "Error in connector:~",
    "Error querying the database:~",
    "Database error.~",
    "error returned from database:~",
    "error communicating with database:~",
    "Original:~",
    "desc =~",
    "Received exception from server (%*):~",
    "(raised as a result of %*)~",
    "PQconsumeInput()~",
    "[HTTP %n] response body: \"",
    "[%*]~",
    "(error)~",
    "(caused by~",
    "b'",
    "b\"",
    "\\'",
    "\\\"",
    "\"",
    "'",
    "`",
    "(",
    "[",
    "{",
    "** ",
    "|~",
    "-~",
    "!~",
];

/// Prefixes behind which a server's own words follow, so that they are looked for behind an unknown beginning.
const ANNOUNCEMENTS: &[&str] = &[
    "ERROR:",
    "FATAL:",
    "FATAL ",
    "WARNING ",
    "PANIC:",
    "FEHLER:",
    "ERREUR:",
    "ERREUR :",
    "ERRORE:",
    "ERRO:",
    "ОШИБКА:",
    "错误:",
    "エラー:",
    "HATA:",
    "BŁĄD:",
    "pq:",
    "nested exception is",
    "Caused by:",
    "Cause:",
    "Original exception was:",
    "Error in connector:",
];

/// The longest class name.
const LONGEST_NAME: usize = 160;

/// How far `%*` reaches.
const LONGEST_GAP: usize = 240;

/// The leading form at the start of a text, or behind others: a code's, a class's, or a wrapper's prefix.
pub(super) fn leading(text: &str, is_first: bool) -> Option<Match<'_>> {
    let is_used = |usage: Use| matches!(usage, Telling | Leading) || (usage == First && is_first);
    let head = Head::of(text);
    let forms = FORMS.iter().filter(|(pattern, usage, _)| is_used(*usage) && head.may_begin(pattern));
    let prefixes = || PREFIXES.iter().filter(|pattern| head.may_begin(pattern));
    forms
        .into_iter()
        .find_map(|form| matched(form, text))
        .or_else(|| prefixes().find_map(|pattern| take(pattern, text).filter(|found| found.len > 0)))
}

/// Does a telling form stand at the start of a text, or something that announces a server's own words?
///
/// Most forms count only behind punctuation (`is_separate`): a sentence can go on with anything.
pub(super) fn is_telling(text: &str, is_separate: bool) -> bool {
    let head = Head::of(text);
    let is_used = |pattern: &str, usage: Use| {
        usage == Telling
            && (is_separate || pattern.starts_with("%p") || pattern.starts_with("%c [%t]"))
            && head.may_begin(pattern)
    };
    FORMS
        .iter()
        .filter(|(pattern, usage, _)| is_used(pattern, *usage))
        .any(|form| matched(form, text).is_some())
        || ANNOUNCEMENTS.iter().any(|words| head.may_begin(words) && take(words, text).is_some())
}

/// What the start of a text rules out, found once for all patterns.
struct Head {
    /// The first byte, lower case.
    first: u8,
    /// Can a class name stand here?
    is_class: bool,
}

impl Head {
    /// The head of a text.
    fn of(text: &str) -> Head {
        let first = text.bytes().next().unwrap_or_default();
        let is_class = (first.is_ascii_alphabetic() || first == b'_') && class(text).is_some();
        Head { first: first.to_ascii_lowercase(), is_class }
    }

    /// Can the pattern match here?
    fn may_begin(&self, pattern: &str) -> bool {
        match pattern.as_bytes() {
            [b'%', b'c', ..] => self.is_class,
            [b'%', b'd' | b'n' | b'z' | b'h', ..] => self.first.is_ascii_digit(),
            [b'%', b'p' | b'w' | b'o' | b't' | b'k', ..] => self.first.is_ascii_alphabetic(),
            [b'%' | b'~', ..] => true,
            [first, ..] => first.eq_ignore_ascii_case(&self.first),
            [] => false,
        }
    }
}

/// The trailing form at the start of a text: nothing follows it but what drivers put there.
pub(super) fn trailing(text: &str) -> Option<Match<'_>> {
    /// What may follow.
    const ENDS: &[&str] = &[")", "]", "; [", "\")", "')", " (CallerID"];
    let found =
        FORMS.iter().filter(|(_, usage, _)| *usage == Trailing).find_map(|form| matched(form, text))?;
    let rest = text.get(found.len..)?.trim_end();
    (rest.is_empty() || ENDS.iter().any(|end| rest.starts_with(end))).then_some(found)
}

/// The match of one row.
fn matched<'t>((pattern, _, system): &(&str, Use, Option<System>), text: &'t str) -> Option<Match<'t>> {
    let mut found = take(pattern, text)?;
    found.system = *system;
    if *pattern == "E11000 " {
        found.signs.push((SignKind::Code, text.get(1..6)?));
    }
    Some(found)
}

/// Matches a pattern from the start of a text.
fn take<'t>(pattern: &str, text: &'t str) -> Option<Match<'t>> {
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

/// How many bytes a capture takes, where it can.
fn length(kind: char, text: &str, pattern: &str) -> Option<usize> {
    match kind {
        'd' | 'n' | 'r' => run(text, 9, |byte| byte.is_ascii_digit()),
        'z' => run(text, 7, |byte| byte.is_ascii_digit()).filter(|len| *len == 6),
        'h' => run(text, 4, |byte| byte.is_ascii_digit()).filter(|len| *len == 3),
        'x' => run(text, 8, |byte| byte.is_ascii_hexdigit()),
        'u' => run(text, 40, |byte| byte.is_ascii_hexdigit() || byte == b'-').filter(|len| *len == 36),
        's' => run(text, 6, |byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
            .filter(|len| *len == 5 && text.bytes().take(*len).any(|byte| byte.is_ascii_digit())),
        'w' => run(text, 80, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
            .filter(|len| text.get(..*len).is_some_and(|word| word.contains('_'))),
        't' => run(text, 40, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'),
        'i' | 'a' => run(text, 80, |byte| byte.is_ascii_alphanumeric() || byte == b'_'),
        'g' => run(text, 24, |byte| byte.is_ascii_alphabetic() || byte == b'_'),
        'o' => run(text, 24, |byte| byte.is_ascii_uppercase()).filter(|len| *len >= 3),
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
    let len = run(text, LONGEST, |byte| byte.is_ascii_alphabetic() || byte == b' ').or(Some(LONGEST))?;
    let words = text.get(..len)?.find(" Error")?;
    let kind = text.get(..words)?;
    (kind.starts_with(|first: char| first.is_ascii_uppercase()) && kind.split(' ').count() <= 3)
        .then_some(words)
}

/// A class name: qualified with a capital in its last part, or one word that ends as errors do.
fn class(text: &str) -> Option<usize> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.\\$:+/".contains(&byte);
    let mut len = text.bytes().take(LONGEST_NAME).take_while(|byte| is_part(*byte)).count();
    if !text.bytes().take(len).any(|byte| byte.is_ascii_uppercase() || byte == b'_') {
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
