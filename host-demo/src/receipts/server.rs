//! What the stores on servers do alike, by sqlx.

/// The store on the server of `$connection`, but for the claim: from the module's own statements and from its functions
/// `is_blocked` (did a statement give up waiting?) and `sever` (ends the session that holds the key).
macro_rules! server_store {
    ($connection:ty) => {
        /// Creates the table where it is missing.
        pub async fn create(connection: &mut $connection) -> Result<(), sqlx::Error> {
            sqlx::query(CREATE).execute(connection).await.map(drop)
        }

        /// Writes the receipt and the result to be replayed, in the write's own transaction, just before COMMIT.
        pub async fn commit(
            connection: &mut $connection,
            ticket: &Ticket,
            result: &str,
        ) -> Result<(), Error<sqlx::Error>> {
            let done = sqlx::query(COMMIT)
                .bind(result)
                .bind(&ticket.scope.0)
                .bind(ticket.fence)
                .execute(connection)
                .await
                .map_err(Error::Store)?;
            match done.rows_affected() {
                0 => Err(Error::Fenced(Fenced)),
                _ => Ok(()),
            }
        }

        /// Gives the key back after an attempt that is known to have had no effect, so that the next one need not
        /// wait.
        pub async fn release(connection: &mut $connection, ticket: &Ticket) -> Result<(), sqlx::Error> {
            sqlx::query(RELEASE).bind(&ticket.scope.0).bind(ticket.fence).execute(connection).await.map(drop)
        }

        /// Looks a key up.
        pub async fn look_up(
            connection: &mut $connection,
            scope: &Scope,
            now_ms: i64,
        ) -> Result<LookUp, sqlx::Error> {
            let row = read(connection, scope).await?;
            Ok(LookUp { receipt: receipt(row.as_ref(), now_ms), fenced: false })
        }

        /// Fences the key's earlier attempts off, so that none can commit any more, and looks the key up then. Waits for
        /// a commit that is under way. Where that takes longer than the session waits for locks (`lock_timeout`,
        /// `innodb_lock_wait_timeout`), the session that commits is ended: by PostgreSQL from version 14 on, MySQL and
        /// MariaDB.
        pub async fn fence(
            connection: &mut $connection,
            scope: &Scope,
            lifetimes: Lifetimes,
            now_ms: i64,
        ) -> Result<LookUp, sqlx::Error> {
            let expires_ms = now_ms.saturating_add(lifetimes.retention_ms);
            let fence = || sqlx::query(FENCE).bind(&scope.0).bind(now_ms).bind(expires_ms);
            match fence().execute(&mut *connection).await {
                Err(error) if is_blocked(&error) => {
                    sever(connection, scope).await?;
                    fence().execute(&mut *connection).await?;
                }
                fenced => {
                    fenced?;
                }
            }
            Ok(LookUp { fenced: true, ..look_up(connection, scope, now_ms).await? })
        }

        /// Forgets the keys that were over at that time; they count as unknown from then on.
        pub async fn forget(connection: &mut $connection, before_ms: i64) -> Result<u64, sqlx::Error> {
            sqlx::query(FORGET).bind(before_ms).execute(connection).await.map(|done| done.rows_affected())
        }

        async fn read(connection: &mut $connection, scope: &Scope) -> Result<Option<Row>, sqlx::Error> {
            let row = sqlx::query_as(READ).bind(&scope.0).fetch_optional(connection).await?;
            Ok(row.map(|(payload, state, expires_ms, result, fenced_ms)| Row {
                payload,
                state,
                expires_ms,
                result,
                fenced_ms,
            }))
        }
    };
}
