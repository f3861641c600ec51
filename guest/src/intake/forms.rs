//! The fixed forms that codes and class names have inside texts, and the prefixes that wrappers put before a
//! server's own words. One row per form; nothing here knows a database beyond its row.
//! [`pattern`](super::pattern) says how they are written.

use super::beginnings::{Beginnings, Rows, numbers};
use super::pattern::{Match, class, take};
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
    ("operation error %*: %*, https response error StatusCode: %h, RequestID: %*, %i:~", Telling, None),
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

/// Prefixes that say nothing themselves, as patterns, and whether they announce a server's own words, so that they are
/// looked for behind an unknown beginning.
const PREFIXES: &[(&str, bool)] = &[
    ("ERROR:~", true),
    ("Error:~", true),
    ("FATAL:~", true),
    ("FATAL ~", true),
    ("WARNING ~", true),
    ("PANIC:~", true),
    ("psql: error:~", false),
    ("psql:~", false),
    ("mssql: login error:~", false),
    ("mssql:~", false),
    ("Token error: '", false),
    ("%n-%n-%n %n:%n:%n.%n %a [%n]~", false),
    ("%n-%n-%n %n:%n:%n.%n %n WARNING server login failed:~", false),
    ("SQLite error:~", false),
    ("user_facing_error: Some(KnownError {~", false),
    ("message:~\"", false),
    ("Invalid `prisma.%*` invocation:~", false),
    ("FEHLER:~", true),
    ("ERREUR:~", true),
    ("ERREUR :~", true),
    ("ERRORE:~", true),
    ("ERRO:~", true),
    ("ОШИБКА:~", true),
    ("错误:~", true),
    ("错误：~", false),
    ("エラー:~", true),
    ("HATA:~", true),
    ("BŁĄD:~", true),
    ("FATAL :~", false),
    ("FATALE:~", false),
    ("ВАЖНО:~", false),
    ("pq:~", true),
    ("sql:~", false),
    ("connection failed:~", false),
    ("connection is bad:~", false),
    ("dial error:~", false),
    ("db error:~", false),
    ("what():~", false),
    ("uncaught exception:~", false),
    ("unhandled exception:~", false),
    ("nested exception is~", true),
    ("nested:~", false),
    ("Cause:~", true),
    ("Caused by:~", true),
    ("Original exception was:~", true),
    ("An exception occured in driver:~", false),
    ("An exception occurred in the driver:~", false),
    ("An exception occurred in driver:~", false),
    ("An exception occurred while executing a query:~", false),
    ("could not execute statement~[", false),
    ("could not execute query~[", false),
    ("could not execute batch~[", false),
    ("could not execute statement;~", false),
    ("could not prepare statement~[", false),
    ("could not extract ResultSet~[", false),
    ("Hibernate operation:~", false),
    ("### Error updating database.~", false),
    ("### Error querying database.~", false),
    ("DBI Exception:~", false),
    ("Error in connector:~", true),
    ("Error querying the database:~", false),
    ("Database error.~", false),
    ("error returned from database:~", false),
    ("error communicating with database:~", false),
    ("Original:~", false),
    ("desc =~", false),
    ("Received exception from server (%*):~", false),
    ("(raised as a result of %*)~", false),
    ("PQconsumeInput()~", false),
    ("[HTTP %n] response body: \"", false),
    ("[%*]~", false),
    ("(error)~", false),
    ("(caused by~", false),
    ("b'", false),
    ("b\"", false),
    ("\\'", false),
    ("\\\"", false),
    ("\"", false),
    ("'", false),
    ("`", false),
    ("(", false),
    ("[", false),
    ("{", false),
    ("** ", false),
    ("|~", false),
    ("-~", false),
    ("!~", false),
];

/// What the rows of the tables begin with.
static FORM_BEGINNINGS: Beginnings = Beginnings::of(&form_patterns());
static PREFIX_BEGINNINGS: Beginnings = Beginnings::of(&prefix_patterns());

/// The forms used in one way.
const TELLING: Rows = forms_used(Telling);
const LEADING: Rows = forms_used(Leading) | TELLING;
const FIRST: Rows = forms_used(First) | LEADING;
const TRAILING: Rows = forms_used(Trailing);

/// The forms that begin with a class name.
const CLASSES: Rows = forms_beginning(b"%c");

/// The telling forms that count in the middle of a sentence too.
const UNMISTAKABLE: Rows = (forms_beginning(b"%p") | forms_beginning(b"%c [%t]")) & TELLING;

/// The leading form at the start of a text, or behind others: a code's, a class's, or a wrapper's prefix.
pub(super) fn leading(text: &str, is_first: bool) -> Option<Match<'_>> {
    form(text, if is_first { FIRST } else { LEADING })
        .or_else(|| prefixes(text).find_map(|(pattern, _)| take(pattern, text).filter(|found| found.len > 0)))
}

/// Does a telling form stand at the start of a text, or something that announces a server's own words?
///
/// Most forms count only behind punctuation (`is_separate`): a sentence can go on with anything.
pub(super) fn is_telling(text: &str, is_separate: bool) -> bool {
    form(text, if is_separate { TELLING } else { UNMISTAKABLE }).is_some()
        || prefixes(text).any(|(pattern, announces)| *announces && take(pattern, text).is_some())
}

/// The trailing form at the start of a text: nothing follows it but what drivers put there.
pub(super) fn trailing(text: &str) -> Option<Match<'_>> {
    /// What may follow.
    const ENDS: &[&str] = &[")", "]", "; [", "\")", "')", " (CallerID"];
    let found = form(text, TRAILING)?;
    let rest = text.get(found.len..)?.trim_end();
    (rest.is_empty() || ENDS.iter().any(|end| rest.starts_with(end))).then_some(found)
}

/// The first of some forms that matches.
fn form(text: &str, used: Rows) -> Option<Match<'_>> {
    let mut rows = FORM_BEGINNINGS.at(text.as_bytes()) & used;
    if rows & CLASSES != 0 && class(text).is_none() {
        rows &= !CLASSES;
    }
    numbers(rows).filter_map(|row| FORMS.get(row)).find_map(|(pattern, _, system)| {
        let found = take(pattern, text)?;
        Some(Match { system: *system, ..found })
    })
}

/// The prefixes that can begin where a text does.
fn prefixes(text: &str) -> impl Iterator<Item = &'static (&'static str, bool)> {
    numbers(PREFIX_BEGINNINGS.at(text.as_bytes())).filter_map(|row| PREFIXES.get(row))
}

/// The patterns of the prefixes.
const fn prefix_patterns() -> [&'static str; PREFIXES.len()] {
    let mut patterns = [""; PREFIXES.len()];
    let mut row = 0;
    while row < PREFIXES.len() {
        patterns[row] = PREFIXES[row].0;
        row += 1;
    }
    patterns
}

/// The patterns of the forms.
const fn form_patterns() -> [&'static str; FORMS.len()] {
    let mut patterns = [""; FORMS.len()];
    let mut row = 0;
    while row < FORMS.len() {
        patterns[row] = FORMS[row].0;
        row += 1;
    }
    patterns
}

/// The rows of the forms that are used in one way.
const fn forms_used(usage: Use) -> Rows {
    let (mut rows, mut row) = (0, 0);
    while row < FORMS.len() {
        rows |= ((FORMS[row].1 as u8 == usage as u8) as Rows) << row;
        row += 1;
    }
    rows
}

/// The rows of the forms whose patterns begin in one way.
const fn forms_beginning(words: &[u8]) -> Rows {
    let (mut rows, mut row) = (0, 0);
    while row < FORMS.len() {
        let pattern = FORMS[row].0.as_bytes();
        let mut at = 0;
        while at < words.len() && at < pattern.len() && pattern[at] == words[at] {
            at += 1;
        }
        rows |= ((at == words.len()) as Rows) << row;
        row += 1;
    }
    rows
}
