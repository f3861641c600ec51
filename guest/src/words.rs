//! The closed vocabularies of the contract: every word a report or a verdict may hold, in one place.
//!
//! Reports carry words as strings. A word that is absent gets the documented default; a word that is
//! present but unknown gets the *cautious* reading, which never makes a retry look safer than it is.

/// Declares an enum of words with its spelling, its default (absent) and its cautious (unknown) reading.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident, absent $absent:ident, unknown $unknown:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name { $($(#[$variant_meta])* #[cfg_attr(feature = "schema", schemars(rename = $word))] $variant),+ }

        impl $name {
            /// Every word, in the order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The word as it is spelled in JSON (WIT strings use the same spelling).
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            /// The word for a spelling; case and `-` against `_` do not matter. `None` for any other text.
            pub fn parse(text: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|word| same_word(word.as_str(), text))
            }

            /// The reading of a field: absent gives the default, an unknown word the cautious reading.
            pub fn reading(text: Option<&str>) -> $name {
                match text {
                    None => $name::$absent,
                    Some(text) => $name::parse(text).unwrap_or($name::$unknown),
                }
            }
        }

        impl Default for $name {
            fn default() -> $name { $name::$absent }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

words! {
    /// What the operation does to the data.
    Effect, absent Write, unknown Write {
        /// Changes nothing.
        Read = "read",
        /// A write that may be repeated later, also after other writers: its repetition changes nothing more.
        IdempotentWrite = "idempotent_write",
        /// Any other write.
        Write = "write",
    }
}

words! {
    /// How far the host had got when the error came.
    Phase, absent Unknown, unknown Unknown {
        /// Checking the tool's arguments.
        Validate = "validate",
        /// Checking the caller's permission.
        Authorize = "authorize",
        /// Waiting for a pooled connection.
        Acquire = "acquire",
        /// Opening a connection.
        Connect = "connect",
        /// Writing the statement to the server.
        Send = "send",
        /// Waiting for the server to execute it.
        Execute = "execute",
        /// Reading its rows.
        Fetch = "fetch",
        /// From writing COMMIT until its answer.
        Commit = "commit",
        /// From writing ROLLBACK until its answer.
        Rollback = "rollback",
        /// After the server confirmed everything.
        Done = "done",
        /// Not known.
        Unknown = "unknown",
    }
}

impl Phase {
    /// Is this a phase in which nothing of the operation can have reached the server?
    pub const fn is_before_sending(self) -> bool {
        matches!(self, Phase::Validate | Phase::Authorize | Phase::Acquire | Phase::Connect)
    }
}

words! {
    /// The transaction around the statement, as the host's driver sees it.
    Transaction, absent Unknown, unknown Unknown {
        /// Autocommit: every statement is its own transaction.
        None = "none",
        /// Begun, and no COMMIT has been written (pipelined ones included).
        Open = "open",
        /// COMMIT was written, its answer has not been read.
        Committing = "committing",
        /// The server confirmed COMMIT.
        Committed = "committed",
        /// The server confirmed ROLLBACK.
        RolledBack = "rolled_back",
        /// The server has declared the transaction failed; only ROLLBACK is accepted.
        Failed = "failed",
        /// Prepared for two-phase commit: its fate is decided elsewhere.
        Prepared = "prepared",
        /// Not known.
        Unknown = "unknown",
    }
}

words! {
    /// What one unit of work is.
    Unit, absent Statement, unknown Procedure {
        /// One statement that touches one row, key or document, or an SQL statement.
        Statement = "statement",
        /// One statement that may touch several rows, keys or documents.
        Many = "many",
        /// Several statements sent together.
        Batch = "batch",
        /// A stored procedure or script, which may commit by itself.
        Procedure = "procedure",
        /// A change of the schema.
        Ddl = "ddl",
    }
}

words! {
    /// Who wrote the statement.
    Origin, absent Tool, unknown Tool {
        /// The tool's author: pinned SQL.
        Tool = "tool",
        /// The model.
        Model = "model",
    }
}

words! {
    /// What happens when the same operation key arrives twice.
    Dedupe, absent None, unknown None {
        /// Nothing: the write runs again.
        None = "none",
        /// A receipt is written in the write's transaction and can be looked up.
        Receipt = "receipt",
        /// The server itself refuses or replays a repeated key.
        Enforced = "enforced",
    }
}

words! {
    /// What a look-up of the operation key's receipt said.
    Receipt, absent None, unknown Unavailable {
        /// Not looked up.
        None = "none",
        /// The write is there.
        Committed = "committed",
        /// There is no receipt. Proves something only together with `fenced`.
        Absent = "absent",
        /// The write is still in flight.
        Pending = "pending",
        /// The receipt's time is over.
        Expired = "expired",
        /// The look-up failed.
        Unavailable = "unavailable",
    }
}

words! {
    /// May the driver have sent the request more than once by itself?
    Replays, absent None, unknown Possible {
        /// No.
        None = "none",
        /// Yes.
        Possible = "possible",
    }
}

words! {
    /// The joined outcome of the operation's earlier attempts.
    Prior, absent None, unknown Unknown {
        /// There was no earlier attempt.
        None = "none",
        /// No earlier attempt reached the server.
        NotStarted = "not_started",
        /// Every earlier attempt is known to have had no effect.
        NotCommitted = "not_committed",
        /// At least one earlier attempt may have had an effect.
        Unknown = "unknown",
        /// An earlier attempt had its effect.
        Committed = "committed",
    }
}

words! {
    /// Was the statement cancelled, and what is known of it?
    Cancel, absent None, unknown Requested {
        /// No cancel was asked for.
        None = "none",
        /// Asked for, not confirmed.
        Requested = "requested",
        /// The server reported this statement aborted.
        Confirmed = "confirmed",
        /// The cancel itself failed; the statement may go on.
        Failed = "failed",
    }
}

words! {
    /// The closed set of categories: what kind of thing went wrong.
    Category, absent Permanent, unknown Permanent {
        /// The arguments or the query are at fault.
        Validation = "validation",
        /// The caller has to say more.
        Clarification = "clarification",
        /// Refused, without a hint why.
        Authorization = "authorization",
        /// What was asked for does not exist.
        NotFound = "not_found",
        /// The data's present state is in the way.
        Conflict = "conflict",
        /// It may work later.
        Transient = "transient",
        /// It will not work, however often it is tried.
        Permanent = "permanent",
        /// Nobody knows whether the write took effect.
        UnknownOutcome = "unknown_outcome",
    }
}

words! {
    /// The closed set of outcomes: what happened to the write.
    Outcome, absent Unknown, unknown Unknown {
        /// It never reached the database.
        NotStarted = "not_started",
        /// It had no lasting effect.
        NotCommitted = "not_committed",
        /// It took effect.
        Committed = "committed",
        /// It may or may not have taken effect.
        Unknown = "unknown",
    }
}

impl Outcome {
    /// The operation's outcome from two attempts': committed > unknown > not_committed > not_started.
    pub fn join(self, other: Outcome) -> Outcome {
        const RISING: [Outcome; 4] =
            [Outcome::NotStarted, Outcome::NotCommitted, Outcome::Unknown, Outcome::Committed];
        let rank = |outcome| RISING.iter().position(|at| *at == outcome);
        if rank(self) >= rank(other) { self } else { other }
    }

    /// Is it certain that the write had no effect?
    pub const fn is_without_effect(self) -> bool {
        matches!(self, Outcome::NotStarted | Outcome::NotCommitted)
    }
}

words! {
    /// What to do next.
    Next, absent Stop, unknown Stop {
        /// Correct the arguments or the query, then call again.
        Fix = "fix",
        /// Ask the user, then call again.
        Clarify = "clarify",
        /// A person has to act.
        Escalate = "escalate",
        /// Read the present state, then decide anew.
        Refresh = "refresh",
        /// Call again after `retry_after_ms`.
        Retry = "retry",
        /// Call again after `retry_after_ms` with the same operation key.
        Resubmit = "resubmit",
        /// Look the operation key up after `check_after_ms`.
        Reconcile = "reconcile",
        /// Nothing: the write is there.
        Done = "done",
        /// Give up.
        Stop = "stop",
    }
}

words! {
    /// How much has to be repeated.
    Scope, absent Operation, unknown Operation {
        /// The statement alone: its transaction is alive.
        Statement = "statement",
        /// The whole transaction.
        Transaction = "transaction",
        /// The whole operation.
        Operation = "operation",
    }
}

words! {
    /// What the host does with the connection before any envelope leaves it.
    Cleanup, absent None, unknown DiscardConnection {
        /// Nothing.
        None = "none",
        /// Roll the transaction back.
        Rollback = "rollback",
        /// Close the connection instead of returning it to the pool.
        DiscardConnection = "discard_connection",
        /// Cancel the statement on the server, which goes on running otherwise, then close the connection.
        CancelThenDiscard = "cancel_then_discard",
    }
}

words! {
    /// Why the decision is what it is.
    Reason, absent NotTransient, unknown NotTransient {
        /// The condition passes, and nothing was written.
        NoEffect = "no_effect",
        /// The condition passes, and repeating the operation is harmless.
        Repeatable = "repeatable",
        /// The condition does not pass by waiting.
        NotTransient = "not_transient",
        /// The condition passes, but the write may have taken effect.
        OutcomeUnknown = "outcome_unknown",
        /// The write took effect.
        Committed = "committed",
        /// The operation's receipt is pending.
        InFlight = "in_flight",
        /// No attempt is left.
        Attempts = "attempts",
        /// A retry could not finish before the deadline.
        Deadline = "deadline",
        /// The operation key would have expired.
        KeyExpired = "key_expired",
        /// No retry token is left.
        Budget = "budget",
        /// The error was not recognised.
        Unrecognised = "unrecognised",
        /// The report could not be read.
        ToolFault = "tool_fault",
    }
}

words! {
    /// The state of the connection after the error.
    Connection, absent Unknown, unknown Unknown {
        /// It still answers.
        Alive = "alive",
        /// It is gone.
        Lost = "lost",
        /// Not known.
        Unknown = "unknown",
        /// There was none.
        None = "none",
    }
}

/// Are the spelling of a word and a host's text the same, apart from case and `-` for `_`?
fn same_word(word: &str, text: &str) -> bool {
    word.len() == text.len()
        && word
            .bytes()
            .zip(text.bytes())
            .all(|(word, text)| word == text.to_ascii_lowercase() || (word == b'_' && text == b'-'))
}
