//! An instance that is reused for long takes no more memory than at first.

use retort_tests::corpus;
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, ResourceLimiter, Store};

use crate::artefacts::artefact;

/// Calls of one instance, unless `RETORT_SOAK` says how many: `make soak`.
const CALLS: usize = 20_000;

/// Keeps how large the memory has become, in bytes.
#[derive(Default)]
struct Gauge {
    memory: usize,
}

impl ResourceLimiter for Gauge {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.memory = self.memory.max(desired);
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        _desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(true)
    }
}

#[test]
fn memory_of_a_reused_instance_stays_flat() {
    let calls = std::env::var("RETORT_SOAK").map_or(CALLS, |calls| calls.parse().expect("a number of calls"));
    let engine = Engine::default();
    let component = Component::from_binary(&engine, &artefact("retort.component.wasm")).expect("a component");
    let mut store = Store::new(&engine, Gauge::default());
    store.limiter(|gauge| gauge);
    let instance = Linker::new(&engine).instantiate(&mut store, &component).expect("no imports");
    let interface = instance.get_export_index(&mut store, None, "retort:contract/json@0.1.0");
    let evaluate = instance.get_export_index(&mut store, interface.as_ref(), "evaluate").expect("an export");
    let evaluate =
        instance.get_typed_func::<(String,), (String,)>(&mut store, evaluate).expect("string to string");

    let reports: Vec<String> = corpus::reports().iter().map(|case| case.report.to_string()).collect();
    let mut judge = |report: &String| {
        evaluate.call(&mut store, (report.clone(),)).expect("a verdict");
        store.data().memory
    };
    // After two rounds every report has met a heap as the others leave it.
    let settled = reports.iter().chain(&reports).map(&mut judge).max().expect("a corpus");
    let last = reports.iter().cycle().take(calls).map(&mut judge).last().expect("calls");
    println!("{calls} calls, {last} bytes");
    assert_eq!(last, settled, "the memory has grown");
}
