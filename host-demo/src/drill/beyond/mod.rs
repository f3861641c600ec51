//! Drills beyond the eight failures: each breaks a database in one way, and compares what clients claim with what it
//! holds afterwards.

mod conflicts;
mod long;
mod outages;
mod silence;

use std::sync::Arc;

use super::failures::Outcome;
use super::ledger::{Claimed, Totals};
use super::place::Place;
use super::session::POOL;
use super::{Error, Part, Target};
use crate::Contract;
use crate::serve::Host;
use conflicts::Conflict;
use outages::Outage;

/// A drill by its name.
pub struct Drill {
    /// As the command line names it.
    pub part: Part,
    /// As the table does.
    pub name: &'static str,
    /// Where it applies.
    pub databases: &'static [Target],
    /// One of these codes must have been met, or nothing was broken.
    meets: &'static [&'static str],
    /// Why it is left out on a server that the user has.
    own_only: Option<&'static str>,
    kind: Kind,
}

enum Kind {
    Outage(Outage),
    Conflict(Conflict),
    Silence,
    Long,
}

/// How often one more connection is asked for.
const TRIES: usize = 50;

const SERVERS: &[Target] = &[Target::Postgres, Target::Mariadb, Target::Mysql];
const ALL: &[Target] = &[Target::Sqlite, Target::Postgres, Target::Mariadb, Target::Mysql];

/// MySQL is not among them: it overwrites what a transaction has not seen.
const ORDERED: &[Target] = &[Target::Sqlite, Target::Postgres, Target::Mariadb];

/// All of them.
pub const DRILLS: &[Drill] = &[
    Drill {
        part: Part::Kill,
        name: "server killed during COMMIT",
        databases: SERVERS,
        meets: &["OUTCOME_UNKNOWN"],
        own_only: Some("kills the server's processes"),
        kind: Kind::Outage(Outage::Kill),
    },
    Drill {
        part: Part::Restart,
        name: "server shut down and started",
        databases: SERVERS,
        meets: &["CONNECTION_FAILED", "CONNECTION_LOST", "DB_UNAVAILABLE", "OUTCOME_UNKNOWN"],
        own_only: Some("shuts the server down"),
        kind: Kind::Outage(Outage::Restart),
    },
    Drill {
        part: Part::Connections,
        name: "too many connections",
        databases: SERVERS,
        meets: &["TOO_MANY_CONNECTIONS"],
        own_only: Some("takes every connection of the server from those who use it"),
        kind: Kind::Outage(Outage::Connections),
    },
    Drill {
        part: Part::Readonly,
        name: "server turned read-only",
        databases: SERVERS,
        meets: &["NOT_PRIMARY", "READ_ONLY"],
        own_only: Some("makes the whole server read-only"),
        kind: Kind::Outage(Outage::ReadOnly),
    },
    Drill {
        part: Part::Slow,
        name: "bytes one by one",
        databases: SERVERS,
        meets: &["DB_TIMEOUT", "OUTCOME_UNKNOWN"],
        own_only: None,
        kind: Kind::Outage(Outage::Slow),
    },
    Drill {
        part: Part::Silence,
        name: "answers that never come",
        databases: SERVERS,
        meets: &["DB_TIMEOUT"],
        own_only: None,
        kind: Kind::Silence,
    },
    Drill {
        part: Part::Deadlock,
        name: "deadlock",
        databases: SERVERS,
        meets: &["DEADLOCK"],
        own_only: None,
        kind: Kind::Conflict(Conflict::Deadlock),
    },
    Drill {
        part: Part::Serialization,
        name: "serialization failure",
        databases: ORDERED,
        meets: &["SERIALIZATION_FAILURE"],
        own_only: None,
        kind: Kind::Conflict(Conflict::Serialization),
    },
    Drill {
        part: Part::Lock,
        name: "lock timeout",
        databases: ALL,
        meets: &["LOCK_TIMEOUT"],
        own_only: None,
        kind: Kind::Conflict(Conflict::Lock),
    },
    Drill {
        part: Part::Full,
        name: "disk full",
        databases: ALL,
        // MariaDB's InnoDB ends the server where the disk is too full for a rollback.
        meets: &["STORAGE_FULL", "CONNECTION_LOST"],
        own_only: Some("fills a disk of the server's"),
        kind: Kind::Conflict(Conflict::Full),
    },
    Drill {
        part: Part::Long,
        name: "long run without a clock",
        databases: ALL,
        meets: &[],
        own_only: None,
        kind: Kind::Long,
    },
];

impl Drill {
    /// Runs it, on databases of its own.
    pub async fn run(&self, contract: &Arc<dyn Contract>, place: &Place) -> Result<Outcome, Error> {
        let mut outcome = Outcome::new(self.name);
        if let Some(why) = self.own_only.filter(|_| place.is_given()) {
            outcome.skipped = Some(format!("it {why}, so it takes a server of the drill's own"));
            return Ok(outcome);
        }
        match self.kind {
            Kind::Outage(outage) => outages::run(outage, contract, place, &mut outcome).await?,
            Kind::Conflict(conflict) => conflicts::run(conflict, contract, place, &mut outcome).await?,
            Kind::Silence => silence::run(contract, place, &mut outcome).await?,
            Kind::Long => long::run(contract, place, &mut outcome).await?,
        }
        if outcome.skipped.is_none() && !self.meets.is_empty() {
            let is_met = self.meets.iter().any(|code| outcome.codes.contains_key(*code));
            let codes = outcome.codes.clone();
            outcome.check(is_met, || format!("none of {:?} was met, but {codes:?}", self.meets));
        }
        Ok(outcome)
    }
}

/// How many connections of the pool can be had at the same time: those that were cut are found out first.
async fn connections_left(host: &Host) -> usize {
    let mut held = Vec::new();
    for _ in 0..TRIES {
        if let Ok(connection) = host.store.acquire().await {
            held.push(connection);
        }
        if held.len() == POOL {
            break;
        }
    }
    let left = held.len();
    for connection in held {
        connection.clean("none").await;
    }
    left
}

/// Counts a writer's writes as checks.
fn account(outcome: &mut Outcome, who: &str, totals: &Totals) {
    let wrong = totals.applied_twice + totals.false_claims;
    outcome.checks += totals.writes;
    outcome.wrong += wrong;
    if wrong > 0 {
        let twice = totals.applied_twice;
        outcome.first_wrong.get_or_insert_with(|| {
            format!("{who}: {twice} applied twice, {} claimed wrongly", totals.false_claims)
        });
    }
    outcome.meet(totals);
}

/// Checks a row that several writes add to.
fn account_row(outcome: &mut Outcome, claims: &[Claimed], balance: i64) {
    let count = |claim: Claimed| claims.iter().filter(|claimed| **claimed == claim).count() as i64;
    let committed = count(Claimed::Committed);
    let holds = (committed..=committed + count(Claimed::Unknown)).contains(&balance);
    outcome.check(holds, || format!("{claims:?}, and the row counts {balance}"));
}
