//! What a verdict costs, natively and through the component: `make bench`. One table; the same as JSON and as a chart
//! in `target/retort`.
//!
//! All rows are measured in turn, round after round, so that a busy machine slows them alike; a row's figure is the
//! median of its rounds. Time is the thread's processor time; with threads it is the clock's.

mod chart;
#[path = "../../tests/component/typed.rs"]
#[allow(dead_code, reason = "the tests need more of it")]
mod typed;

use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, Table, presets};
use cpu_time::ThreadTime;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use retort::strings;
use retort_host::{Component, Contract, Instances, Options};
use retort_tests::corpus;
use serde_json::{Value, json};

/// How often everything is measured.
const ROUNDS: usize = 15;

/// Lengths of messages, in bytes.
const LENGTHS: [usize; 5] = [200, 1024, 4096, 16_384, 65_536];

/// Reports per call of `evaluate-many`.
const BATCHES: [usize; 4] = [1, 10, 100, 1000];

/// One row: what is measured, how many verdicts a run gives, and the run, which says how long it took.
struct Probe<'a> {
    name: String,
    /// The row that it is compared with.
    base: Option<String>,
    verdicts: usize,
    run: Box<dyn Fn() -> Duration + 'a>,
}

impl<'a> Probe<'a> {
    fn new(name: &str, base: Option<&str>, verdicts: usize, run: impl Fn() -> Duration + 'a) -> Probe<'a> {
        Probe { name: name.to_owned(), base: base.map(str::to_owned), verdicts, run: Box::new(run) }
    }
}

/// One row, measured.
struct Figure {
    name: String,
    microseconds: f64,
    ratio: Option<f64>,
}

fn main() {
    let reports: Vec<Value> = corpus::reports().into_iter().map(|case| case.report).collect();
    let texts: Vec<String> = reports.iter().map(Value::to_string).collect();
    let records: Vec<_> = reports.iter().map(|report| typed::report(&typed::well_typed(report))).collect();
    let load = |options| {
        Component::load(Some(&path("retort.component.wasm")), options).expect("`make component` builds it")
    };
    let reused = || Options { instances: Instances::Reused, ..Options::default() };
    let (fresh, warm) = (load(Options::default()), load(reused()));
    let unbounded = load(Options { deadline: None, ..reused() });
    let kept = [("JSON, warm", &warm), ("JSON, warm, without a deadline", &unbounded)];

    let each = |judge: &dyn Fn(&str) -> String| {
        busy(|| texts.iter().for_each(|report| drop(black_box(judge(black_box(report))))))
    };
    let judge_records =
        || busy(|| records.iter().for_each(|report| drop(black_box(warm.typed().evaluate(report)))));
    let mut probes = vec![
        Probe::new("native", None, texts.len(), || each(&strings::evaluate)),
        Probe::new("typed, warm", Some("native"), texts.len(), judge_records),
        Probe::new("JSON, fresh instance", Some("native"), texts.len(), || {
            each(&|report| fresh.evaluate(report))
        }),
    ];
    for (name, component) in kept {
        let run = || each(&|report| component.evaluate(report));
        probes.push(Probe::new(name, Some("native"), texts.len(), run));
    }
    for size in BATCHES {
        let batch: Vec<Value> = reports.iter().cycle().take(size).cloned().collect();
        let (batch, calls) = (Value::from(batch).to_string(), (400 / size).max(1));
        let native = format!("native, reports at once: {size}");
        let again = batch.clone();
        let run = move || repeated(calls, &|| strings::evaluate_many(black_box(&again)));
        probes.push(Probe::new(&native, None, size * calls, run));
        for (name, component) in kept {
            let batch = batch.clone();
            let run = move || repeated(calls, &|| component.evaluate_many(black_box(&batch)));
            let name = format!("{name}, reports at once: {size}");
            probes.push(Probe::new(&name, Some(&native), size * calls, run));
        }
    }
    for length in LENGTHS {
        let (report, calls) = (report_of(length), (131_072 / length).max(1));
        let native = format!("native, bytes of the message: {length}");
        let again = report.clone();
        let run = move || repeated(calls, &|| strings::evaluate(black_box(&again)));
        probes.push(Probe::new(&native, None, calls, run));
        for (name, component) in kept {
            let report = report.clone();
            let run = move || repeated(calls, &|| component.evaluate(black_box(&report)));
            let name = format!("{name}, bytes of the message: {length}");
            probes.push(Probe::new(&name, Some(&native), calls, run));
        }
    }
    let threads = |count: usize| format!("JSON, fresh instance, threads: {count}");
    for count in [1, 2] {
        let (fresh, texts) = (&fresh, &texts);
        let run = move || {
            let start = Instant::now();
            thread::scope(|scope| {
                for _ in 0..count {
                    scope.spawn(|| texts.iter().for_each(|report| drop(black_box(fresh.evaluate(report)))));
                }
            });
            start.elapsed()
        };
        let base = threads(1);
        let base = Some(base.as_str()).filter(|_| count > 1);
        probes.push(Probe::new(&threads(count), base, count * texts.len(), run));
    }

    let figures = measure(&probes);
    let judge_all = || texts.iter().for_each(|report| drop(black_box(strings::evaluate(report))));
    let allocations = allocation_counter::measure(judge_all);
    let per_verdict = |total: u64| total as f64 / texts.len() as f64;
    let component = fs::read(path("retort.component.wasm")).expect("`make component` builds it");
    let facts = [
        ("allocations per native verdict", per_verdict(allocations.count_total).round()),
        ("bytes allocated per native verdict", per_verdict(allocations.bytes_total).round()),
        ("bytes of the component", component.len() as f64),
        ("bytes of the component, compressed", compressed(&component) as f64),
    ];
    publish(&figures, &facts);
}

/// The median of every probe.
fn measure(probes: &[Probe<'_>]) -> Vec<Figure> {
    let mut rounds: Vec<Vec<f64>> = probes.iter().map(|_| Vec::new()).collect();
    // The first round warms up.
    for round in 0..=ROUNDS {
        for (probe, times) in probes.iter().zip(&mut rounds) {
            let time = (probe.run)().as_secs_f64() * 1e6 / probe.verdicts as f64;
            times.extend((round > 0).then_some(time));
        }
    }
    let medians: Vec<f64> = rounds.into_iter().map(median).collect();
    let of = |name: &String| probes.iter().position(|probe| probe.name == *name).map(|at| medians[at]);
    let figure = |(probe, median): (&Probe<'_>, &f64)| Figure {
        name: probe.name.clone(),
        microseconds: *median,
        ratio: probe.base.as_ref().and_then(of).map(|base| median / base),
    };
    probes.iter().zip(&medians).map(figure).collect()
}

/// The middle of an odd number of figures.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The processor time that some calls take.
fn repeated(calls: usize, call: &dyn Fn() -> String) -> Duration {
    busy(|| (0..calls).for_each(|_| drop(black_box(call()))))
}

/// The processor time that some work takes.
fn busy(work: impl FnOnce()) -> Duration {
    let start = ThreadTime::now();
    work();
    start.elapsed()
}

/// A report with a message of a length, of words as servers say them.
fn report_of(length: usize) -> String {
    let words =
        "duplicate key value violates unique constraint \"orders_pkey\": Key (id)=(42) already exists; ";
    let message: String = words.chars().cycle().take(length).collect();
    json!({"error": {"code": "23505", "message": message}, "system": "postgresql", "seed": 7}).to_string()
}

/// The size of some bytes as `gzip -9` leaves them, without its header.
fn compressed(bytes: &[u8]) -> usize {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all").len()
}

/// Prints the table, and leaves JSON and chart in `target/retort`.
fn publish(figures: &[Figure], facts: &[(&str, f64)]) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["", "µs per verdict", "ratio"]);
    for Figure { name, microseconds, ratio } in figures {
        let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
        table.add_row([name.clone(), format!("{microseconds:.1}"), ratio]);
    }
    for (name, value) in facts {
        table.add_row([String::from(*name), value.to_string(), String::new()]);
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    println!("{table}");
    let rows: Vec<Value> = figures
        .iter()
        .map(|figure| json!({"name": figure.name, "us": figure.microseconds, "ratio": figure.ratio}))
        .collect();
    let facts: Value = facts.iter().map(|(name, value)| (String::from(*name), json!(value))).collect();
    let text = json!({"median_us_per_verdict": rows, "facts": facts}).to_string();
    fs::write(path("bench.json"), text).expect("target/retort can be written to");
    let bars: Vec<_> = figures.iter().map(|figure| (figure.name.as_str(), figure.microseconds)).collect();
    chart::draw(&path("bench.svg"), &bars).expect("target/retort can be written to");
}

/// A file beside the component.
fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/retort").join(name)
}
