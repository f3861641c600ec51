//! Judges every report of the corpus so many times, so that the instructions can be counted: `verdict-cost ROUNDS`.

use std::env;
use std::hint::black_box;

use retort::strings;
use retort_tests::corpus;

fn main() {
    let rounds: usize =
        env::args().nth(1).and_then(|rounds| rounds.parse().ok()).expect("a number of rounds");
    let reports: Vec<String> = corpus::reports().iter().map(|case| case.report.to_string()).collect();
    println!("{} reports", reports.len());
    for _ in 0..rounds {
        for report in &reports {
            black_box(strings::evaluate(black_box(report)));
        }
    }
}
