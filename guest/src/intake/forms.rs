//! The fixed forms that codes and class names have inside texts, and the prefixes that wrappers put before a
//! server's own words. One row per form; nothing here knows a database beyond its row.
//! [`pattern`](super::pattern) says how they are written.

use super::pattern::{Head, Match, take};
use crate::systems::System;

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
    ("E%d ", Telling, Some(System::Mongodb)),
    ("%p:~", Telling, None),
    ("%p,~", Telling, None),
    ("Error from server: code=%x [%*] message=\"", Telling, Some(System::Cassandra)),
    ("An error occurred (%i) when calling the %* operation (reached max retries: %r):~", Telling, None),
    ("An error occurred (%i) when calling the %* operation:~", Telling, None),
    ("Command failed (%i):~", Telling, Some(System::Mongodb)),
    ("Command failed with error %d (%i):~", Telling, Some(System::Mongodb)),
    ("Command failed with error %d:~", Telling, Some(System::Mongodb)),
    ("rpc error: code = %g desc =~", Telling, None),
    ("%n %g:~", First, None),
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

/// The leading form at the start of a text, or behind others: a code's, a class's, or a wrapper's prefix.
pub(super) fn leading(text: &str, is_first: bool) -> Option<Match<'_>> {
    let is_used = |usage: Use| matches!(usage, Telling | Leading) || (usage == First && is_first);
    let head = Head::of(text);
    let mut forms = FORMS.iter().filter(|(pattern, usage, _)| is_used(*usage) && head.may_begin(pattern));
    let mut prefixes = PREFIXES.iter().filter(|pattern| head.may_begin(pattern));
    let form = forms.find_map(|form| matched(form, text));
    form.or_else(|| prefixes.find_map(|pattern| take(pattern, text).filter(|found| found.len > 0)))
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
    Some(Match { system: *system, ..take(pattern, text)? })
}
