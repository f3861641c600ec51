//! Writers, what they claim, and the database's own word on it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use fastrand::Rng;
use indicatif::ProgressBar;
use tokio::task::JoinSet;

use super::Error;
use super::keyed::Keyed;
use super::ledger::{self, Arm, Claimed, Client, Policy, Totals, WIDTH};
use super::place::Place;
use crate::Contract;

/// Somebody who writes, and says what became of it.
#[async_trait]
pub trait Writer: Send {
    /// Makes the write of this number.
    async fn write(&mut self, number: u64, totals: &mut Totals) -> Result<Claimed, Error>;

    /// Ends the writer's sessions, waits for what they may have left running, and counts how often each write took
    /// effect; writes that never did may be missing.
    async fn applied(self: Box<Self>) -> Result<BTreeMap<u64, u64>, Error>;
}

/// A writer without keys.
pub struct Unkeyed {
    place: Arc<Place>,
    client: Client,
    arm: Arm,
}

impl Unkeyed {
    /// A writer of so many writes.
    pub async fn open(
        contract: Arc<dyn Contract>,
        place: Arc<Place>,
        (arm, policy): (Arm, Policy),
        writes: u64,
        storm: Option<Rng>,
    ) -> Result<Unkeyed, Error> {
        ledger::lay_out(&place, writes).await?;
        let client = Client::new(contract, Arc::clone(&place), policy, storm);
        Ok(Unkeyed { place, client, arm })
    }
}

#[async_trait]
impl Writer for Unkeyed {
    async fn write(&mut self, number: u64, totals: &mut Totals) -> Result<Claimed, Error> {
        Ok(self.client.write(&self.arm.script(number * WIDTH), totals).await)
    }

    async fn applied(self: Box<Self>) -> Result<BTreeMap<u64, u64>, Error> {
        let Unkeyed { place, client, .. } = *self;
        drop(client);
        place.faults.arm("", None);
        place.quiet().await?;
        let mut applied = BTreeMap::new();
        for (id, balance) in place.look("SELECT id, balance FROM ledger").await? {
            let times = applied.entry(id.unsigned_abs() / WIDTH).or_insert(0);
            *times = balance.unsigned_abs().max(*times);
        }
        Ok(applied)
    }
}

/// What writers under way have in common with whoever watches them.
#[derive(Debug, Default)]
pub struct Watch {
    /// Writes that have ended.
    ended: AtomicU64,
    /// Are the writers to stop?
    stops: AtomicBool,
}

impl Watch {
    /// Waits until so many more writes have ended, or a time that is long enough for anything is over.
    pub async fn ended(&self, more: u64) {
        let until = self.ended.load(Ordering::Relaxed) + more;
        let ends = Instant::now() + Duration::from_secs(30);
        while self.ended.load(Ordering::Relaxed) < until && Instant::now() < ends {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Lets the writers end the write that they are at, and no more.
    pub fn stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
    }
}

/// Writes until all are made or the watch says stop; then compares the claims with the database.
pub async fn run(
    mut writer: Box<dyn Writer>,
    writes: u64,
    watch: &Watch,
    progress: &ProgressBar,
) -> Result<Totals, Error> {
    let mut totals = Totals::default();
    let mut claims = Vec::new();
    for number in 0..writes {
        if watch.stops.load(Ordering::Relaxed) {
            break;
        }
        claims.push((number, writer.write(number, &mut totals).await?));
        watch.ended.fetch_add(1, Ordering::Relaxed);
        progress.inc(1);
    }
    let applied = writer.applied().await?;
    for (number, claimed) in claims {
        totals.compare(claimed, applied.get(&number).copied().unwrap_or_default());
    }
    Ok(totals)
}

/// What the clients that obey the envelope are called in the figures.
pub const OBEYS: &str = "envelope";
/// Writers with keys, at once.
const KEYED: u64 = 4;
/// The other policies are there for comparison: so many writes show what they do.
pub const COMPARED: u64 = 100;

const ARMS: &[(Arm, &str)] = &[
    (Arm::Autocommit, "autocommit"),
    (Arm::Transaction, "transaction"),
    (Arm::SeveralRows, "several rows"),
    (Arm::FailedCommit, "failed commit"),
];

/// The policies by their names in the figures.
pub const POLICIES: &[(Policy, &str)] =
    &[(Policy::Envelope, OBEYS), (Policy::AnyError, "any error"), (Policy::Words, "words")];

/// The ledger: half of the writes with a key, through the MCP server; the other half without; all of them at once.
pub async fn ledger(
    contract: &Arc<dyn Contract>,
    place: &Place,
    writes: u64,
    seed: u64,
    progress: &ProgressBar,
) -> Result<BTreeMap<String, Totals>, Error> {
    let mut runs = JoinSet::new();
    let mut start = |name: String, writer: Box<dyn Writer>, count: u64, progress: ProgressBar| {
        runs.spawn(async move { (name, run(writer, count, &Watch::default(), &progress).await) });
    };
    let keyed = writes.div_ceil(2 * KEYED);
    for lane in 0..KEYED {
        let (place, dice) = (Arc::new(place.another().await?), Rng::with_seed(seed + lane));
        let writer = Keyed::open(Arc::clone(contract), place, keyed, Some(dice)).await?;
        start(format!("key and receipt: {OBEYS}"), Box::new(writer), keyed, progress.clone());
    }
    let share = (writes / 2).div_ceil(ARMS.len() as u64);
    for (arm, arm_name) in ARMS {
        for (policy, policy_name) in POLICIES {
            let (count, progress) = match policy {
                Policy::Envelope => (share, progress.clone()),
                _ => (share.min(COMPARED), ProgressBar::hidden()),
            };
            let (place, dice) = (Arc::new(place.another().await?), Rng::with_seed(seed));
            let contract = Arc::clone(contract);
            let writer = Unkeyed::open(contract, place, (*arm, *policy), count, Some(dice)).await?;
            start(format!("{arm_name}: {policy_name}"), Box::new(writer), count, progress);
        }
    }
    let mut figures: BTreeMap<String, Totals> = BTreeMap::new();
    while let Some(ended) = runs.join_next().await {
        let (name, totals) = ended.map_err(|error| Error::Task(error.to_string()))?;
        figures.entry(name).or_default().add(&totals?);
    }
    Ok(figures)
}
