//! What became of many operations.

use std::fmt;

use fastrand::Rng;
use retort::words::Effect;

use super::client::Ending;
use super::{Client, Job, Told, World, run};

/// The figures of one kind of client.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// Operations carried out.
    pub operations: u64,
    /// Writes applied more than once that are not repeatable.
    pub duplicates: u64,
    /// Operations of which a part took effect, though the caller was told that all or nothing did.
    pub halves: u64,
    /// Operations that took effect, though the caller was told that they did not: lost to the caller.
    pub lost: u64,
    /// Operations that did not take effect, though the caller was told that they did.
    pub phantoms: u64,
    /// Operations without effect that another attempt might have carried out.
    pub given_up: u64,
    /// Operations of which the caller was told that nobody knows.
    pub in_doubt: u64,
    /// Attempts after the first.
    pub retries: u64,
    /// Look-ups of receipts.
    pub look_ups: u64,
    /// The longest time an operation took, in milliseconds.
    pub longest_ms: u64,
}

impl Tally {
    /// Lets one kind of client carry out `operations` operations, which share a budget of retry tokens where there is
    /// one. The same seed gives every kind of client the same operations and the same faults.
    pub fn of(
        client: Client,
        operations: u64,
        faults_percent: u32,
        mut tokens: Option<u32>,
        seed: u64,
    ) -> Tally {
        let mut tally = Tally::default();
        for number in 0..operations {
            let mut dice = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number));
            let job = Job::draw(&mut dice, faults_percent);
            let mut world = World::new(job, dice.u64(..));
            let ending = run(client, &mut world, &mut tokens, dice.u32(..));
            tally.count(job, world, ending);
        }
        tally
    }

    fn count(&mut self, job: Job, world: World, ending: Ending) {
        self.operations += 1;
        self.retries += u64::from(ending.retries);
        self.look_ups += u64::from(ending.look_ups);
        self.longest_ms = self.longest_ms.max(world.now);
        self.in_doubt += u64::from(ending.told == Told::InDoubt);
        let applied = world.end();
        let (all, none) = (applied.iter().all(|times| *times > 0), applied.iter().all(|times| *times == 0));
        if job.effect != Effect::Read {
            self.duplicates +=
                u64::from(job.effect == Effect::Write && applied.iter().any(|times| *times > 1));
            self.halves += u64::from(!all && !none && ending.told != Told::InDoubt);
            self.lost += u64::from(all && ending.told == Told::NotApplied);
            self.phantoms += u64::from(none && ending.told == Told::Applied);
        }
        let is_missing = job.effect == Effect::Read || none;
        self.given_up += u64::from(is_missing && ending.told == Told::NotApplied && !ending.is_permanent);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { duplicates, halves, lost, phantoms, given_up, in_doubt, retries, look_ups, .. } = self;
        write!(
            formatter,
            "{duplicates:>10} {halves:>12} {lost:>6} {phantoms:>9} {given_up:>9} {in_doubt:>9} {retries:>8} {look_ups:>9}"
        )
    }
}
