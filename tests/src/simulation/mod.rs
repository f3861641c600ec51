//! A simulated database and three kinds of client, to see what obeying a verdict is worth.
//!
//! Every operation is a small world of its own: a server that may crash, drop a connection before or after a commit,
//! take a request twice, or commit long after the client has given up. The faults come from the operation's own seed,
//! so that every kind of client meets the same weather. Nothing reads a clock: time is a number.

mod client;
mod fault;
mod server;
mod tally;

pub use client::{Client, run};
pub use fault::{Fault, Seen};
pub use server::{Failure, World};
pub use tally::Tally;

use fastrand::Rng;
use retort::words::Effect;

/// Which database the operation talks to: they differ in what a failed statement leaves of its transaction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dialect {
    /// A failed statement fails its transaction; BEGIN inside a transaction goes on with it.
    Postgresql,
    /// A lock timeout undoes the statement alone; BEGIN inside a transaction commits it.
    Mysql,
}

impl Dialect {
    /// The name in a report.
    pub const fn as_str(self) -> &'static str {
        match self {
            Dialect::Postgresql => "postgresql",
            Dialect::Mysql => "mysql",
        }
    }
}

/// What protects the operation against being applied twice.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protection {
    /// Nothing.
    Plain,
    /// A receipt is written in the write's own transaction.
    Receipt,
    /// The server refuses or replays a repeated key.
    Enforced,
}

/// How the operation is sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    /// One statement in autocommit.
    Autocommit,
    /// Two statements in autocommit.
    Steps,
    /// Two statements and COMMIT.
    Transaction,
}

impl Shape {
    /// How many statements there are.
    pub const fn steps(self) -> usize {
        match self {
            Shape::Autocommit => 1,
            Shape::Steps | Shape::Transaction => 2,
        }
    }
}

/// One operation to be carried out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Job {
    /// The database.
    pub dialect: Dialect,
    /// What it does to the data.
    pub effect: Effect,
    /// What protects it.
    pub protection: Protection,
    /// How it is sent.
    pub shape: Shape,
    /// May the driver repeat a request by itself?
    pub driver_replays: bool,
    /// Does the host know phase and transaction? Otherwise it reports them as unknown.
    pub is_host_precise: bool,
    /// How long the server keeps a key or a receipt, in milliseconds.
    pub retention_ms: u32,
    /// The share of attempts that meet a fault, in percent.
    pub faults_percent: u32,
}

impl Job {
    /// Draws an operation. Reads need no key, and statements in autocommit have no common receipt.
    pub fn draw(dice: &mut Rng, faults_percent: u32) -> Job {
        let dialect = if dice.bool() { Dialect::Postgresql } else { Dialect::Mysql };
        let effect = match dice.u32(0..10) {
            0..2 => Effect::Read,
            2..4 => Effect::IdempotentWrite,
            _ => Effect::Write,
        };
        let shape = match dice.u32(0..10) {
            0..4 => Shape::Autocommit,
            4..5 => Shape::Steps,
            _ => Shape::Transaction,
        };
        let protection = match (effect, shape, dice.u32(0..4)) {
            (Effect::Write, Shape::Autocommit | Shape::Transaction, 0..2) => Protection::Receipt,
            (Effect::Write, Shape::Autocommit, 2) => Protection::Enforced,
            _ => Protection::Plain,
        };
        Job {
            dialect,
            effect,
            protection,
            shape,
            driver_replays: shape != Shape::Transaction && dice.u32(0..5) == 0,
            is_host_precise: dice.u32(0..5) != 0,
            retention_ms: if dice.u32(0..4) == 0 { 2_000 } else { 86_400_000 },
            faults_percent,
        }
    }
}

/// What the caller is told in the end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Told {
    /// The operation was carried out.
    Applied,
    /// The operation had no effect.
    NotApplied,
    /// Nobody knows.
    InDoubt,
}
