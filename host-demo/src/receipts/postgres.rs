//! The receipt store on PostgreSQL.

use sqlx::{Error as SqlError, PgConnection, Row as _, query};

use super::{Claim, Error, Fenced, Key, Lifetimes, LookUp, Row, Scope, Ticket, receipt, statements};

/// Creates the table where it is missing.
pub async fn create(connection: &mut PgConnection) -> Result<(), SqlError> {
    query(statements::CREATE).execute(connection).await.map(drop)
}

/// Claims a key for an attempt that began at this time, in a transaction of its own. Waits for a commit under this key
/// that is under way; set `lock_timeout` to bound that.
pub async fn claim(
    connection: &mut PgConnection,
    key: &Key,
    lifetimes: Lifetimes,
    began_ms: i64,
) -> Result<Claim, SqlError> {
    let granted = query(statements::CLAIM)
        .bind(&key.scope.0)
        .bind(&key.payload)
        .bind(began_ms.saturating_add(lifetimes.lease_ms))
        .bind(began_ms.saturating_add(lifetimes.retention_ms))
        .bind(began_ms)
        .fetch_optional(&mut *connection)
        .await?;
    if let Some(row) = granted {
        return Ok(Claim::New(Ticket { scope: key.scope.clone(), fence: row.try_get(0)? }));
    }
    // A row that vanished in between has been forgotten: claiming it again will do.
    Ok(read(connection, &key.scope).await?.map_or(Claim::InFlight, |row| row.refuse(key, began_ms)))
}

/// Writes the receipt and the result to be replayed, in the write's own transaction, just before COMMIT.
pub async fn commit(
    connection: &mut PgConnection,
    ticket: &Ticket,
    result: &str,
) -> Result<(), Error<SqlError>> {
    let done = query(statements::COMMIT)
        .bind(&ticket.scope.0)
        .bind(ticket.fence)
        .bind(result)
        .execute(connection)
        .await
        .map_err(Error::Store)?;
    match done.rows_affected() {
        0 => Err(Error::Fenced(Fenced)),
        _ => Ok(()),
    }
}

/// Gives the key back after an attempt that is known to have had no effect, so that the next one need not wait.
pub async fn release(connection: &mut PgConnection, ticket: &Ticket) -> Result<(), SqlError> {
    query(statements::RELEASE).bind(&ticket.scope.0).bind(ticket.fence).execute(connection).await.map(drop)
}

/// Looks a key up.
pub async fn look_up(connection: &mut PgConnection, scope: &Scope, now_ms: i64) -> Result<LookUp, SqlError> {
    let row = read(connection, scope).await?;
    Ok(LookUp { receipt: receipt(row.as_ref(), now_ms), fenced: false })
}

/// Fences the key's earlier attempts off, so that none can commit any more, and looks the key up then. Waits for a commit
/// that is under way; where that takes longer than `lock_timeout`, its session is ended (PostgreSQL 14 or later).
pub async fn fence(
    connection: &mut PgConnection,
    scope: &Scope,
    lifetimes: Lifetimes,
    now_ms: i64,
) -> Result<LookUp, SqlError> {
    let expires_ms = now_ms.saturating_add(lifetimes.retention_ms);
    let fence = || query(statements::FENCE).bind(&scope.0).bind(now_ms).bind(expires_ms);
    match fence().execute(&mut *connection).await {
        Err(error) if is_blocked(&error) => {
            query(statements::SEVER).bind(&scope.0).execute(&mut *connection).await?;
            fence().execute(&mut *connection).await?;
        }
        fenced => {
            fenced?;
        }
    }
    Ok(LookUp { fenced: true, ..look_up(connection, scope, now_ms).await? })
}

/// Did a statement give up waiting? By `lock_timeout`, or by `statement_timeout`.
fn is_blocked(error: &SqlError) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    matches!(code.as_deref(), Some("55P03" | "57014"))
}

/// Forgets the keys that were over at that time; they count as unknown from then on.
pub async fn forget(connection: &mut PgConnection, before_ms: i64) -> Result<u64, SqlError> {
    query(statements::FORGET).bind(before_ms).execute(connection).await.map(|done| done.rows_affected())
}

async fn read(connection: &mut PgConnection, scope: &Scope) -> Result<Option<Row>, SqlError> {
    let row = query(statements::READ).bind(&scope.0).fetch_optional(connection).await?;
    row.map(|row| {
        Ok(Row {
            payload: row.try_get(0)?,
            state: row.try_get(1)?,
            expires_ms: row.try_get(2)?,
            result: row.try_get(3)?,
            fenced_ms: row.try_get(4)?,
        })
    })
    .transpose()
}
