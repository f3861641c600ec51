//! `retort evaluate`.

use clap::Args;

use super::Error;
use super::lines::Input;
use crate::Contract;

/// Every line gets its verdict, also one that is empty or no JSON: it is judged as a report that cannot be read.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
}

pub fn run(contract: &dyn Contract, arguments: &Arguments) -> Result<(), Error> {
    arguments.input.map_lines(|line| Some(contract.evaluate(line)))
}
