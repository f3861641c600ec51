//! The receipt store on PostgreSQL.

use sqlx::{Error as SqlError, PgConnection, Row as _, query};

use super::statements::{CLAIM, COMMIT, CREATE, FENCE, FORGET, READ, RELEASE, SEVER};
use super::{Claim, Error, Fenced, Key, Lifetimes, LookUp, Row, Scope, Ticket, receipt};

server_store!(PgConnection);

/// Claims a key for an attempt that began at this time, in a transaction of its own. Waits for a commit under this key
/// that is under way; set `lock_timeout` to bound that.
pub async fn claim(
    connection: &mut PgConnection,
    key: &Key,
    lifetimes: Lifetimes,
    began_ms: i64,
) -> Result<Claim, SqlError> {
    let granted = query(CLAIM)
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

/// Ends the session that holds the key.
async fn sever(connection: &mut PgConnection, scope: &Scope) -> Result<(), SqlError> {
    query(SEVER).bind(&scope.0).execute(connection).await.map(drop)
}

/// Did a statement give up waiting? By `lock_timeout`, or by `statement_timeout`.
fn is_blocked(error: &SqlError) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    matches!(code.as_deref(), Some("55P03" | "57014"))
}
