//! The retry budget: a number of tokens that every retry lowers and every success raises.
//!
//! [`Budget::InProcess`] keeps the number in this process; [`Budget::Shared`] keeps it in Valkey or Redis, so that all
//! replicas together retry as little as one. The sums are the contract's ([`retort::decide::budget`]). Where the shared
//! number cannot be had, the process's own stands in for it: an outage neither stops retries nor sets them free.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, RedisResult, Script};
use retort::decide::SUCCESS_REFUND;

/// How long the shared number is waited for.
const PATIENCE: Duration = Duration::from_millis(250);

/// One atomic step on the server: the tokens after a change, or those there were and a 0 where they do not suffice.
const STEP: &str = "
local capacity = tonumber(ARGV[2])
local tokens = math.min(tonumber(redis.call('GET', KEYS[1]) or capacity), capacity)
local after = math.min(tokens + tonumber(ARGV[1]), capacity)
if after < 0 then return {0, tokens} end
if after ~= tokens then redis.call('SET', KEYS[1], after) end
return {1, after}
";

/// Retry tokens.
#[derive(Debug)]
pub enum Budget {
    /// Kept by this process.
    InProcess(InProcess),
    /// Kept by Valkey or Redis.
    Shared(Shared),
}

impl Budget {
    /// The tokens there are: `attempt.tokens` of the next report.
    pub async fn tokens(&self) -> u32 {
        match self {
            Budget::InProcess(own) => own.tokens(),
            Budget::Shared(shared) => shared.change(0).await.1,
        }
    }

    /// Pays for a retry. `false` where another attempt was quicker and too few tokens are left: then there is no retry,
    /// and the report is judged again with the tokens as they are now.
    pub async fn pay(&self, cost: u32) -> bool {
        match self {
            Budget::InProcess(own) => own.pay(cost),
            Budget::Shared(shared) => shared.change(-i64::from(cost)).await.0,
        }
    }

    /// Gives back what a success gives back.
    pub async fn refund(&self) {
        match self {
            Budget::InProcess(own) => own.refund(),
            Budget::Shared(shared) => drop(shared.change(i64::from(SUCCESS_REFUND)).await),
        }
    }
}

/// Tokens of one process.
#[derive(Debug)]
pub struct InProcess {
    tokens: AtomicU32,
    capacity: u32,
}

impl InProcess {
    /// A full budget.
    pub const fn new(capacity: u32) -> InProcess {
        InProcess { tokens: AtomicU32::new(capacity), capacity }
    }

    fn tokens(&self) -> u32 {
        self.tokens.load(Ordering::Relaxed)
    }

    fn pay(&self, cost: u32) -> bool {
        let take = |tokens: u32| tokens.checked_sub(cost);
        self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    fn refund(&self) {
        let give = |tokens| Some(retort::decide::budget(tokens, "success", self.capacity));
        // The closure never refuses.
        let _ = self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, give);
    }

    /// The same step as the shared budget's.
    fn change(&self, change: i64) -> (bool, u32) {
        let is_paid = match change {
            0 => true,
            1.. => {
                self.refund();
                true
            }
            _ => self.pay(u32::try_from(change.unsigned_abs()).unwrap_or(u32::MAX)),
        };
        (is_paid, self.tokens())
    }
}

/// Tokens that replicas share.
pub struct Shared {
    connection: ConnectionManager,
    script: Script,
    key: String,
    capacity: u32,
    own: InProcess,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The connection knows credentials.
        formatter
            .debug_struct("Shared")
            .field("key", &self.key)
            .field("own", &self.own)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// The budget under a key of a server, such as `redis://127.0.0.1/`. It is full where the key is not there.
    pub async fn connect(url: &str, key: &str, capacity: u32) -> RedisResult<Shared> {
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE))
            .set_number_of_retries(1);
        let connection = ConnectionManager::new_with_config(Client::open(url)?, config).await?;
        let key = String::from(key);
        Ok(Shared { connection, script: Script::new(STEP), key, capacity, own: InProcess::new(capacity) })
    }

    async fn change(&self, change: i64) -> (bool, u32) {
        let mut connection = self.connection.clone();
        let mut invocation = self.script.key(&self.key);
        let step = invocation.arg(change).arg(self.capacity).invoke_async(&mut connection).await;
        step.unwrap_or_else(|_| self.own.change(change))
    }
}
