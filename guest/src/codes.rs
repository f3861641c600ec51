//! The table of public codes: the published contract, from which reference page and schemas are generated.
//!
//! A code is never renamed and never used for anything else. Its message is constant: no evidence text has a
//! way into it.

use crate::words::{Category, Next};

/// What a native error proves about the write that it answers.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Proof {
    /// Nothing: the error was not recognised.
    Nothing,
    /// The request never reached the server: refused, not resolved, no pooled connection.
    NeverSent,
    /// The server refused the statement before it touched anything: parse, plan, permission, rate limit.
    Rejected,
    /// The server refused the statement while executing it: the effects of one atomic unit are undone.
    Refused,
    /// The answer is missing: connection lost, client-side timeout, shutdown, cancel not confirmed.
    Lost,
    /// A part may have been applied: bulk errors, non-transactional tables.
    Partial,
    /// The server itself says that the operation was not committed.
    SaysNotCommitted,
    /// The server itself says that the operation was committed.
    SaysCommitted,
    /// The server itself says that it does not know.
    SaysUnknown,
}

impl Proof {
    /// The word in the restricted diagnostic and in the tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Proof::Nothing => "nothing",
            Proof::NeverSent => "never_sent",
            Proof::Rejected => "rejected",
            Proof::Refused => "refused",
            Proof::Lost => "lost",
            Proof::Partial => "partial",
            Proof::SaysNotCommitted => "says_not_committed",
            Proof::SaysCommitted => "says_committed",
            Proof::SaysUnknown => "says_unknown",
        }
    }
}

/// How long the condition usually lasts: the factor on `policy.base_ms` that backoff starts with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lasting {
    /// Locks, deadlocks, a busy pool: factor 1.
    Short,
    /// Connections and timeouts: factor 2.
    Medium,
    /// Rate limits, failovers, overload: factor 10.
    Long,
}

impl Lasting {
    /// The factor on `policy.base_ms`.
    pub const fn factor(self) -> u32 {
        match self {
            Lasting::Short => 1,
            Lasting::Medium => 2,
            Lasting::Long => 10,
        }
    }
}

/// Declares the codes with all that the contract fixes about them.
macro_rules! codes {
    ($($(#[$meta:meta])* $variant:ident = $name:literal: $category:ident, $next:ident, $proof:ident, $lasting:ident, $message:literal;)+) => {
        /// A public code, in the envelope's `code` and in telemetry's `error.type`.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Code { $(#[doc = $message] #[cfg_attr(feature = "schema", schemars(rename = $name))] $variant),+ }

        impl Code {
            /// Every code, in the order of the contract.
            pub const ALL: &'static [Code] = &[$(Code::$variant),+];

            /// The code as it is published.
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $name),+ }
            }

            /// The category the code belongs to.
            pub const fn category(self) -> Category {
                match self { $(Code::$variant => Category::$category),+ }
            }

            /// The next step where nothing better is known.
            pub const fn next(self) -> Next {
                match self { $(Code::$variant => Next::$next),+ }
            }

            /// What the condition proves where a host names it instead of a driver's error.
            pub const fn proof(self) -> Proof {
                match self { $(Code::$variant => Proof::$proof),+ }
            }

            /// How long the condition usually lasts.
            pub const fn lasting(self) -> Lasting {
                match self { $(Code::$variant => Lasting::$lasting),+ }
            }

            /// The constant text that the model reads.
            pub const fn message(self) -> &'static str {
                match self { $(Code::$variant => $message),+ }
            }
        }
    };
}

codes! {
    InvalidArgument = "INVALID_ARGUMENT": Validation, Fix, Rejected, Short, "An argument is not valid. Correct the arguments and call again.";
    MissingArgument = "MISSING_ARGUMENT": Validation, Fix, Rejected, Short, "A required argument is missing. Add it and call again.";
    UnsupportedValue = "UNSUPPORTED_VALUE": Validation, Fix, Rejected, Short, "An argument has a value that this tool does not offer. Choose one of the documented values.";
    OutOfRange = "OUT_OF_RANGE": Validation, Fix, Refused, Short, "A value is outside its permitted range. Use a value inside it.";
    ValueTooLong = "VALUE_TOO_LONG": Validation, Fix, Refused, Short, "A value is longer than its field. Shorten it and call again.";
    InvalidFormat = "INVALID_FORMAT": Validation, Fix, Refused, Short, "A value does not have the format of its type. Correct the format and call again.";
    NullNotAllowed = "NULL_NOT_ALLOWED": Validation, Fix, Refused, Short, "A value that must be present is missing. Supply it and call again.";
    InvalidQuery = "INVALID_QUERY": Validation, Fix, Rejected, Short, "The query is not valid for this database. Correct the query and call again.";
    UnknownObject = "UNKNOWN_OBJECT": Validation, Fix, Rejected, Short, "The query names an object that does not exist. Look the names up and correct the query.";
    ResultTooLarge = "RESULT_TOO_LARGE": Validation, Fix, Refused, Short, "The result is larger than this tool returns. Ask for fewer rows or columns.";
    RequestTooLarge = "REQUEST_TOO_LARGE": Validation, Fix, Rejected, Short, "The request is larger than the database accepts. Split it into smaller calls.";
    InvalidKey = "INVALID_KEY": Validation, Fix, Rejected, Short, "The operation key is not valid. Use 1 to 256 visible ASCII characters.";
    AmbiguousScope = "AMBIGUOUS_SCOPE": Clarification, Clarify, Rejected, Short, "The request can be read in more than one way. Ask which one is meant.";
    ApprovalNeeded = "APPROVAL_NEEDED": Clarification, Clarify, Rejected, Short, "This operation needs an approval. Ask for it before calling again.";
    QueryTooBroad = "QUERY_TOO_BROAD": Clarification, Clarify, Rejected, Short, "The request covers too much. Ask for a narrower one.";
    NotAuthorized = "NOT_AUTHORIZED": Authorization, Escalate, Rejected, Short, "The request is not permitted, or its object does not exist. Do not repeat it.";
    CredentialsRejected = "CREDENTIALS_REJECTED": Authorization, Escalate, NeverSent, Short, "The database did not accept this tool's credentials. The tool's operator has to act.";
    NotFound = "NOT_FOUND": NotFound, Fix, Refused, Short, "What was asked for does not exist. Check the identifier.";
    UniqueViolation = "UNIQUE_VIOLATION": Conflict, Fix, Refused, Short, "An entry with this unique value exists already. Use another value, or change the existing entry.";
    FkViolation = "FK_VIOLATION": Conflict, Fix, Refused, Short, "A referenced entry is missing, or the entry is still referenced. Correct the reference first.";
    CheckViolation = "CHECK_VIOLATION": Conflict, Fix, Refused, Short, "A value breaks a rule of the data. Use a permitted value.";
    ExclusionViolation = "EXCLUSION_VIOLATION": Conflict, Fix, Refused, Short, "The entry overlaps an existing one. Use a value that does not overlap.";
    TriggerRejected = "TRIGGER_REJECTED": Conflict, Fix, Refused, Short, "A rule of the database rejected the change. Check the rules for this kind of change.";
    AlreadyExists = "ALREADY_EXISTS": Conflict, Fix, Refused, Short, "What was to be created exists already. Use it, or choose another name.";
    VersionConflict = "VERSION_CONFLICT": Conflict, Refresh, Refused, Short, "The entry was changed in the meantime. Read it again, then decide anew.";
    StateConflict = "STATE_CONFLICT": Conflict, Refresh, Refused, Short, "The data's present state does not permit the change. Read it again, then decide anew.";
    KeyReused = "KEY_REUSED": Conflict, Fix, Rejected, Short, "This operation key was used with another payload. Use a new key for a new operation.";
    InProgress = "IN_PROGRESS": Conflict, Reconcile, SaysUnknown, Short, "An operation with this key is still running. Look it up later; do not repeat it.";
    CursorExpired = "CURSOR_EXPIRED": Conflict, Refresh, Rejected, Short, "The cursor is no longer valid. Start reading from the beginning.";
    PoolBusy = "POOL_BUSY": Transient, Stop, NeverSent, Short, "No database connection was free in time. Nothing was sent.";
    DbTimeout = "DB_TIMEOUT": Transient, Stop, Lost, Medium, "The database did not answer in time.";
    LockTimeout = "LOCK_TIMEOUT": Transient, Stop, Refused, Short, "Another operation holds a lock on the data.";
    Deadlock = "DEADLOCK": Transient, Stop, Refused, Short, "Two operations blocked each other, and the database ended this one.";
    SerializationFailure = "SERIALIZATION_FAILURE": Transient, Stop, Refused, Short, "A concurrent operation changed the same data, and the database undid this one.";
    ConnectionFailed = "CONNECTION_FAILED": Transient, Stop, NeverSent, Medium, "No connection to the database could be opened. Nothing was sent.";
    ConnectionLost = "CONNECTION_LOST": Transient, Stop, Lost, Medium, "The connection to the database was lost.";
    TooManyConnections = "TOO_MANY_CONNECTIONS": Transient, Stop, NeverSent, Long, "The database has no connection left. Nothing was sent.";
    RateLimited = "RATE_LIMITED": Transient, Stop, Rejected, Long, "The database limits the rate of requests.";
    DbUnavailable = "DB_UNAVAILABLE": Transient, Stop, Lost, Long, "The database is not available at present.";
    NotPrimary = "NOT_PRIMARY": Transient, Stop, Rejected, Long, "The database server is not the one that accepts writes at present.";
    ResourceExhausted = "RESOURCE_EXHAUSTED": Transient, Stop, Refused, Long, "The database is short of memory or another resource.";
    StalePlan = "STALE_PLAN": Transient, Stop, Rejected, Short, "The schema changed under a prepared statement.";
    CommitRolledBack = "COMMIT_ROLLED_BACK": Transient, Stop, SaysNotCommitted, Short, "The database rolled the transaction back instead of committing it.";
    ContractBroken = "CONTRACT_BROKEN": Permanent, Escalate, Rejected, Short, "This tool no longer fits the database's schema. The tool's operator has to act.";
    UnsupportedOperation = "UNSUPPORTED_OPERATION": Permanent, Stop, Rejected, Short, "The database does not support this operation.";
    ReadOnly = "READ_ONLY": Permanent, Stop, Rejected, Short, "The database accepts no writes here.";
    TransactionState = "TRANSACTION_STATE": Permanent, Stop, Rejected, Short, "The transaction is in a state that does not permit this statement.";
    Cancelled = "CANCELLED": Permanent, Stop, Lost, Short, "The operation was cancelled.";
    Configuration = "CONFIGURATION": Permanent, Escalate, NeverSent, Short, "This tool's connection to the database is not set up correctly. The tool's operator has to act.";
    StorageFull = "STORAGE_FULL": Permanent, Escalate, Refused, Short, "The database has no storage left. The database's operator has to act.";
    DataCorrupted = "DATA_CORRUPTED": Permanent, Escalate, Lost, Short, "The database found its data damaged. The database's operator has to act.";
    DatabaseError = "DATABASE_ERROR": Permanent, Stop, Nothing, Short, "The database reported an error that a retry does not mend.";
    ToolFault = "TOOL_FAULT": Permanent, Escalate, Nothing, Short, "This tool failed to handle an error. The tool's operator has to act.";
    AlreadyApplied = "ALREADY_APPLIED": Permanent, Done, SaysCommitted, Short, "The operation with this key was applied earlier. Do not repeat it.";
    ResultLost = "RESULT_LOST": Permanent, Done, SaysCommitted, Short, "The operation was applied, but its result was lost. Do not repeat it.";
    OutcomeUnknown = "OUTCOME_UNKNOWN": UnknownOutcome, Escalate, SaysUnknown, Medium, "It is not known whether the operation took effect. Do not repeat it before that is known.";
    PartialOutcome = "PARTIAL_OUTCOME": UnknownOutcome, Escalate, Partial, Medium, "A part of the operation may have taken effect. Do not repeat it before that is known.";
}

impl Code {
    /// The code for its published name; `None` for any other text.
    pub fn parse(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.as_str() == name)
    }

    /// Does the condition pass by itself, so that waiting and trying again can help?
    pub const fn is_transient(self) -> bool {
        matches!(self.category(), Category::Transient)
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
