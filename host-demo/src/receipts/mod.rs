//! Receipts: how a write that was sent twice is found to be one write.
//!
//! A host claims the operation key before it writes, writes the receipt in the *same transaction* as the change, and
//! looks it up when an answer was lost. A claim has a fence number: whoever fences the key, or claims it anew after
//! its lease, leaves the earlier attempt unable to commit. Only then does an absent receipt prove that nothing
//! happened: an attempt that is not fenced off may still wait on a lock and commit after the look-up. An attempt may
//! even wait for a connection, its claim unsent: the fence leaves its time in the key's row, and what began by then
//! claims in vain. A session that hangs in its commit and so keeps the fence waiting is ended by the server.
//!
//! A key belongs to a principal and a tool, both from the host's session and never from the model's arguments, and it
//! stands for one payload. Only hashes are stored. An unknown key and somebody else's are the same to whoever asks.
//!
//! Nothing here reads a clock: the host passes the time, in milliseconds since the Unix epoch.

#[macro_use]
mod server;
pub mod mysql;
pub mod postgres;
pub mod sqlite;

use retort::report::Token;
use retort::words::Receipt;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The name of the table's primary key: pass it as `key_constraint` in reports.
pub const KEY_CONSTRAINT: &str = "retort_receipts_key";

/// Whose key it is: a hash of principal, tool and operation key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Scope(String);

impl Scope {
    /// The scope of one principal's key for one tool. `None` where the operation key is not one of 1 to 256 visible
    /// ASCII characters.
    pub fn new(principal: &str, tool: &str, operation_key: &str) -> Option<Scope> {
        Token::key(operation_key)?;
        Some(Scope(hash(&[principal, tool, operation_key].map(str::as_bytes))))
    }

    /// The scope together with what is to be done under the key.
    pub fn key(self, payload: &[u8]) -> Key {
        Key { scope: self, payload: hash(&[payload]) }
    }
}

/// A key with a hash of its payload: what an attempt claims.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Key {
    scope: Scope,
    payload: String,
}

impl Key {
    /// Whose key it is.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }
}

/// Lengths before texts, so that no two lists of texts hash alike by their joints.
fn hash(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    format!("{:x}", hash.finalize())
}

/// How long claims and receipts last, in milliseconds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Lifetimes {
    /// After this, a claim may be taken over: the attempt that made it can no longer commit then.
    pub lease_ms: i64,
    /// After this, a key is over: it is neither replayed nor executed again.
    pub retention_ms: i64,
}

impl Default for Lifetimes {
    /// Half a minute for an attempt, a day for a receipt.
    fn default() -> Lifetimes {
        Lifetimes { lease_ms: 30_000, retention_ms: 86_400_000 }
    }
}

/// What claiming a key comes to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Claim {
    /// The key is this attempt's: write, and commit the ticket in the write's own transaction.
    New(Ticket),
    /// Another attempt holds the key: the condition `IN_PROGRESS`.
    InFlight,
    /// The write is there: answer with the stored result of the first success.
    Committed(String),
    /// The key's time is over: it proves nothing any more.
    Expired,
    /// The key belongs to another payload: the condition `KEY_REUSED`.
    Reused,
    /// A look-up has said since the attempt began that nothing happened: `COMMIT_ROLLED_BACK`, and nothing is written.
    Fenced,
}

/// The right to commit one attempt under a key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ticket {
    scope: Scope,
    fence: i64,
}

/// Another attempt, or a look-up, has fenced this one off. Roll the transaction back: nothing of it may commit.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the operation key was claimed or fenced by another attempt")]
pub struct Fenced;

/// Why a receipt was not written.
#[derive(Debug, thiserror::Error)]
pub enum Error<E> {
    /// Roll back: the key has been taken from this attempt.
    #[error(transparent)]
    Fenced(#[from] Fenced),
    /// The database's own error.
    #[error("the receipt store failed")]
    Store(#[source] E),
}

/// What the receipt tool answers about a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct LookUp {
    /// committed, absent, pending, expired, unavailable; the word for `operation.receipt`.
    pub receipt: Receipt,
    /// Can no earlier attempt commit any more? For `operation.fenced`.
    pub fenced: bool,
}

impl LookUp {
    /// The answer where the store itself failed.
    pub const UNAVAILABLE: LookUp = LookUp { receipt: Receipt::Unavailable, fenced: false };
}

/// A row as it is read.
struct Row {
    payload: String,
    state: String,
    expires_ms: i64,
    result: Option<String>,
    fenced_ms: i64,
}

impl Row {
    /// What a claim that was not granted comes to.
    fn refuse(self, key: &Key, began_ms: i64) -> Claim {
        // Without a payload the row is a fence that came before any claim.
        if !self.payload.is_empty() && self.payload != key.payload {
            Claim::Reused
        } else if self.expires_ms <= began_ms {
            Claim::Expired
        } else if self.state == "committed" {
            Claim::Committed(self.result.unwrap_or_default())
        } else if self.fenced_ms >= began_ms {
            Claim::Fenced
        } else {
            Claim::InFlight
        }
    }
}

/// What a row says to whoever looks its key up.
fn receipt(row: Option<&Row>, now_ms: i64) -> Receipt {
    match row {
        None => Receipt::Absent,
        Some(row) if row.expires_ms <= now_ms => Receipt::Expired,
        Some(row) => match row.state.as_str() {
            "committed" => Receipt::Committed,
            "in_flight" => Receipt::Pending,
            _ => Receipt::Absent,
        },
    }
}

/// The statements, in PostgreSQL's spelling.
mod statements {
    /// One row a key. States: new (claimable again), in_flight, committed; expired is told by the time. `holder` is the
    /// session that claimed the key, `fenced_ms` the time of the last fence (-1: none).
    pub const CREATE: &str = "\
        CREATE TABLE IF NOT EXISTS retort_receipts (\
        scope TEXT NOT NULL CONSTRAINT retort_receipts_key PRIMARY KEY, \
        payload TEXT NOT NULL, \
        state TEXT NOT NULL CHECK (state IN ('new', 'in_flight', 'committed')), \
        fence BIGINT NOT NULL, \
        lease_ends_ms BIGINT NOT NULL, \
        expires_ms BIGINT NOT NULL, \
        holder BIGINT NOT NULL, \
        fenced_ms BIGINT NOT NULL, \
        result TEXT)";
    /// The session that a statement runs in.
    pub const SESSION: &str = "pg_backend_pid()";
    /// Scope, payload, end of the lease, end of the key, begin of the attempt. A row comes back where the claim is granted.
    pub const CLAIM: &str = "\
        INSERT INTO retort_receipts (scope, payload, state, fence, lease_ends_ms, expires_ms, holder, fenced_ms) \
        VALUES ($1, $2, 'in_flight', 1, $3, $4, pg_backend_pid(), -1) \
        ON CONFLICT (scope) DO UPDATE SET state = 'in_flight', payload = excluded.payload, \
        fence = retort_receipts.fence + 1, lease_ends_ms = excluded.lease_ends_ms, holder = excluded.holder \
        WHERE retort_receipts.payload IN (excluded.payload, '') AND retort_receipts.expires_ms > $5 \
        AND retort_receipts.fenced_ms < $5 AND (retort_receipts.state = 'new' \
        OR (retort_receipts.state = 'in_flight' AND retort_receipts.lease_ends_ms <= $5)) \
        RETURNING fence";
    /// Scope.
    pub const READ: &str =
        "SELECT payload, state, expires_ms, result, fenced_ms FROM retort_receipts WHERE scope = $1";
    /// Result, scope, fence. No row changes where the attempt has been fenced off.
    pub const COMMIT: &str = "\
        UPDATE retort_receipts SET state = 'committed', result = $1 \
        WHERE scope = $2 AND fence = $3 AND state = 'in_flight'";
    /// Scope, now, end of the key. Waits for a commit that is under way.
    pub const FENCE: &str = "\
        INSERT INTO retort_receipts (scope, payload, state, fence, lease_ends_ms, expires_ms, holder, fenced_ms) \
        VALUES ($1, '', 'new', 1, $2, $3, 0, $2) \
        ON CONFLICT (scope) DO UPDATE SET state = 'new', fence = retort_receipts.fence + 1, \
        fenced_ms = excluded.fenced_ms WHERE retort_receipts.state <> 'committed'";
    /// Scope. Ends the session that holds the key, and waits a second for its end.
    pub const SEVER: &str = "\
        SELECT pg_terminate_backend(holder::integer, 1000) FROM retort_receipts \
        WHERE scope = $1 AND state = 'in_flight' AND holder <> pg_backend_pid()";
    /// Scope, fence.
    pub const RELEASE: &str = "\
        UPDATE retort_receipts SET state = 'new' WHERE scope = $1 AND fence = $2 AND state = 'in_flight'";
    /// A time: keys that were over by then are forgotten, and could be used anew.
    pub const FORGET: &str = "DELETE FROM retort_receipts WHERE expires_ms <= $1";
}
