//! Takes the one core module out of a component, for hosts that run core modules only: `core-module IN OUT`.

use std::process::ExitCode;
use std::{env, fs};

use wasmparser::{Parser, Payload};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [input, output] = arguments.as_slice() else {
        eprintln!("usage: core-module COMPONENT OUTPUT");
        return ExitCode::from(2);
    };
    match extract(input, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("core-module: {input}: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn extract(input: &str, output: &str) -> Result<(), String> {
    let component = fs::read(input).map_err(|error| error.to_string())?;
    let module = core_module(&component)?;
    if fs::read(output).is_ok_and(|present| present == module) {
        return Ok(());
    }
    fs::write(output, module).map_err(|error| format!("cannot write {output}: {error}"))
}

/// The bytes of the component's only module.
fn core_module(component: &[u8]) -> Result<&[u8], String> {
    let mut modules = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        if let Payload::ModuleSection { unchecked_range, .. } = payload.map_err(|error| error.to_string())? {
            modules.push(unchecked_range);
        }
    }
    match modules.as_slice() {
        [range] => {
            component.get(range.clone()).ok_or_else(|| String::from("the module lies outside the file"))
        }
        _ => Err(format!("{} core modules where one was expected", modules.len())),
    }
}
