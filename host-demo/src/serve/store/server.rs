//! What the sessions of PostgreSQL and MySQL do alike: how one is opened, the receipts' steps, and how a connection is
//! given back or up.

use std::ops::{Deref, DerefMut};

use sqlx::pool::PoolConnection;
use sqlx::{Database, Pool};
use tokio::time::timeout;

use super::{CLEANUP, Raw};
use crate::adapters;

/// A connection of a pool. The pool tests what it gets back, without a limit of time: where the answer never came, the
/// connection's place and its session would be lost for good. Here the test has its time, and then both are free.
pub(super) struct Lent<D: Database>(PoolConnection<D>);

impl<D: Database> Lent<D> {
    /// One of the pool's connections.
    pub(super) async fn of(pool: &Pool<D>) -> sqlx::Result<Lent<D>> {
        pool.acquire().await.map(Lent)
    }

    /// Closes the connection at once, without a word to the server.
    pub(super) fn give_up(mut self) {
        // A return that is not awaited is a loss of the connection.
        drop(self.0.return_to_pool());
    }
}

impl<D: Database> Deref for Lent<D> {
    type Target = D::Connection;

    fn deref(&self) -> &D::Connection {
        &self.0
    }
}

impl<D: Database> DerefMut for Lent<D> {
    fn deref_mut(&mut self) -> &mut D::Connection {
        &mut self.0
    }
}

impl<D: Database> Drop for Lent<D> {
    fn drop(&mut self) {
        tokio::spawn(timeout(CLEANUP, self.0.return_to_pool()));
    }
}

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
                let mut connection = Lent::of(pool).await.map_err(raw)?;
                match query_scalar($own_id).fetch_one(&mut *connection).await {
                    Ok(id) => Ok(Box::new(Self { connection, id, pool: pool.clone() })),
                    Err(error) => {
                        connection.give_up();
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
                            self.connection.give_up();
                        }
                    }
                    "cancel_then_discard" => {
                        self.connection.give_up();
                        // Where even this fails the server's own statement timeout ends the statement.
                        let kill = async {
                            let mut connection = Lent::of(&self.pool).await?;
                            connection.execute(AssertSqlSafe($kill(self.id))).await
                        };
                        let _ = timeout(CLEANUP, kill).await;
                    }
                    _ => self.connection.give_up(),
                }
            }
        }
    };
}
