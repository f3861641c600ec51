//! The receipt store on MySQL and MariaDB.

use sqlx::mysql::MySqlDatabaseError;
use sqlx::{AssertSqlSafe, Error as SqlError, Executor as _, MySqlConnection, query, query_scalar};

use super::{Claim, Error, Fenced, Key, Lifetimes, LookUp, Row, Scope, Ticket, receipt};

const CREATE: &str = "\
    CREATE TABLE IF NOT EXISTS retort_receipts (\
    scope VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY, \
    payload VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, \
    state VARCHAR(10) NOT NULL CHECK (state IN ('new', 'in_flight', 'committed')), \
    fence BIGINT NOT NULL, \
    lease_ends_ms BIGINT NOT NULL, \
    expires_ms BIGINT NOT NULL, \
    holder BIGINT NOT NULL, \
    fenced_ms BIGINT NOT NULL, \
    result TEXT) ENGINE = InnoDB";
/// Scope, payload, end of the lease, end of the key.
const INSERT: &str = "\
    INSERT IGNORE INTO retort_receipts (scope, payload, state, fence, lease_ends_ms, expires_ms, holder, fenced_ms) \
    VALUES (?, ?, 'in_flight', 1, ?, ?, CONNECTION_ID(), -1)";
/// Payload, end of the lease, scope, payload, begin of the attempt (three times). The new fence comes back as the last
/// insert id.
const TAKE_OVER: &str = "\
    UPDATE retort_receipts SET state = 'in_flight', payload = ?, fence = LAST_INSERT_ID(fence + 1), \
    lease_ends_ms = ?, holder = CONNECTION_ID() \
    WHERE scope = ? AND payload IN (?, '') AND expires_ms > ? AND fenced_ms < ? \
    AND (state = 'new' OR (state = 'in_flight' AND lease_ends_ms <= ?))";
const READ: &str =
    "SELECT payload, state, expires_ms, result, fenced_ms FROM retort_receipts WHERE scope = ?";
const COMMIT: &str = "\
    UPDATE retort_receipts SET state = 'committed', result = ? \
    WHERE scope = ? AND fence = ? AND state = 'in_flight'";
/// Scope, now, end of the key. The state is set last: what stands before it still sees the old one.
const FENCE: &str = "\
    INSERT INTO retort_receipts (scope, payload, state, fence, lease_ends_ms, expires_ms, holder, fenced_ms) \
    VALUES (?, '', 'new', 1, ?, ?, 0, lease_ends_ms) ON DUPLICATE KEY UPDATE \
    fence = IF(state = 'committed', fence, fence + 1), \
    fenced_ms = IF(state = 'committed', fenced_ms, VALUES(fenced_ms)), \
    state = IF(state = 'committed', state, 'new')";
/// Scope.
const HOLDER: &str = "\
    SELECT holder FROM retort_receipts WHERE scope = ? AND state = 'in_flight' AND holder <> CONNECTION_ID()";
const RELEASE: &str =
    "UPDATE retort_receipts SET state = 'new' WHERE scope = ? AND fence = ? AND state = 'in_flight'";
const FORGET: &str = "DELETE FROM retort_receipts WHERE expires_ms <= ?";

server_store!(MySqlConnection);

/// Claims a key for an attempt that began at this time, in autocommit. Waits for a commit under this key that is under
/// way; set `innodb_lock_wait_timeout` to bound that.
pub async fn claim(
    connection: &mut MySqlConnection,
    key: &Key,
    lifetimes: Lifetimes,
    began_ms: i64,
) -> Result<Claim, SqlError> {
    let lease_ends_ms = began_ms.saturating_add(lifetimes.lease_ms);
    let inserted = query(INSERT)
        .bind(&key.scope.0)
        .bind(&key.payload)
        .bind(lease_ends_ms)
        .bind(began_ms.saturating_add(lifetimes.retention_ms))
        .execute(&mut *connection)
        .await?;
    if inserted.rows_affected() == 1 {
        return Ok(Claim::New(Ticket { scope: key.scope.clone(), fence: 1 }));
    }
    let taken = query(TAKE_OVER)
        .bind(&key.payload)
        .bind(lease_ends_ms)
        .bind(&key.scope.0)
        .bind(&key.payload)
        .bind(began_ms)
        .bind(began_ms)
        .bind(began_ms)
        .execute(&mut *connection)
        .await?;
    if taken.rows_affected() == 1 {
        let fence = i64::try_from(taken.last_insert_id()).unwrap_or(i64::MAX);
        return Ok(Claim::New(Ticket { scope: key.scope.clone(), fence }));
    }
    // A row that vanished in between has been forgotten: claiming it again will do.
    Ok(read(connection, &key.scope).await?.map_or(Claim::InFlight, |row| row.refuse(key, began_ms)))
}

/// Ends the session that holds the key.
async fn sever(connection: &mut MySqlConnection, scope: &Scope) -> Result<(), SqlError> {
    let holder: Option<i64> = query_scalar(HOLDER).bind(&scope.0).fetch_optional(&mut *connection).await?;
    if let Some(holder) = holder {
        // It may have ended by itself, and the number is no longer known then.
        let _ = connection.execute(AssertSqlSafe(format!("KILL {holder}"))).await;
    }
    Ok(())
}

/// Did a statement give up waiting? By the lock's time (1205), or by the statement's in MariaDB (1969) or MySQL (3024).
fn is_blocked(error: &SqlError) -> bool {
    let error = error.as_database_error().and_then(|error| error.try_downcast_ref::<MySqlDatabaseError>());
    error.is_some_and(|error| matches!(error.number(), 1205 | 1969 | 3024))
}
