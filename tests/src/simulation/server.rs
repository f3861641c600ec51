//! The simulated database: what it commits, when, and what it answers.

use fastrand::Rng;
use retort::words::{Cleanup, Effect, Phase, Receipt, Replays, Transaction};

use super::fault::{self, Fault, Seen};
use super::{Dialect, Job, Protection, Shape};

/// What the host knows of a failed attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Failure {
    /// The driver's error.
    pub seen: Seen,
    /// How far the attempt had got.
    pub phase: Phase,
    /// The transaction's state.
    pub transaction: Transaction,
    /// Statements already applied in autocommit.
    pub steps_done: u32,
    /// May the driver have repeated the request?
    pub replays: Replays,
    /// The server's own wait.
    pub retry_after_ms: Option<u32>,
    /// The statement that failed.
    pub step: usize,
    /// Is the fault one that no repetition mends?
    pub is_permanent: bool,
}

/// A write that goes on although its client has given up.
#[derive(Clone, Debug)]
struct Running {
    commits_at: u64,
    steps: Vec<usize>,
}

/// One operation's server.
#[derive(Debug)]
pub struct World {
    /// The operation.
    pub job: Job,
    /// Milliseconds since the operation's start.
    pub now: u64,
    dice: Rng,
    applied: [u32; 2],
    staged: Vec<usize>,
    running: Option<Running>,
    keyed_at: Option<u64>,
}

impl World {
    /// A fresh world. `seed` fixes everything that will go wrong in it.
    pub fn new(job: Job, seed: u64) -> World {
        World {
            job,
            now: 0,
            dice: Rng::with_seed(seed),
            applied: [0; 2],
            staged: Vec::new(),
            running: None,
            keyed_at: None,
        }
    }

    /// Lets time pass.
    pub fn wait(&mut self, milliseconds: u32) {
        self.now += u64::from(milliseconds);
        if self.running.as_ref().is_some_and(|running| running.commits_at <= self.now) {
            self.finish_running();
        }
    }

    /// How often each statement took effect, once everything that still runs has ended and the connection has gone
    /// back to its pool, where the next user's COMMIT takes along what was left open.
    pub fn end(mut self) -> Vec<u32> {
        self.finish_running();
        let left = std::mem::take(&mut self.staged);
        self.commit(&left);
        self.applied[..self.job.shape.steps()].to_vec()
    }

    /// Carries the operation out, from its start or from one statement of an open transaction.
    pub fn attempt(&mut self, from: Option<usize>) -> Result<(), Failure> {
        // Every attempt takes the same number of draws, whatever becomes of it.
        let is_faulty = self.dice.u32(0..100) < self.job.faults_percent;
        let fault = Fault::draw(&mut self.dice, self.job.shape, self.job.driver_replays);
        let at = self.dice.usize(0..self.job.shape.steps());
        let (is_executed, later) = (self.dice.bool(), self.dice.u64(200..6_000));
        let latency = self.dice.u32(2..50);
        self.wait(latency);
        let fault = is_faulty.then_some(fault);

        if from.is_none() {
            match fault {
                Some(Fault::PoolBusy) => return Err(self.before(fault::POOL_BUSY, Phase::Acquire)),
                Some(Fault::ConnectRefused) => return Err(self.before(fault::REFUSED, Phase::Connect)),
                _ => self.begin(),
            }
        }
        let first = from.unwrap_or(0);
        for step in first..self.job.shape.steps() {
            let here = fault.filter(|_| step == at.max(first));
            if self.statement(step, here, is_executed, later)? == Answer::Replayed {
                return Ok(());
            }
        }
        if self.job.shape == Shape::Transaction {
            self.commit_transaction(fault, later)?;
        }
        match fault {
            Some(Fault::ResultLost) => Err(self.failure(self.job.dialect.lost(), Phase::Done, 0)),
            _ => Ok(()),
        }
    }

    /// Does what the decision asks for before the connection is used again. Only a cancel that the server confirms
    /// ends what still runs.
    pub fn clean_up(&mut self, cleanup: Cleanup) {
        match cleanup {
            Cleanup::None => {}
            Cleanup::Rollback | Cleanup::DiscardConnection => self.staged.clear(),
            Cleanup::CancelThenDiscard => {
                self.staged.clear();
                self.kill(80);
            }
        }
    }

    /// Ends every session of the operation, so that nothing of it can commit any more. Says whether the server
    /// confirmed that.
    pub fn fence(&mut self) -> bool {
        self.kill(70)
    }

    /// Looks the operation's key up.
    pub fn look_up(&mut self) -> Receipt {
        let is_unavailable = self.dice.u32(0..10) == 0;
        self.wait(5);
        match self.keyed_at {
            _ if is_unavailable => Receipt::Unavailable,
            _ if self.now > u64::from(self.job.retention_ms) => Receipt::Expired,
            Some(_) => Receipt::Committed,
            None if self.running.is_some() && self.job.protection == Protection::Enforced => Receipt::Pending,
            None => Receipt::Absent,
        }
    }

    fn kill(&mut self, percent: u32) -> bool {
        let is_confirmed = self.dice.u32(0..100) < percent;
        if is_confirmed {
            self.running = None;
        }
        is_confirmed
    }

    /// BEGIN on a connection with work left open: one database commits that, the other goes on with it.
    fn begin(&mut self) {
        if self.job.shape == Shape::Transaction && self.job.dialect == Dialect::Mysql {
            let left = std::mem::take(&mut self.staged);
            self.commit(&left);
        }
    }

    fn statement(
        &mut self,
        step: usize,
        fault: Option<Fault>,
        is_executed: bool,
        later: u64,
    ) -> Result<Answer, Failure> {
        let dialect = self.job.dialect;
        match fault {
            Some(Fault::RateLimited) => {
                let refused = self.refused(fault::RATE_LIMITED, step);
                return Err(Failure { retry_after_ms: Some(700), ..refused });
            }
            Some(Fault::LockTimeout) if dialect == Dialect::Mysql => {
                return Err(self.failure(dialect.lock_timeout(), Phase::Execute, step));
            }
            Some(Fault::LockTimeout) => return Err(self.refused(dialect.lock_timeout(), step)),
            Some(Fault::Deadlock) => {
                self.staged.clear();
                return Err(self.refused(dialect.deadlock(), step));
            }
            Some(Fault::RequestLost) => return Err(self.dropped(dialect.lost(), Phase::Send, step)),
            Some(Fault::TimedOut) => {
                if self.job.shape != Shape::Transaction && self.answer(step)? == Answer::Executed {
                    self.run_later(vec![step], later);
                }
                self.wait(1_000);
                return Err(self.failure(fault::TIMED_OUT, Phase::Execute, step));
            }
            Some(Fault::Crash) if !is_executed => {
                return Err(self.dropped(dialect.crashed(), Phase::Execute, step));
            }
            Some(Fault::Odd) if !is_executed => {
                return Err(self.failure(fault::ODD, Phase::Execute, step));
            }
            _ => {}
        }
        if self.answer(step)? == Answer::Replayed {
            return Ok(Answer::Replayed);
        }
        // Only an executed statement can break a rule, and keys are looked up before that.
        if fault == Some(Fault::CheckFailed) {
            return Err(Failure { is_permanent: true, ..self.refused(dialect.check_failed(), step) });
        }
        self.execute(step);
        match fault {
            Some(Fault::AnswerLost) => Err(self.dropped(dialect.lost(), Phase::Execute, step)),
            Some(Fault::Crash) => Err(self.dropped(dialect.crashed(), Phase::Execute, step)),
            Some(Fault::Odd) => Err(self.failure(fault::ODD, Phase::Execute, step)),
            Some(Fault::Replayed) => self.second_copy(step),
            _ => Ok(Answer::Executed),
        }
    }

    /// What a key, or a lock of what still runs, makes of a statement before it is executed.
    fn answer(&mut self, step: usize) -> Result<Answer, Failure> {
        let is_keyed = self.is_keyed();
        match self.job.protection {
            Protection::Enforced if is_keyed => return Ok(Answer::Replayed),
            Protection::Enforced if self.running.is_some() => {
                return Err(self.failure(fault::IN_PROGRESS, Phase::Execute, step));
            }
            _ => {}
        }
        if let Some(running) = &self.running {
            self.now = self.now.max(running.commits_at);
            self.finish_running();
        }
        if self.job.protection == Protection::Receipt && step == 0 && self.is_keyed() {
            return Err(self.refused(self.job.dialect.key_violated(), step));
        }
        Ok(Answer::Executed)
    }

    /// The driver's own second copy of a request whose first copy was executed. A plain write meets a deadlock: no
    /// client could help a network that applies things twice.
    fn second_copy(&mut self, step: usize) -> Result<Answer, Failure> {
        let dialect = self.job.dialect;
        match (self.job.effect, self.job.protection) {
            (Effect::Read | Effect::IdempotentWrite, _) => {
                self.execute(step);
                Ok(Answer::Executed)
            }
            (Effect::Write, Protection::Plain) => Err(self.refused(dialect.deadlock(), step)),
            (Effect::Write, Protection::Receipt | Protection::Enforced) => self.answer(step),
        }
    }

    fn commit_transaction(&mut self, fault: Option<Fault>, later: u64) -> Result<(), Failure> {
        let (dialect, last) = (self.job.dialect, self.job.shape.steps() - 1);
        match fault {
            Some(Fault::CommitRequestLost) => Err(self.dropped(dialect.lost(), Phase::Commit, last)),
            Some(Fault::CommitConflict) => {
                self.staged.clear();
                Err(self.failure(dialect.commit_conflict(), Phase::Commit, last))
            }
            Some(Fault::CommitUndone) => {
                self.staged.clear();
                Err(self.failure(fault::COMMIT_UNDONE, Phase::Commit, last))
            }
            Some(Fault::CommitDelayed) => {
                let steps = std::mem::take(&mut self.staged);
                self.run_later(steps, later);
                Err(self.failure(dialect.lost(), Phase::Commit, last))
            }
            _ => {
                let steps = std::mem::take(&mut self.staged);
                self.commit(&steps);
                match fault {
                    Some(Fault::CommitAnswerLost) => Err(self.failure(dialect.lost(), Phase::Commit, last)),
                    _ => Ok(()),
                }
            }
        }
    }

    fn execute(&mut self, step: usize) {
        match self.job.shape {
            Shape::Transaction => self.staged.push(step),
            Shape::Autocommit | Shape::Steps => self.commit(&[step]),
        }
    }

    fn run_later(&mut self, steps: Vec<usize>, later: u64) {
        self.running = Some(Running { commits_at: self.now + later, steps });
    }

    fn finish_running(&mut self) {
        if let Some(running) = self.running.take() {
            self.commit(&running.steps);
        }
    }

    /// Commits. A receipt that is there already undoes its whole transaction.
    fn commit(&mut self, steps: &[usize]) {
        let is_denied = self.job.protection == Protection::Receipt && self.is_keyed();
        if steps.is_empty() || is_denied {
            return;
        }
        for step in steps {
            self.applied[*step] += 1;
        }
        if self.job.protection != Protection::Plain {
            self.keyed_at = Some(self.now);
        }
    }

    /// Does the server know the key, and has it not yet forgotten it?
    fn is_keyed(&self) -> bool {
        self.keyed_at.is_some_and(|at| self.now <= at + u64::from(self.job.retention_ms))
    }

    fn before(&self, seen: Seen, phase: Phase) -> Failure {
        Failure { phase, ..self.failure(seen, phase, 0) }
    }

    /// The server refuses the statement: in one database that fails the whole transaction.
    fn refused(&mut self, seen: Seen, step: usize) -> Failure {
        let failure = self.failure(seen, Phase::Execute, step);
        let fails = self.job.shape == Shape::Transaction && self.job.dialect == Dialect::Postgresql;
        if fails {
            self.staged.clear();
        }
        match fails && self.job.is_host_precise {
            true => Failure { transaction: Transaction::Failed, ..failure },
            false => failure,
        }
    }

    /// The connection drops: the server undoes what was open.
    fn dropped(&mut self, seen: Seen, phase: Phase, step: usize) -> Failure {
        self.staged.clear();
        self.failure(seen, phase, step)
    }

    fn failure(&self, seen: Seen, phase: Phase, step: usize) -> Failure {
        let transaction = match (self.job.shape, phase) {
            _ if phase.is_before_sending() => Transaction::None,
            (Shape::Autocommit | Shape::Steps, _) => Transaction::None,
            (Shape::Transaction, Phase::Commit) => Transaction::Committing,
            (Shape::Transaction, Phase::Done) => Transaction::Committed,
            (Shape::Transaction, _) => Transaction::Open,
        };
        let is_known = self.job.is_host_precise || phase.is_before_sending();
        Failure {
            seen,
            phase: if is_known { phase } else { Phase::Unknown },
            transaction: if is_known { transaction } else { Transaction::Unknown },
            steps_done: if self.job.shape == Shape::Steps { step as u32 } else { 0 },
            replays: if self.job.driver_replays { Replays::Possible } else { Replays::None },
            retry_after_ms: None,
            step,
            is_permanent: false,
        }
    }
}

/// What a statement came to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Answer {
    /// It was executed, or may be now.
    Executed,
    /// The server gave the answer of an earlier execution under the same key.
    Replayed,
}
