//! What a call costs, counted in wasmtime's fuel: the same on every machine. A unit is about one instruction of
//! WebAssembly.

use std::fmt::Write;
use std::fs;

use retort_tests::corpus;
use serde_json::{Value, json};
use wasmtime::component::{Component, Linker, TypedFunc};
use wasmtime::{Config, Engine, Store};

use crate::artefacts::artefact;

/// More than any call takes.
const TANK: u64 = 1 << 40;

/// Where the baseline is kept; `make baseline` writes it anew.
const BASELINE: &str = "fuel.tsv";

/// The reports of the baseline, of all kinds and lengths.
const REPORTS: [&str; 10] = [
    "report_without_an_operation_is_a_sent_write",
    "deadlock_past_the_deadline_is_not_retryable",
    "sqlite-006",
    "postgresql-101",
    "mongodb-013",
    "mysql-009",
    "sqlserver-008",
    "elasticsearch-005",
    "postgresql-040",
    "cockroachdb-002",
];

/// The component, compiled to count its fuel.
struct Metered {
    engine: Engine,
    component: Component,
}

impl Metered {
    fn load() -> Metered {
        let engine = Engine::new(Config::new().consume_fuel(true)).expect("an engine");
        let component =
            Component::from_binary(&engine, &artefact("retort.component.wasm")).expect("a component");
        Metered { engine, component }
    }

    /// A new instance; instantiating counts as part of its first call.
    fn instance(&self) -> Instance {
        let mut store = Store::new(&self.engine, ());
        store.set_fuel(TANK).expect("fuel is counted");
        let instance =
            Linker::new(&self.engine).instantiate(&mut store, &self.component).expect("no imports");
        let interface = instance.get_export_index(&mut store, None, "retort:contract/json@0.1.0");
        let evaluate =
            instance.get_export_index(&mut store, interface.as_ref(), "evaluate").expect("an export");
        let evaluate = instance.get_typed_func(&mut store, evaluate).expect("string to string");
        Instance { store, evaluate }
    }
}

struct Instance {
    store: Store<()>,
    evaluate: TypedFunc<(String,), (String,)>,
}

impl Instance {
    /// The fuel that one call takes, and all that was used before it in this instance.
    fn evaluate(&mut self, report: &str) -> u64 {
        self.evaluate.call(&mut self.store, (report.to_owned(),)).expect("a verdict");
        let used = TANK - self.store.get_fuel().expect("fuel is counted");
        self.store.set_fuel(TANK).expect("fuel is counted");
        used
    }
}

/// The report of a name.
fn report(name: &str) -> String {
    let case = corpus::reports().into_iter().find(|case| case.name == name);
    case.unwrap_or_else(|| panic!("{name} is not in the corpus")).report.to_string()
}

#[test]
fn first_call_of_an_instance_costs_at_most_a_fifth_more_than_its_hundredth() {
    let metered = Metered::load();
    for name in REPORTS {
        let report = report(name);
        let mut instance = metered.instance();
        let costs: Vec<u64> = (0..100).map(|_| instance.evaluate(&report)).collect();
        let (first, hundredth) = (costs[0], costs[99]);
        println!("{name}: first {first}, hundredth {hundredth}");
        assert!(first * 10 <= hundredth * 12, "{name}: first {first}, hundredth {hundredth}");
    }
}

/// What hostile messages repeat: openings without ends, prefixes of wrappers, and what sends a search on.
#[rustfmt::skip]
const UNITS: &[&str] = &[
    "(", "'", "{'a': ", "{\"a\":", "[", "a.b.C", "A", "E", "7", "-", "%", "Error: ", "Caused by: ", "ORA-00001: ", "SQLSTATE[",
    "Error 1205: ", "(code: 7) ", " (SQLSTATE ", "\\n ", ". (", "Msg 7, ", "duplicate key value ", "ab_", "FATAL ", "Key (a)=(b) ",
    "\n", "\u{e9}", "\u{2018}", "\\", "time= msg=", "s('", "Class('", "table '", "table s('",
];

#[test]
fn fuel_grows_no_faster_than_a_hostile_text() {
    assert_linear(UNITS.iter().map(|unit| String::from(*unit)));
}

/// What real messages hold can send a search on too.
#[test]
fn fuel_grows_no_faster_than_a_repeated_message() {
    let mut messages: Vec<String> = Vec::new();
    for case in corpus::reports() {
        collect(&case.report["error"], &mut messages);
    }
    messages.sort_unstable();
    messages.dedup();
    let lines = messages.iter().map(|message| format!("{}; ", message.replace('\n', " ")));
    let paragraphs = messages.iter().filter(|message| message.contains('\n')).map(|text| format!("{text}\n"));
    assert_linear(lines.chain(paragraphs));
}

/// All texts in a value.
fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if !text.is_empty() => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(members) => members.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

/// Asserts that eight times the text takes at most eight times the fuel, and a tenth for buffers that grow.
fn assert_linear(units: impl Iterator<Item = String>) {
    let metered = Metered::load();
    let mut steep = Vec::new();
    for unit in units {
        let cost = |kibibytes: usize| {
            let message: String = unit.chars().cycle().take(kibibytes * 1024).collect();
            metered.instance().evaluate(&json!({ "error": { "message": message } }).to_string())
        };
        let [short, long] = [4, 32].map(cost);
        println!("{unit:?}: {short}, {long}");
        if long * 10 > short * 88 {
            steep.push(format!("{unit:?}: {short}, {long}"));
        }
    }
    assert!(steep.is_empty(), "{} texts take more than linear work: {steep:#?}", steep.len());
}

#[test]
fn no_verdict_costs_a_tenth_more_than_its_baseline() {
    let metered = Metered::load();
    let costs = REPORTS.map(|name| {
        let mut instance = metered.instance();
        let report = report(name);
        instance.evaluate(&report);
        (name, report.len(), instance.evaluate(&report))
    });
    if std::env::var_os("RETORT_BASELINE").is_some() {
        let mut text = String::from("# Fuel per verdict, written by `make baseline`.\nreport\tbytes\tfuel\n");
        costs
            .iter()
            .for_each(|(name, bytes, fuel)| writeln!(text, "{name}\t{bytes}\t{fuel}").expect("a line"));
        fs::write(corpus::path(BASELINE), text).expect("the baseline is written");
    }
    let kept = corpus::read(BASELINE);
    let kept: Vec<(&str, u64)> = kept
        .lines()
        .skip(2)
        .filter_map(|line| Some((line.split('\t').next()?, line.split('\t').nth(2)?.parse().ok()?)))
        .collect();
    for ((name, bytes, fuel), (kept_name, kept_fuel)) in costs.iter().zip(&kept) {
        println!("{name}: {bytes} bytes, {fuel} units of fuel, {kept_fuel} in the baseline");
        assert_eq!(name, kept_name, "`make baseline` writes the baseline anew");
        assert!(*fuel * 10 <= kept_fuel * 11, "{name}: {fuel} units of fuel, {kept_fuel} in the baseline");
    }
    assert_eq!(costs.len(), kept.len(), "`make baseline` writes the baseline anew");
}
