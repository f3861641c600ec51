//! The receipt store on SQLite.

use rusqlite::{Connection, OptionalExtension, Result, params};

use super::{Claim, Error, Fenced, Key, Lifetimes, LookUp, Row, Scope, Ticket, receipt, statements};

/// SQLite numbers its parameters with a question mark, and has no sessions.
fn spelled(statement: &str) -> String {
    statement.replace('$', "?").replace(statements::SESSION, "0")
}

/// Creates the table where it is missing.
pub fn create(connection: &Connection) -> Result<()> {
    connection.execute(&spelled(statements::CREATE), ()).map(drop)
}

/// Claims a key for an attempt that began at this time, in a transaction of its own.
pub fn claim(connection: &Connection, key: &Key, lifetimes: Lifetimes, began_ms: i64) -> Result<Claim> {
    let lease_ends_ms = began_ms.saturating_add(lifetimes.lease_ms);
    let expires_ms = began_ms.saturating_add(lifetimes.retention_ms);
    let fence = connection
        .prepare_cached(&spelled(statements::CLAIM))?
        .query_row(params![key.scope.0, key.payload, lease_ends_ms, expires_ms, began_ms], |row| row.get(0))
        .optional()?;
    if let Some(fence) = fence {
        return Ok(Claim::New(Ticket { scope: key.scope.clone(), fence }));
    }
    // A row that vanished in between has been forgotten: claiming it again will do.
    Ok(read(connection, &key.scope)?.map_or(Claim::InFlight, |row| row.refuse(key, began_ms)))
}

/// Writes the receipt and the result to be replayed, in the write's own transaction, just before COMMIT.
pub fn commit(connection: &Connection, ticket: &Ticket, result: &str) -> Result<(), Error<rusqlite::Error>> {
    let mut statement = connection.prepare_cached(&spelled(statements::COMMIT)).map_err(Error::Store)?;
    match statement.execute(params![result, ticket.scope.0, ticket.fence]).map_err(Error::Store)? {
        0 => Err(Error::Fenced(Fenced)),
        _ => Ok(()),
    }
}

/// Gives the key back after an attempt that is known to have had no effect, so that the next one need not wait.
pub fn release(connection: &Connection, ticket: &Ticket) -> Result<()> {
    connection.execute(&spelled(statements::RELEASE), params![ticket.scope.0, ticket.fence]).map(drop)
}

/// Looks a key up.
pub fn look_up(connection: &Connection, scope: &Scope, now_ms: i64) -> Result<LookUp> {
    let row = read(connection, scope)?;
    Ok(LookUp { receipt: receipt(row.as_ref(), now_ms), fenced: false })
}

/// Fences the key's earlier attempts off, so that none can commit any more, and looks the key up then.
pub fn fence(connection: &Connection, scope: &Scope, lifetimes: Lifetimes, now_ms: i64) -> Result<LookUp> {
    let expires_ms = now_ms.saturating_add(lifetimes.retention_ms);
    connection.execute(&spelled(statements::FENCE), params![scope.0, now_ms, expires_ms])?;
    Ok(LookUp { fenced: true, ..look_up(connection, scope, now_ms)? })
}

/// Forgets the keys that were over at that time; they count as unknown from then on.
pub fn forget(connection: &Connection, before_ms: i64) -> Result<usize> {
    connection.execute(&spelled(statements::FORGET), params![before_ms])
}

fn read(connection: &Connection, scope: &Scope) -> Result<Option<Row>> {
    connection
        .prepare_cached(&spelled(statements::READ))?
        .query_row(params![scope.0], |row| {
            Ok(Row {
                payload: row.get(0)?,
                state: row.get(1)?,
                expires_ms: row.get(2)?,
                result: row.get(3)?,
                fenced_ms: row.get(4)?,
            })
        })
        .optional()
}
