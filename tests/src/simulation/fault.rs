//! What can go wrong, and what of it the client sees.

use fastrand::Rng;

use super::{Dialect, Shape};

/// One thing that goes wrong during an attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// No pooled connection is free.
    PoolBusy,
    /// The server refuses the connection.
    ConnectRefused,
    /// The server refuses the request because there were too many.
    RateLimited,
    /// The connection drops before the statement arrives.
    RequestLost,
    /// The statement is executed, and the connection drops before the answer arrives.
    AnswerLost,
    /// The client stops waiting; the statement waits on a lock and goes on later.
    TimedOut,
    /// The server stops waiting for a lock.
    LockTimeout,
    /// The server ends a deadlock.
    Deadlock,
    /// A rule of the data is broken.
    CheckFailed,
    /// An error that nobody has seen before; the statement may have been executed.
    Odd,
    /// The server crashes before or after executing.
    Crash,
    /// The driver sends the request twice, because the first answer was lost.
    Replayed,
    /// The connection drops before COMMIT arrives.
    CommitRequestLost,
    /// COMMIT is executed, and the connection drops before the answer arrives.
    CommitAnswerLost,
    /// The connection drops, and COMMIT is executed later.
    CommitDelayed,
    /// COMMIT fails because of a concurrent transaction.
    CommitConflict,
    /// COMMIT "succeeds" as ROLLBACK.
    CommitUndone,
    /// Everything is committed, and the result is lost on its way to the caller.
    ResultLost,
}

/// What can go wrong with one statement.
const STATEMENT: &[Fault] = &[
    Fault::PoolBusy,
    Fault::ConnectRefused,
    Fault::RateLimited,
    Fault::RequestLost,
    Fault::AnswerLost,
    Fault::TimedOut,
    Fault::LockTimeout,
    Fault::Deadlock,
    Fault::CheckFailed,
    Fault::Odd,
    Fault::Crash,
    Fault::ResultLost,
];

/// What can go wrong with COMMIT.
const COMMIT: &[Fault] = &[
    Fault::CommitRequestLost,
    Fault::CommitAnswerLost,
    Fault::CommitDelayed,
    Fault::CommitConflict,
    Fault::CommitUndone,
];

impl Fault {
    /// Draws a fault that the shape can meet.
    pub fn draw(dice: &mut Rng, shape: Shape, driver_replays: bool) -> Fault {
        let commit: &[Fault] = if shape == Shape::Transaction { COMMIT } else { &[] };
        let replayed: &[Fault] = if driver_replays { &[Fault::Replayed; 4] } else { &[] };
        let all: Vec<Fault> = [STATEMENT, commit, replayed].concat();
        all[dice.usize(0..all.len())]
    }
}

/// What the client sees of a failure: the driver's error as JSON, and the words in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Seen {
    /// The driver's error, serialised.
    pub error: &'static str,
    /// Its message.
    pub words: &'static str,
}

macro_rules! seen {
    ($words:literal, $error:literal) => {
        Seen { error: $error, words: $words }
    };
}

/// No pooled connection.
pub const POOL_BUSY: Seen = seen!("timeout exceeded when trying to connect", r#"{"condition": "POOL_BUSY"}"#);
/// The host's own timer.
pub const TIMED_OUT: Seen = seen!("Query read timeout", r#"{"condition": "DB_TIMEOUT"}"#);
/// The gateway's limit.
pub const RATE_LIMITED: Seen = seen!("rate limit exceeded", r#"{"condition": "RATE_LIMITED"}"#);
/// The host found the tag ROLLBACK after COMMIT.
pub const COMMIT_UNDONE: Seen =
    seen!("COMMIT returned the tag ROLLBACK", r#"{"condition": "COMMIT_ROLLED_BACK"}"#);
/// The server knows the key and is still busy with it.
pub const IN_PROGRESS: Seen =
    seen!("an operation with this key is in progress", r#"{"condition": "IN_PROGRESS"}"#);
/// Nothing listens.
pub const REFUSED: Seen = seen!(
    "connect ECONNREFUSED 127.0.0.1:5432",
    r#"{"code": "ECONNREFUSED", "errno": -111, "syscall": "connect", "message": "connect ECONNREFUSED 127.0.0.1:5432"}"#
);
/// Nobody has seen this before.
pub const ODD: Seen = seen!("unexpected state 17", r#"{"message": "unexpected state 17"}"#);

impl Dialect {
    /// The connection is gone.
    pub const fn lost(self) -> Seen {
        match self {
            Dialect::Postgresql => seen!(
                "read ECONNRESET",
                r#"{"code": "ECONNRESET", "errno": -104, "syscall": "read", "message": "read ECONNRESET"}"#
            ),
            Dialect::Mysql => seen!(
                "Connection lost: The server closed the connection.",
                r#"{"code": "PROTOCOL_CONNECTION_LOST", "fatal": true, "message": "Connection lost: The server closed the connection."}"#
            ),
        }
    }

    /// The server goes down.
    pub const fn crashed(self) -> Seen {
        match self {
            Dialect::Postgresql => seen!(
                "terminating connection due to administrator command",
                r#"{"name": "error", "severity": "FATAL", "code": "57P01", "message": "terminating connection due to administrator command"}"#
            ),
            Dialect::Mysql => seen!(
                "Server shutdown in progress",
                r#"{"code": "ER_SERVER_SHUTDOWN", "errno": 1053, "sqlState": "08S01", "message": "Server shutdown in progress"}"#
            ),
        }
    }

    /// The server stopped waiting for a lock.
    pub const fn lock_timeout(self) -> Seen {
        match self {
            Dialect::Postgresql => seen!(
                "canceling statement due to lock timeout",
                r#"{"name": "error", "severity": "ERROR", "code": "55P03", "message": "canceling statement due to lock timeout"}"#
            ),
            Dialect::Mysql => seen!(
                "Lock wait timeout exceeded; try restarting transaction",
                r#"{"code": "ER_LOCK_WAIT_TIMEOUT", "errno": 1205, "sqlState": "HY000", "message": "Lock wait timeout exceeded; try restarting transaction"}"#
            ),
        }
    }

    /// The server ended a deadlock.
    pub const fn deadlock(self) -> Seen {
        match self {
            Dialect::Postgresql => seen!(
                "deadlock detected",
                r#"{"name": "error", "severity": "ERROR", "code": "40P01", "message": "deadlock detected"}"#
            ),
            Dialect::Mysql => seen!(
                "Deadlock found when trying to get lock; try restarting transaction",
                r#"{"code": "ER_LOCK_DEADLOCK", "errno": 1213, "sqlState": "40001", "message": "Deadlock found when trying to get lock; try restarting transaction"}"#
            ),
        }
    }

    /// COMMIT met a concurrent transaction.
    pub const fn commit_conflict(self) -> Seen {
        match self {
            Dialect::Postgresql => seen!(
                "could not serialize access due to read/write dependencies among transactions",
                r#"{"name": "error", "severity": "ERROR", "code": "40001", "message": "could not serialize access due to read/write dependencies among transactions"}"#
            ),
            Dialect::Mysql => self.deadlock(),
        }
    }

    /// A rule of the data is broken.
    pub const fn check_failed(self) -> Seen {
        match self {
            Dialect::Postgresql => seen!(
                "new row for relation \"stock\" violates check constraint \"stock_amount_check\"",
                r#"{"name": "error", "severity": "ERROR", "code": "23514", "message": "new row for relation \"stock\" violates check constraint \"stock_amount_check\"", "table": "stock", "constraint": "stock_amount_check"}"#
            ),
            Dialect::Mysql => seen!(
                "Check constraint 'stock_amount_check' is violated.",
                r#"{"code": "ER_CHECK_CONSTRAINT_VIOLATED", "errno": 3819, "sqlState": "HY000", "message": "Check constraint 'stock_amount_check' is violated."}"#
            ),
        }
    }

    /// The receipt's own unique constraint.
    pub const fn key_constraint(self) -> &'static str {
        match self {
            Dialect::Postgresql => "receipts_pkey",
            Dialect::Mysql => "receipts.PRIMARY",
        }
    }

    /// The receipt is there already.
    pub const fn key_violated(self) -> Seen {
        match self {
            Dialect::Postgresql => seen!(
                "duplicate key value violates unique constraint \"receipts_pkey\"",
                r#"{"name": "error", "severity": "ERROR", "code": "23505", "message": "duplicate key value violates unique constraint \"receipts_pkey\"", "table": "receipts", "constraint": "receipts_pkey"}"#
            ),
            Dialect::Mysql => seen!(
                "Duplicate entry 'k-1' for key 'receipts.PRIMARY'",
                r#"{"code": "ER_DUP_ENTRY", "errno": 1062, "sqlState": "23000", "message": "Duplicate entry 'k-1' for key 'receipts.PRIMARY'"}"#
            ),
        }
    }
}
