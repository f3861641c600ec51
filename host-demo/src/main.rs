//! The command `retort`.

use std::process::ExitCode;

fn main() -> ExitCode {
    retort_host::cli::main()
}
