//! Outages: writers write, with and without keys, while something happens to the server or the way to it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use tokio::task::{JoinSet, block_in_place};

use super::account;
use crate::Contract;
use crate::drill::admin::Admin;
use crate::drill::failures::Outcome;
use crate::drill::faults::{At, Fault, Faults};
use crate::drill::keyed::Keyed;
use crate::drill::ledger::{Arm, Policy};
use crate::drill::place::Place;
use crate::drill::servers::Server;
use crate::drill::upstream::Upstream;
use crate::drill::writers::{self, Unkeyed, Watch, Writer};
use crate::drill::{Error, Target};

/// What happens.
#[derive(Clone, Copy, Debug)]
pub enum Outage {
    /// All processes of the server are killed at a COMMIT, and it is started again.
    Kill,
    /// It is shut down in order, and started again.
    Restart,
    /// Others take all connections, and give them back.
    Connections,
    /// It turns read-only, and back.
    ReadOnly,
    /// The network lets bytes through one by one.
    Slow,
}

/// How often.
const ROUNDS: usize = 4;
/// Writes of all writers between two of them.
const BETWEEN: u64 = 40;
/// Writes at the slow pace.
const SLOW: u64 = 12;
/// The most writes of a writer.
const WRITES: u64 = 3_000;
/// The time between two bytes.
const PACE: Duration = Duration::from_millis(5);
/// How often the writers' connections are cut while there are no others.
const CUTS: usize = 3;
/// How often the others ask for a connection after each cut.
const REFUSALS: usize = 10;
/// How long the server is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

const ARMS: [(Arm, &str); 3] =
    [(Arm::Autocommit, "autocommit"), (Arm::Transaction, "transaction"), (Arm::SeveralRows, "several rows")];

/// Runs it.
pub async fn run(
    outage: Outage,
    contract: &Arc<dyn Contract>,
    place: &Place,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let Some(served) = &place.served else { return Err(Error::NoServer) };
    let upstream = &served.upstream;
    let mut scene = Scene { place, upstream, ways: Vec::new(), watch: Arc::new(Watch::default()) };
    let mut writers: Vec<(&str, Box<dyn Writer>)> = Vec::new();
    let own = Arc::new(place.another().await?);
    scene.ways.push(("COMMIT", own.faults.clone()));
    writers.push(("with a key", Box::new(Keyed::open(Arc::clone(contract), own, WRITES, None).await?)));
    for (arm, name) in ARMS {
        let own = Arc::new(place.another().await?);
        scene.ways.push((arm.script(0).mark, own.faults.clone()));
        let writer = Unkeyed::open(Arc::clone(contract), own, (arm, Policy::Envelope), WRITES, None);
        writers.push((name, Box::new(writer.await?)));
    }
    let mut tasks = JoinSet::new();
    for (name, writer) in writers {
        let watch = Arc::clone(&scene.watch);
        tasks
            .spawn(async move { (name, writers::run(writer, WRITES, &watch, &ProgressBar::hidden()).await) });
    }
    for round in 0..ROUNDS {
        scene.watch.ended(BETWEEN).await;
        scene.happens(outage, round, outcome).await?;
    }
    scene.watch.ended(BETWEEN).await;
    scene.watch.stop();
    while let Some(ended) = tasks.join_next().await {
        let (name, totals) = ended.map_err(|error| Error::Task(error.to_string()))?;
        account(outcome, name, &totals?);
    }
    Ok(())
}

/// What can be broken.
struct Scene<'a> {
    place: &'a Place,
    upstream: &'a Upstream,
    /// The way of each writer: what marks its effect, and what breaks there.
    ways: Vec<(&'static str, Faults)>,
    watch: Arc<Watch>,
}

impl Scene<'_> {
    async fn happens(&self, outage: Outage, round: usize, outcome: &mut Outcome) -> Result<(), Error> {
        match outage {
            Outage::Kill => {
                let server = self.server()?;
                let (mark, faults) = &self.ways[round % self.ways.len()];
                faults.plan(Some((At::Text(mark), Fault::Kill)));
                let ends = Instant::now() + PATIENCE;
                while !server.has_ended() && Instant::now() < ends {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                faults.plan(None);
                outcome.check(server.has_ended(), || String::from("no COMMIT killed the server"));
                self.start_again().await
            }
            Outage::Restart => {
                let server = self.server()?;
                block_in_place(|| server.stop())?;
                self.watch.ended(BETWEEN).await;
                self.start_again().await
            }
            Outage::Connections => {
                let others = self.take_all().await;
                self.watch.ended(BETWEEN).await;
                drop(others);
                self.place.ready().await
            }
            Outage::ReadOnly => {
                self.set_read_only(true).await?;
                self.watch.ended(BETWEEN).await;
                self.set_read_only(false).await
            }
            Outage::Slow => {
                self.ways.iter().for_each(|(_, faults)| faults.set_pace(Some(PACE)));
                self.watch.ended(SLOW).await;
                self.ways.iter().for_each(|(_, faults)| faults.set_pace(None));
                Ok(())
            }
        }
    }

    /// The process, which only a server of the drill's own has.
    fn server(&self) -> Result<&Server, Error> {
        self.upstream.own.as_ref().ok_or(Error::NoServer)
    }

    async fn start_again(&self) -> Result<(), Error> {
        let server = self.server()?;
        if server.has_ended() {
            block_in_place(|| server.start_again())?;
        }
        self.place.ready().await
    }

    /// Others take every connection that there is, and then those of the writers as soon as they are cut.
    async fn take_all(&self) -> Vec<Admin> {
        let mut taken = Vec::new();
        while let Ok(connection) = self.upstream.open(None).await {
            taken.push(connection);
        }
        for _ in 0..CUTS {
            // Whoever is cut asks again at once, and is refused as well until its old place is free.
            self.ways.iter().for_each(|(_, faults)| faults.plan(Some((At::Message(0), Fault::CutBefore))));
            for _ in 0..REFUSALS {
                taken.extend(self.upstream.open(None).await);
            }
        }
        taken
    }

    async fn set_read_only(&self, is_read_only: bool) -> Result<(), Error> {
        let word = if is_read_only { "on" } else { "off" };
        if self.place.target == Target::Mariadb {
            return self.place.execute(&format!("SET GLOBAL read_only = {word}")).await;
        }
        self.place.execute(&format!("ALTER SYSTEM SET default_transaction_read_only = {word}")).await?;
        self.place.execute("SELECT pg_reload_conf()").await?;
        let new = format!(
            "SELECT count(*), 0::bigint FROM pg_settings
             WHERE name = 'default_transaction_read_only' AND setting = '{word}'"
        );
        let ends = Instant::now() + PATIENCE;
        while self.place.look(&new).await?.first().is_some_and(|(count, _)| *count == 0)
            && Instant::now() < ends
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }
}
