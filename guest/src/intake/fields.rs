//! Which field of a driver's error holds what: one row per spelling, whatever the language.

use crate::lookup::{Words, words};

/// What a field holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Role {
    /// A native code: a number, a SQLSTATE or a symbolic name.
    Code,
    /// A SQLSTATE.
    SqlState,
    /// The name of an exception class or of an error's type.
    Class,
    /// The application's own words: statements, parameters, documents. Never looked into.
    Content,
    /// An address or connection string: its scheme tells the system.
    Address,
    /// A code where it is one word, otherwise a text.
    CodeOrText,
    /// An HTTP status where it is a number, otherwise a status word or a gRPC status.
    Status,
    /// An HTTP status.
    HttpStatus,
    /// A message.
    Text,
    /// A further text of the same error, never matched.
    Detail,
    /// The stack: only told apart from a message.
    Stack,
    /// The name of the violated constraint.
    Constraint,
    /// Labels that server and driver attach (MongoDB).
    Labels,
    /// The error beneath, several of them, or a text that names one.
    Cause,
    /// A further part of the same error, or a text that is one (a reply's body).
    Part,
    /// A further part of the same error; never a text, which can hold a row's values.
    Block,
    /// The positional arguments of an exception (Python).
    Arguments,
    /// The system call that failed.
    SystemCall,
    /// How often the driver repeated the request.
    Retries,
    /// How often the driver sent the request.
    Attempts,
    /// A wait before a retry in milliseconds.
    WaitMilliseconds,
    /// A wait before a retry in seconds, or with its own unit.
    WaitSeconds,
    /// The failed operation of a batch.
    OpIndex,
    /// The server's own word whether it committed.
    Committed,
    /// How many statements of the request the server committed.
    CommittedCount,
    /// The server's own word for the final state.
    FinalState,
    /// The failed operations of a bulk write.
    BulkErrors,
    /// Operations of a bulk write that were accepted but not done.
    Unprocessed,
    /// One reply per operation of a bulk request (Elasticsearch).
    BulkItems,
    /// One reason per operation of a transaction that was cancelled as a whole (DynamoDB).
    CancellationReasons,
    /// The rows changed per statement of a batch (JDBC).
    UpdateCounts,
    /// How many documents or rows a bulk write did change.
    DoneCount,
    /// The failure of a write concern: the write itself was applied.
    WriteConcern,
    /// The type of a write that timed out (Cassandra).
    WriteType,
    /// The severity class of an SQL Server error, or of a PostgreSQL one.
    Severity,
}

impl Role {
    /// Can the field show that a write had no effect, or had it before? Not where a row's value could have put it.
    pub(super) const fn is_proof(self) -> bool {
        matches!(
            self,
            Role::Labels | Role::Constraint | Role::DoneCount | Role::WriteType | Role::UpdateCounts
        )
    }
}

/// The fields.
static FIELDS: Words<Role> = words!(Role, SPELLINGS);

/// Spelling (lower case, without separators and a leading `get`) and role, sorted by spelling.
const SPELLINGS: &[(&str, Role)] = &[
    ("args", Role::Arguments),
    ("attempts", Role::Attempts),
    ("backoffms", Role::WaitMilliseconds),
    ("basebackoffms", Role::WaitMilliseconds),
    ("bindings", Role::Content),
    ("binds", Role::Content),
    ("body", Role::Part),
    ("cancellationreasons", Role::CancellationReasons),
    ("cause", Role::Cause),
    ("causedby", Role::Cause),
    ("causes", Role::Cause),
    ("class", Role::Class),
    ("classname", Role::Class),
    ("clientcode", Role::Code),
    ("code", Role::Code),
    ("codename", Role::Code),
    ("command", Role::Content),
    ("committed", Role::Committed),
    ("committedstatements", Role::CommittedCount),
    ("conditionname", Role::Code),
    ("connectionstring", Role::Address),
    ("connectionuri", Role::Address),
    ("constraint", Role::Constraint),
    ("constraintname", Role::Constraint),
    ("content", Role::Part),
    ("context", Role::Block),
    ("data", Role::Part),
    ("databaseerror", Role::Cause),
    ("databaseurl", Role::Address),
    ("dberror", Role::Cause),
    ("description", Role::Text),
    ("detail", Role::Block),
    ("details", Role::Block),
    ("diag", Role::Block),
    ("diagnostics", Role::Block),
    ("document", Role::Content),
    ("driveradaptererror", Role::Cause),
    ("drivererror", Role::Cause),
    ("driverexception", Role::Cause),
    ("dsn", Role::Address),
    ("err", Role::Cause),
    ("errcode", Role::Code),
    ("errinfo", Role::Content),
    ("errmsg", Role::Text),
    ("errno", Role::Code),
    ("error", Role::Cause),
    ("errorcode", Role::Code),
    ("errordescription", Role::Text),
    ("errorinfo", Role::Arguments),
    ("errorlabels", Role::Labels),
    ("errorlist", Role::Cause),
    ("errormessage", Role::Text),
    ("errorname", Role::Class),
    ("errornum", Role::Code),
    ("errornumber", Role::Code),
    ("errorresult", Role::Cause),
    ("errors", Role::Cause),
    ("errorseverity", Role::Severity),
    ("errortext", Role::Text),
    ("errortype", Role::Class),
    ("errstr", Role::Detail),
    ("exception", Role::Cause),
    ("exceptionclass", Role::Class),
    ("exceptionname", Role::Class),
    ("exceptions", Role::Cause),
    ("exceptiontype", Role::Class),
    ("extendedcode", Role::Code),
    ("extendederrorcode", Role::Code),
    ("extendedresult", Role::Code),
    ("extendedresultcode", Role::Code),
    ("faileddocuments", Role::BulkErrors),
    ("failure", Role::Cause),
    ("fault", Role::Block),
    ("fields", Role::Content),
    ("fullcode", Role::Code),
    ("grpccode", Role::Code),
    ("headers", Role::Block),
    ("hint", Role::Detail),
    ("httpcode", Role::HttpStatus),
    ("httpstatus", Role::HttpStatus),
    ("httpstatuscode", Role::HttpStatus),
    ("indexname", Role::Constraint),
    ("info", Role::Block),
    ("inner", Role::Cause),
    ("innererror", Role::Cause),
    ("innererrors", Role::Cause),
    ("innerexception", Role::Cause),
    ("innerexceptions", Role::Cause),
    ("input", Role::Content),
    ("insertedcount", Role::DoneCount),
    ("inserterrors", Role::BulkErrors),
    ("invariantseverity", Role::Severity),
    ("item", Role::Content),
    ("items", Role::BulkItems),
    ("jdbcurl", Role::Address),
    ("keyvalue", Role::Content),
    ("kind", Role::Class),
    ("labels", Role::Labels),
    ("lastquery", Role::Content),
    ("matchedcount", Role::DoneCount),
    ("message", Role::Text),
    ("messageprimary", Role::Text),
    ("messagetext", Role::Text),
    ("meta", Role::Block),
    ("metadata", Role::Block),
    ("modifiedcount", Role::DoneCount),
    ("msg", Role::Text),
    ("name", Role::Class),
    ("nativecode", Role::Code),
    ("nativeerror", Role::Code),
    ("nativeerrorcode", Role::Code),
    ("nextexception", Role::Cause),
    ("ninserted", Role::DoneCount),
    ("nmodified", Role::DoneCount),
    ("nremoved", Role::DoneCount),
    ("number", Role::Code),
    ("nupserted", Role::DoneCount),
    ("op", Role::Content),
    ("opindex", Role::OpIndex),
    ("orig", Role::Cause),
    ("original", Role::Cause),
    ("originalcode", Role::Code),
    ("originalerror", Role::Cause),
    ("originalexception", Role::Cause),
    ("originalmessage", Role::Text),
    ("outcome", Role::Block),
    ("parameters", Role::Content),
    ("params", Role::Content),
    ("parent", Role::Cause),
    ("pgcode", Role::SqlState),
    ("precedingerrors", Role::Cause),
    ("previous", Role::Cause),
    ("previouserrors", Role::Cause),
    ("query", Role::Content),
    ("rawmsg", Role::Text),
    ("reason", Role::CodeOrText),
    ("record", Role::Part),
    ("request", Role::Content),
    ("response", Role::Part),
    ("responsebody", Role::Part),
    ("responsemetadata", Role::Block),
    ("result", Role::Block),
    ("retries", Role::Retries),
    ("retryafter", Role::WaitSeconds),
    ("retryafterinmilliseconds", Role::WaitMilliseconds),
    ("retryafterinms", Role::WaitMilliseconds),
    ("retryafterms", Role::WaitMilliseconds),
    ("retryafterseconds", Role::WaitSeconds),
    ("retryattempts", Role::Retries),
    ("retrycount", Role::Retries),
    ("retrydelay", Role::WaitSeconds),
    ("retrydelayms", Role::WaitMilliseconds),
    ("retryinfo", Role::Block),
    ("rootcause", Role::Cause),
    ("row", Role::Content),
    ("rows", Role::Content),
    ("serviceerrorcode", Role::Code),
    ("serviceerrormessage", Role::Text),
    ("severity", Role::Severity),
    ("severitynonlocalized", Role::Severity),
    ("severityunlocalized", Role::Severity),
    ("source", Role::Cause),
    ("sourceerror", Role::Cause),
    ("sql", Role::Content),
    ("sqlexception", Role::Cause),
    ("sqliteerrorcode", Role::Code),
    ("sqliteerrorname", Role::Code),
    ("sqlmessage", Role::Text),
    ("sqlstate", Role::SqlState),
    ("sqlstatecode", Role::SqlState),
    ("sqltext", Role::Content),
    ("stack", Role::Stack),
    ("stacktrace", Role::Stack),
    ("statement", Role::Content),
    ("status", Role::Status),
    ("statuscode", Role::Status),
    ("suppressed", Role::Cause),
    ("syscall", Role::SystemCall),
    ("systemcall", Role::SystemCall),
    ("terminalstate", Role::FinalState),
    ("text", Role::Text),
    ("totalretries", Role::Retries),
    ("trace", Role::Stack),
    ("traceback", Role::Stack),
    ("type", Role::Class),
    ("unprocessedentries", Role::Unprocessed),
    ("unprocesseditems", Role::Unprocessed),
    ("unprocessedkeys", Role::Unprocessed),
    ("updatecounts", Role::UpdateCounts),
    ("uri", Role::Address),
    ("url", Role::Address),
    ("value", Role::Content),
    ("values", Role::Content),
    ("vendorcode", Role::Code),
    ("vendorerror", Role::Code),
    ("wrappederror", Role::Cause),
    ("writeconcernerror", Role::WriteConcern),
    ("writeconcernerrors", Role::WriteConcern),
    ("writeerrors", Role::BulkErrors),
    ("writetype", Role::WriteType),
    ("xmsretryafterms", Role::WaitMilliseconds),
];

/// The longest spelling in the table, with room for separators.
const LONGEST: usize = 48;

/// The role of a field by its spelling; `None` for a field that says nothing about the error (statements,
/// parameters, documents), which is never looked into.
pub(super) fn role(field: &str) -> Option<Role> {
    if field.len() > LONGEST {
        return None;
    }
    let mut letters = [0; LONGEST];
    let spelling = normal(field, &mut letters);
    let spelling = match spelling.strip_prefix(b"get") {
        Some(rest) if !rest.is_empty() => rest,
        _ => spelling,
    };
    FIELDS.get(spelling)
}

/// A spelling without case and separators: `$metadata` and `Meta-Data` are `metadata`.
fn normal<'a>(field: &str, letters: &'a mut [u8; LONGEST]) -> &'a [u8] {
    let mut len = 0;
    let normal = field.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase());
    for (place, letter) in letters.iter_mut().zip(normal) {
        *place = letter;
        len += 1;
    }
    letters.get(..len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_spelt_in_normal_form() {
        for pair in SPELLINGS.windows(2) {
            assert!(pair[0].0 < pair[1].0, "{} before {}", pair[0].0, pair[1].0);
        }
        for (spelling, _) in SPELLINGS {
            assert_eq!(normal(spelling, &mut [0; LONGEST]), spelling.as_bytes());
        }
    }

    #[test]
    fn one_row_serves_every_language_s_spelling() {
        for field in ["sqlState", "SqlState", "sqlstate", "sql_state", "getSQLState", "SQLState"] {
            assert_eq!(role(field), Some(Role::SqlState), "{field}");
        }
        for field in ["__cause__", "cause", "getCause", "Cause"] {
            assert_eq!(role(field), Some(Role::Cause), "{field}");
        }
        for field in ["parameters", "keyValue", "op", "Item", "sql", "statement", ""] {
            assert!(matches!(role(field), None | Some(Role::Content)), "{field}");
        }
    }
}
