//! What is to break, and the oracle: how far did the message get that could have an effect?

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What happens to the chosen message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// The connection is cut instead of forwarding it.
    CutBefore,
    /// It is forwarded, and the connection is cut at once.
    CutAtOnce,
    /// It is forwarded, the server acts on it, and the connection is cut with the answer.
    CutAfter,
    /// It is forwarded, and the answer never comes.
    BlackHole,
    /// It is forwarded, and the server is killed with all its processes.
    Kill,
}

impl Fault {
    /// Those of a connection.
    pub const CUTS: [Fault; 3] = [Fault::CutBefore, Fault::CutAtOnce, Fault::CutAfter];
}

/// Which message.
#[derive(Clone, Copy, Debug)]
pub enum At {
    /// The first one with these bytes in it.
    Text(&'static str),
    /// The Nth from now on, counted from 0.
    Message(u32),
}

/// What is to be done with a message.
#[derive(Clone, Copy, Debug)]
pub struct Judgement {
    /// What breaks.
    pub fault: Option<Fault>,
    /// Is it the message that can have an effect?
    pub is_marked: bool,
}

#[derive(Debug, Default)]
struct State {
    plan: Option<(At, Fault)>,
    mark: &'static str,
    left_client: bool,
    seen: u32,
    pace: Option<Duration>,
}

/// The plan for the next messages and what became of the marked one. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<State>>);

impl Faults {
    /// Watches for the next message with `mark` in it, which is the one that can have an effect, and breaks as planned.
    pub fn arm(&self, mark: &'static str, plan: Option<(At, Fault)>) {
        self.plan(plan);
        self.watch(mark);
    }

    /// Watches for the next message with `mark` in it, and leaves the plan as it is.
    pub fn watch(&self, mark: &'static str) {
        let mut state = self.state();
        state.mark = mark;
        state.left_client = false;
    }

    /// Plans the next fault, and leaves the mark as it is.
    pub fn plan(&self, plan: Option<(At, Fault)>) {
        let mut state = self.state();
        state.plan = plan;
        state.seen = 0;
    }

    /// Is the planned fault still to come?
    pub fn is_planned(&self) -> bool {
        self.state().plan.is_some()
    }

    /// Lets bytes through one by one, with so much time between them; `None` at full speed again.
    pub fn set_pace(&self, pace: Option<Duration>) {
        self.state().pace = pace;
    }

    /// The time between two bytes.
    pub fn pace(&self) -> Option<Duration> {
        self.state().pace
    }

    /// Did the client send the marked message? Where it did not, it can know that there was no effect.
    pub fn left_client(&self) -> bool {
        self.state().left_client
    }

    /// What is to be done with this message of the client's.
    pub fn judge(&self, message: &[u8]) -> Judgement {
        let mut state = self.state();
        let contains = |text: &str| {
            !text.is_empty() && message.windows(text.len()).any(|window| window == text.as_bytes())
        };
        let is_meant = match state.plan {
            Some((At::Text(text), _)) => contains(text),
            Some((At::Message(number), _)) => state.seen == number,
            None => false,
        };
        state.seen = state.seen.saturating_add(1);
        let fault = if is_meant { state.plan.take().map(|(_, fault)| fault) } else { None };
        let is_marked = contains(state.mark);
        state.left_client |= is_marked;
        Judgement { fault, is_marked }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
