//! Measures a warm verdict natively and through the component, and the start, in processor time, since the machine may be
//! busy. Prints one JSON object a line. The best of many short rounds, since everything that disturbs one makes it longer.

use cpu_time::{ProcessTime, ThreadTime};
use retort_host::{Component, Contract, Error, Instances, Native, Options};

const REPORT: &str = include_str!("../bench/report.json");
const ROUNDS: u32 = 250;
const CALLS: u32 = 100;

/// The best of several rounds, in microseconds a call.
fn microseconds(contract: &dyn Contract) -> f64 {
    let round = |_| {
        let start = ThreadTime::now();
        for _ in 0..CALLS {
            std::hint::black_box(contract.evaluate(REPORT));
        }
        start.elapsed()
    };
    (0..ROUNDS).map(round).min().unwrap_or_default().as_secs_f64() * 1e6 / f64::from(CALLS)
}

fn main() -> Result<(), Error> {
    println!(r#"{{"host":"native","json_us":{:.2},"first_call_ms":0.0}}"#, microseconds(&Native));
    for instances in [Instances::Fresh, Instances::Reused] {
        let start = ProcessTime::now();
        let component = Component::load(None, Options { instances, ..Options::default() })?;
        std::hint::black_box(component.evaluate(REPORT));
        let first = start.elapsed().as_secs_f64() * 1e3;
        let name = format!("rust {instances:?}").to_lowercase();
        let warm = microseconds(&component);
        println!(r#"{{"host":"{name}","json_us":{warm:.2},"first_call_ms":{first:.1}}}"#);
    }
    Ok(())
}
