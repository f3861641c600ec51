//! What the sessions of PostgreSQL and MySQL do alike: how one is opened, the receipts' steps, and how a connection is
//! given back or up.

use super::Raw;
use crate::adapters;

/// What a server's driver threw, as a report's `error`.
pub(super) fn raw(error: sqlx::Error) -> Raw {
    adapters::sqlx(&error)
}

/// Implements [`Session`](super::Session) for a session of sqlx with the fields `connection`, `id` and `pool`: `$own_id`
/// asks for the session's `id`, `$kill` makes the statement that ends it, and `$own` holds the methods that differ from
/// server to server.
macro_rules! server_session {
    ($session:ty, $pool:ty, $receipts:ident, $own_id:literal, $kill:expr, { $($own:tt)* }) => {
        impl $session {
            /// Which session to end, should it come to that, is asked at once: a dead connection is found out before
            /// anything is sent.
            async fn open(pool: &$pool) -> Result<Box<dyn Session>, Raw> {
                let mut connection = pool.acquire().await.map_err(raw)?;
                match query_scalar($own_id).fetch_one(&mut *connection).await {
                    Ok(id) => Ok(Box::new(Self { connection, id, pool: pool.clone() })),
                    Err(error) => {
                        drop(connection.detach());
                        Err(raw(error))
                    }
                }
            }
        }

        #[async_trait]
        impl Session for $session {
            $($own)*

            async fn claim(&mut self, key: &Key, lifetimes: Lifetimes, began_ms: i64) -> Result<Claim, Raw> {
                $receipts::claim(&mut self.connection, key, lifetimes, began_ms).await.map_err(raw)
            }

            async fn begin(&mut self) -> Result<(), Raw> {
                self.connection.execute("BEGIN").await.map(drop).map_err(raw)
            }

            async fn receipt(&mut self, ticket: &Ticket, result: &str) -> Result<bool, Raw> {
                match $receipts::commit(&mut self.connection, ticket, result).await {
                    Ok(()) => Ok(true),
                    Err(Error::Fenced(_)) => Ok(false),
                    Err(Error::Store(error)) => Err(raw(error)),
                }
            }

            async fn commit(&mut self) -> Result<(), Raw> {
                self.connection.execute("COMMIT").await.map(drop).map_err(raw)
            }

            async fn release(&mut self, ticket: &Ticket) -> Result<(), Raw> {
                $receipts::release(&mut self.connection, ticket).await.map_err(raw)
            }

            async fn fence(
                &mut self,
                scope: &Scope,
                lifetimes: Lifetimes,
                now_ms: i64,
            ) -> Result<LookUp, Raw> {
                $receipts::fence(&mut self.connection, scope, lifetimes, now_ms).await.map_err(raw)
            }

            async fn forget(&mut self, before_ms: i64) -> Result<(), Raw> {
                $receipts::forget(&mut self.connection, before_ms).await.map(drop).map_err(raw)
            }

            async fn clean(mut self: Box<Self>, cleanup: &str) {
                match cleanup {
                    "none" | "rollback" => {
                        let rolled_back = timeout(CLEANUP, self.connection.execute("ROLLBACK")).await;
                        if !matches!(rolled_back, Ok(Ok(_))) {
                            drop(self.connection.detach());
                        }
                    }
                    "cancel_then_discard" => {
                        drop(self.connection.detach());
                        // Where even this fails the server's own statement timeout ends the statement.
                        let _ = timeout(CLEANUP, self.pool.execute(AssertSqlSafe($kill(self.id)))).await;
                    }
                    _ => drop(self.connection.detach()),
                }
            }
        }
    };
}
