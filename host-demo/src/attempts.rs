//! Attempts counted across calls, so that the retries of model, host and SDK do not multiply.
//!
//! A model's repetition arrives as a new call. It is recognised by what it repeats: the operation key of a write, the
//! arguments of a read. What earlier calls came to is remembered, and goes into the next report as `attempt.number` and
//! `attempt.prior`.
//!
//! The memory is bounded. What is certain to have had no effect is forgotten first; what may have had one is kept until
//! its time is over. Nothing here reads a clock: the host passes the time, in milliseconds from any start.

use std::collections::{BTreeSet, HashMap};

use retort::words::{Outcome, Prior};
use sha2::{Digest, Sha256};

/// What repeated calls have in common: a hash, never the arguments themselves.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Identity([u8; 32]);

impl Identity {
    /// A write: who calls which tool under which operation key.
    pub fn of_write(principal: &str, tool: &str, operation_key: &str) -> Identity {
        Identity::of("write", principal, tool, operation_key.as_bytes())
    }

    /// A read: who calls which tool with which arguments.
    pub fn of_read(principal: &str, tool: &str, arguments: &[u8]) -> Identity {
        Identity::of("read", principal, tool, arguments)
    }

    /// A name for the operation in restricted records: 32 hex digits of the hash.
    pub fn id(&self) -> String {
        self.0.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    fn of(kind: &str, principal: &str, tool: &str, what: &[u8]) -> Identity {
        let mut hash = Sha256::new();
        for part in [kind.as_bytes(), principal.as_bytes(), tool.as_bytes(), what] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Identity(hash.finalize().into())
    }
}

/// What a report says of the attempt that begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Begun {
    /// `attempt.number`.
    pub number: u32,
    /// `attempt.prior`.
    pub prior: Prior,
    /// `attempt.elapsed_ms`: since the first attempt began.
    pub elapsed_ms: u32,
}

/// One operation as it is remembered.
#[derive(Clone, Copy, Debug)]
struct Operation {
    began_ms: u64,
    ends_ms: u64,
    attempts: u32,
    running: u32,
    outcome: Outcome,
}

impl Operation {
    /// May the operation have had an effect that is not known of? An attempt under way may yet have one.
    fn is_in_doubt(&self) -> bool {
        self.running > 0 || !self.outcome.is_without_effect()
    }

    fn prior(&self) -> Prior {
        match self.outcome {
            Outcome::Committed => Prior::Committed,
            _ if self.running > 0 => Prior::Unknown,
            _ if self.attempts == 0 => Prior::None,
            Outcome::NotStarted => Prior::NotStarted,
            Outcome::NotCommitted => Prior::NotCommitted,
            Outcome::Unknown => Prior::Unknown,
        }
    }
}

/// The operations of one process.
#[derive(Debug)]
pub struct Attempts {
    most: usize,
    lifetime_ms: u64,
    operations: HashMap<Identity, Operation>,
    /// By the end of their time; the doubtful ones apart.
    settled: BTreeSet<(u64, Identity)>,
    doubtful: BTreeSet<(u64, Identity)>,
}

impl Attempts {
    /// Remembers at most `most` operations, each for `lifetime_ms` from its last attempt on.
    pub fn new(most: usize, lifetime_ms: u64) -> Attempts {
        Attempts {
            most,
            lifetime_ms,
            operations: HashMap::new(),
            settled: BTreeSet::new(),
            doubtful: BTreeSet::new(),
        }
    }

    /// How many operations are remembered.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Is no operation remembered?
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// An attempt begins. `None` where the memory is full of operations in doubt: then nothing may be sent, and the
    /// condition is `RESOURCE_EXHAUSTED` before sending.
    pub fn begin(&mut self, identity: Identity, now_ms: u64) -> Option<Begun> {
        self.forget_over(now_ms);
        let fresh = Operation {
            began_ms: now_ms,
            ends_ms: now_ms,
            attempts: 0,
            running: 0,
            outcome: Outcome::NotStarted,
        };
        let before = match self.take(identity) {
            Some(operation) => operation,
            None if self.make_room() => fresh,
            None => return None,
        };
        let begun = Begun {
            number: before.attempts.saturating_add(1),
            prior: before.prior(),
            elapsed_ms: u32::try_from(now_ms.saturating_sub(before.began_ms)).unwrap_or(u32::MAX),
        };
        let after = Operation {
            attempts: begun.number,
            running: before.running.saturating_add(1),
            ends_ms: now_ms.saturating_add(self.lifetime_ms),
            ..before
        };
        self.put(identity, after);
        Some(begun)
    }

    /// An attempt failed with this outcome, which is joined with the others'.
    pub fn fail(&mut self, identity: Identity, outcome: Outcome) {
        self.change(identity, |operation| Operation {
            running: operation.running.saturating_sub(1),
            outcome: operation.outcome.join(outcome),
            ..operation
        });
    }

    /// A receipt, a fence or an enforced key has told what the operation came to: that replaces what was thought before.
    pub fn settle(&mut self, identity: Identity, outcome: Outcome) {
        self.change(identity, |operation| Operation { outcome, ..operation });
    }

    /// The operation is over: repeating it is a new one.
    pub fn succeed(&mut self, identity: Identity) {
        self.take(identity);
    }

    fn change(&mut self, identity: Identity, change: impl FnOnce(Operation) -> Operation) {
        if let Some(operation) = self.take(identity) {
            self.put(identity, change(operation));
        }
    }

    fn take(&mut self, identity: Identity) -> Option<Operation> {
        let operation = self.operations.remove(&identity)?;
        self.settled.remove(&(operation.ends_ms, identity));
        self.doubtful.remove(&(operation.ends_ms, identity));
        Some(operation)
    }

    fn put(&mut self, identity: Identity, operation: Operation) {
        let order = if operation.is_in_doubt() { &mut self.doubtful } else { &mut self.settled };
        order.insert((operation.ends_ms, identity));
        self.operations.insert(identity, operation);
    }

    fn forget_over(&mut self, now_ms: u64) {
        for order in [&mut self.settled, &mut self.doubtful] {
            while let Some((_, identity)) = order.first().copied().filter(|(ends_ms, _)| *ends_ms <= now_ms) {
                order.pop_first();
                self.operations.remove(&identity);
            }
        }
    }

    /// Forgets the oldest operation without effect where the memory is full. Says whether there is room.
    fn make_room(&mut self) -> bool {
        if self.operations.len() < self.most {
            return true;
        }
        match self.settled.pop_first() {
            Some((_, identity)) => self.operations.remove(&identity).is_some(),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: &str = "ada";

    fn write(key: &str) -> Identity {
        Identity::of_write(ADA, "order", key)
    }

    fn begun(number: u32, prior: Prior, elapsed_ms: u32) -> Option<Begun> {
        Some(Begun { number, prior, elapsed_ms })
    }

    #[test]
    fn a_models_repetition_is_the_next_attempt_of_the_same_operation() {
        let mut attempts = Attempts::new(10, 60_000);
        assert_eq!(attempts.begin(write("k-1"), 1_000), begun(1, Prior::None, 0));
        attempts.fail(write("k-1"), Outcome::NotStarted);
        assert_eq!(attempts.begin(write("k-1"), 1_500), begun(2, Prior::NotStarted, 500));
        attempts.fail(write("k-1"), Outcome::Unknown);
        assert_eq!(attempts.begin(write("k-1"), 3_000), begun(3, Prior::Unknown, 2_000));
        attempts.fail(write("k-1"), Outcome::NotCommitted);
        assert_eq!(attempts.begin(write("k-1"), 4_000), begun(4, Prior::Unknown, 3_000));
    }

    #[test]
    fn an_attempt_under_way_is_in_doubt_for_whoever_comes_next() {
        let mut attempts = Attempts::new(10, 60_000);
        attempts.begin(write("k-1"), 0);
        assert_eq!(attempts.begin(write("k-1"), 10), begun(2, Prior::Unknown, 10));
        attempts.fail(write("k-1"), Outcome::NotCommitted);
        attempts.fail(write("k-1"), Outcome::NotStarted);
        assert_eq!(attempts.begin(write("k-1"), 20), begun(3, Prior::NotCommitted, 20));
    }

    #[test]
    fn only_a_settled_outcome_replaces_what_was_thought_before() {
        let mut attempts = Attempts::new(10, 60_000);
        attempts.begin(write("k-1"), 0);
        attempts.fail(write("k-1"), Outcome::Unknown);
        attempts.settle(write("k-1"), Outcome::NotCommitted);
        assert_eq!(attempts.begin(write("k-1"), 1), begun(2, Prior::NotCommitted, 1));
    }

    #[test]
    fn another_caller_tool_key_or_argument_is_another_operation() {
        let mut attempts = Attempts::new(10, 60_000);
        let others = [
            write("k-1"),
            write("k-2"),
            Identity::of_write("eve", "order", "k-1"),
            Identity::of_write(ADA, "refund", "k-1"),
            Identity::of_read(ADA, "order", b"k-1"),
            Identity::of_read(ADA, "order", b"k-2"),
        ];
        for identity in others {
            assert_eq!(attempts.begin(identity, 0), begun(1, Prior::None, 0));
        }
        assert_eq!(attempts.len(), others.len());
    }

    #[test]
    fn success_and_time_end_an_operation() {
        let mut attempts = Attempts::new(10, 1_000);
        attempts.begin(write("k-1"), 0);
        attempts.succeed(write("k-1"));
        assert!(attempts.is_empty());
        attempts.begin(write("k-1"), 0);
        attempts.fail(write("k-1"), Outcome::Unknown);
        assert_eq!(attempts.begin(write("k-1"), 999), begun(2, Prior::Unknown, 999));
        attempts.fail(write("k-1"), Outcome::Unknown);
        assert_eq!(attempts.begin(write("k-1"), 1_999), begun(1, Prior::None, 0));
    }

    #[test]
    fn a_full_memory_forgets_what_had_no_effect_and_nothing_else() {
        let mut attempts = Attempts::new(2, 60_000);
        attempts.begin(write("doubtful"), 0);
        attempts.fail(write("doubtful"), Outcome::Unknown);
        attempts.begin(write("harmless"), 1);
        attempts.fail(write("harmless"), Outcome::NotCommitted);
        assert_eq!(attempts.begin(write("third"), 2), begun(1, Prior::None, 0));
        assert_eq!(attempts.begin(write("fourth"), 3), None);
        assert_eq!((attempts.len(), attempts.begin(write("doubtful"), 4)), (2, begun(2, Prior::Unknown, 4)));
        attempts.fail(write("third"), Outcome::NotStarted);
        assert_eq!(attempts.begin(write("fourth"), 5), begun(1, Prior::None, 0));
    }
}
