//! The component in wasmtime: bounded in memory and time, and closed when it fails.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use retort_sidecar::Function;
use wasmtime::component::{Component as Compiled, Linker};
use wasmtime::{
    Cache, Config, Enabled, Engine, InstanceAllocationStrategy, PoolConcurrencyLimitError,
    PoolingAllocationConfig, Store, StoreLimits, StoreLimitsBuilder,
};

use crate::contract::{Contract, Typed, typed};
use crate::{Error, fault, locate};
use bindings::{Retort, RetortPre};

/// The types and calls that wasmtime derives from the WIT.
#[allow(
    missing_docs,
    unsafe_code,
    clippy::all,
    reason = "generated from the WIT, which documents every item"
)]
pub mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "retort",
        additional_derives: [PartialEq],
    });
}

/// How often the engine's clock ticks: the resolution of the deadline.
const TICK: Duration = Duration::from_millis(10);
/// The longest call, unless another is chosen.
pub(crate) const DEADLINE: Duration = Duration::from_secs(1);
/// How much of a slot's memory stays mapped between two instances: more than a verdict touches.
const RESIDENT_BYTES: usize = 2 << 20;

/// Instances that may exist at once under the pooling allocator; further calls wait their turn.
const POOL_SLOTS: u32 = 256;

/// How long an instance lives.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Instances {
    /// One per call: nothing of a report can reach the next one.
    #[default]
    Fresh,
    /// Kept between calls, one per concurrent caller, and thrown away after a trap.
    Reused,
}

/// Bounds and choices; the defaults are the recommended ones.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long an instance lives; fresh ones.
    pub instances: Instances,
    /// The most memory of one instance, in bytes; 16 MiB.
    pub memory_bytes: usize,
    /// The longest call, rounded up to 10 ms; 1 s. `None`: nothing ends a call that does not end, and calls take a fifth less
    /// time. The component's own time is linear in its input, so that this is for a component whose bytes you know.
    pub deadline: Option<Duration>,
    /// Prepare memory for instances in advance, where the machine has the address space; yes.
    pub pooling: bool,
    /// Keep the compiled component in wasmtime's cache folder of this user, so that the next start is quick; no.
    pub cache: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            instances: Instances::Fresh,
            memory_bytes: 16 << 20,
            deadline: Some(DEADLINE),
            pooling: true,
            cache: false,
        }
    }
}

/// The component, compiled once and ready for calls from any number of threads.
///
/// Where a call fails (a trap, no memory, past its deadline) the host answers with a constant of its own: a write is
/// then `OUTCOME_UNKNOWN`, a read `DATABASE_ERROR`, and the next call gets a new instance.
pub struct Component {
    prepared: RetortPre<StoreLimits>,
    options: Options,
    idle: Mutex<Vec<Instance>>,
    faults: AtomicU64,
    /// Stops with the component.
    _ticker: Option<Ticker>,
}

struct Instance {
    store: Store<StoreLimits>,
    exports: Retort,
}

impl Component {
    /// Compiles the component at `path`; without one, the component inside or beside this program.
    pub fn load(path: Option<&Path>, options: Options) -> Result<Component, Error> {
        Component::from_bytes(&locate::component(path)?, options)
    }

    /// Compiles a component from its bytes.
    pub fn from_bytes(bytes: &[u8], options: Options) -> Result<Component, Error> {
        let engine = engine(&options)?;
        let not_the_component =
            |reason: wasmtime::Error| Error::NotTheComponent { reason: reason.to_string() };
        let compiled = Compiled::from_binary(&engine, bytes).map_err(not_the_component)?;
        let prepared = Linker::new(&engine).instantiate_pre(&compiled).map_err(not_the_component)?;
        let prepared = RetortPre::new(prepared).map_err(not_the_component)?;
        let _ticker = options.deadline.map(|_| Ticker::start(engine));
        Ok(Component { prepared, options, idle: Mutex::default(), faults: AtomicU64::new(0), _ticker })
    }

    /// How many calls the host had to answer itself: anything but 0 wants an operator's eye.
    pub fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }

    fn call<T>(
        &self,
        function: &'static str,
        call: impl FnOnce(&Retort, &mut Store<StoreLimits>) -> wasmtime::Result<T>,
        closed: impl FnOnce() -> T,
    ) -> T {
        self.try_call(call).unwrap_or_else(|error| {
            self.faults.fetch_add(1, Ordering::Relaxed);
            tracing::error!(function, reason = %error, "the component failed; the host answered in its place");
            closed()
        })
    }

    fn try_call<T>(
        &self,
        call: impl FnOnce(&Retort, &mut Store<StoreLimits>) -> wasmtime::Result<T>,
    ) -> wasmtime::Result<T> {
        let mut instance = match self.take_idle() {
            Some(instance) => instance,
            None => self.instantiate()?,
        };
        self.start_deadline(&mut instance.store);
        let value = call(&instance.exports, &mut instance.store)?;
        if self.options.instances == Instances::Reused {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(instance);
        }
        Ok(value)
    }

    fn start_deadline(&self, store: &mut Store<StoreLimits>) {
        if let Some(deadline) = self.options.deadline {
            store.set_epoch_deadline(ticks(deadline));
        }
    }

    fn take_idle(&self) -> Option<Instance> {
        match self.options.instances {
            Instances::Fresh => None,
            Instances::Reused => self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop(),
        }
    }

    fn instantiate(&self) -> wasmtime::Result<Instance> {
        loop {
            let limits = StoreLimitsBuilder::new().memory_size(self.options.memory_bytes).build();
            let mut store = Store::new(self.prepared.engine(), limits);
            store.limiter(|limits| limits);
            self.start_deadline(&mut store);
            match self.prepared.instantiate(&mut store) {
                Ok(exports) => return Ok(Instance { store, exports }),
                // Calls take microseconds: a slot is free again before anything else could be arranged.
                Err(error) if error.is::<PoolConcurrencyLimitError>() => thread::yield_now(),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Calls one function of the interface `json`; where that fails, the host answers.
macro_rules! json {
    ($component:expr, $function:ident($($input:expr)?), $closed:expr) => {
        $component.call(
            stringify!($function),
            |exports, store| exports.retort_contract_json().$function(store $(, $input)?),
            || $closed,
        )
    };
}

impl Contract for Component {
    fn evaluate(&self, report: &str) -> String {
        json!(self, call_evaluate(report), fault::answer(Function::Evaluate, report))
    }

    fn evaluate_many(&self, reports: &str) -> String {
        json!(self, call_evaluate_many(reports), fault::answer(Function::EvaluateMany, reports))
    }

    fn reconcile(&self, reconciliation: &str) -> String {
        json!(self, call_reconcile(reconciliation), fault::answer(Function::Reconcile, reconciliation))
    }

    fn summarise(&self, attempts: &str) -> String {
        json!(self, call_summarise(attempts), fault::answer(Function::Summarise, attempts))
    }

    fn budget(&self, change: &str) -> String {
        json!(self, call_budget(change), fault::answer(Function::Budget, change))
    }

    fn redact(&self, text: &str) -> String {
        json!(self, call_redact(text), fault::answer(Function::Redact, text))
    }

    fn inspect(&self, text: &str) -> String {
        json!(self, call_inspect(text), fault::answer(Function::Inspect, text))
    }

    fn fingerprint(&self, statement: &str) -> String {
        json!(self, call_fingerprint(statement), fault::answer(Function::Fingerprint, statement))
    }

    fn render(&self, envelope: &str) -> String {
        json!(self, call_render(envelope), fault::answer(Function::Render, envelope))
    }

    fn codes(&self) -> String {
        json!(self, call_codes(), fault::answer(Function::Codes, ""))
    }

    fn version(&self) -> String {
        json!(self, call_version(), fault::answer(Function::Version, ""))
    }

    fn typed(&self) -> &dyn Typed {
        self
    }
}

/// Calls one function of the interface `contract`.
macro_rules! typed {
    ($component:expr, $function:ident($($input:expr),*), $closed:expr) => {
        $component.call(
            stringify!($function),
            |exports, store| exports.retort_contract_contract().$function(store $(, $input)*),
            || $closed,
        )
    };
}

impl Typed for Component {
    fn evaluate(&self, report: &typed::Report) -> typed::Verdict {
        typed!(self, call_evaluate(report), fault::typed::verdict(report))
    }

    fn evaluate_many(&self, reports: &[typed::Report]) -> Vec<typed::Verdict> {
        typed!(self, call_evaluate_many(reports), reports.iter().map(fault::typed::verdict).collect())
    }

    fn reconcile(&self, reconciliation: &typed::Reconciliation) -> typed::Verdict {
        typed!(self, call_reconcile(reconciliation), fault::typed::reconciliation(reconciliation))
    }

    fn summarise(&self, attempts: &[typed::AttemptRecord]) -> typed::OperationRecord {
        typed!(self, call_summarise(attempts), fault::typed::operation_record())
    }

    fn budget(&self, tokens: u32, event: &str, capacity: u32) -> u32 {
        typed!(self, call_budget(tokens, event, capacity), 0)
    }

    fn redact(&self, text: &str, level: &str) -> typed::Redaction {
        typed!(self, call_redact(text, level), fault::typed::redaction(text))
    }

    fn inspect(&self, text: &str) -> Vec<typed::Finding> {
        typed!(self, call_inspect(text), fault::typed::findings(text))
    }

    fn fingerprint(&self, statement: &str, dialect: &str) -> typed::StatementFingerprint {
        typed!(self, call_fingerprint(statement, dialect), fault::typed::fingerprint())
    }

    fn render(&self, envelope: &typed::Envelope, format: &str) -> String {
        typed!(self, call_render(envelope, format), fault::rendered())
    }

    fn codes(&self) -> Vec<typed::CodeRow> {
        typed!(self, call_codes(), Vec::new())
    }
}

/// With the pooling allocator where it is wanted and the machine can, else with memory on demand.
pub fn engine(options: &Options) -> Result<Engine, Error> {
    let mut config = Config::new();
    config.epoch_interruption(options.deadline.is_some()).wasm_backtrace_max_frames(None);
    if options.cache {
        // Without a cache (no home folder, a read-only one) the component is just compiled again.
        config.cache(Cache::from_file(None).ok());
    }
    if options.pooling {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(POOL_SLOTS)
            .total_core_instances(POOL_SLOTS)
            .total_memories(POOL_SLOTS)
            .total_tables(POOL_SLOTS)
            .max_memory_size(options.memory_bytes)
            .linear_memory_keep_resident(RESIDENT_BYTES)
            .table_keep_resident(RESIDENT_BYTES)
            .pagemap_scan(Enabled::Auto);
        let mut pooling = config.clone();
        pooling.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        if let Ok(engine) = Engine::new(&pooling) {
            return Ok(engine);
        }
    }
    // 4 GiB of address space per memory, wasmtime's default, is not to be had on small machines.
    config.memory_reservation(options.memory_bytes as u64);
    Engine::new(&config).map_err(|error| Error::Engine { reason: error.to_string() })
}

/// The deadline in ticks; one more, since the first may come at once.
fn ticks(deadline: Duration) -> u64 {
    if deadline.is_zero() {
        return 0;
    }
    u64::try_from(deadline.as_nanos().div_ceil(TICK.as_nanos())).unwrap_or(u64::MAX / 2).saturating_add(1)
}

/// The thread that moves the engine's epoch, until it is dropped.
pub struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Moves the epoch of `engine` every 10 ms.
    pub fn start(engine: Engine) -> Ticker {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::spawn(move || {
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                engine.increment_epoch();
            }
        });
        Ticker { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread cannot panic, and a ticker that is gone has nothing left to report.
            let _ = thread.join();
        }
    }
}
