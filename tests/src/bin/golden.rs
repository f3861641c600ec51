//! `golden update` writes the golden files anew; `golden` alone says where they differ from the library.

use std::process::ExitCode;

use retort_tests::golden;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("update") {
        return match golden::update() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("golden: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let differences = golden::differences();
    for difference in &differences {
        println!("{difference}");
    }
    if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
