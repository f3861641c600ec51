//! Takes the one core module out of a component, for hosts that run core modules only: `core-module IN OUT`.

use std::{env, fs};

use anyhow::{Context, Result, bail};
use retort_tests::sizes::core_module;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [input, output] = arguments.as_slice() else { bail!("usage: core-module COMPONENT OUTPUT") };
    let component = fs::read(input).with_context(|| input.clone())?;
    let module = core_module(&component).with_context(|| input.clone())?;
    if fs::read(output).is_ok_and(|present| present == module) {
        return Ok(());
    }
    fs::write(output, module).with_context(|| format!("cannot write {output}"))
}
