//! Prints what a component is made of: `sizes COMPONENT`. `make sizes` builds one whose functions have names.

use std::{env, fs};

use anyhow::{Context, Result};
use retort_tests::sizes::{self, Part};

/// How many parts of each kind are printed.
const MOST: usize = 30;

fn main() -> Result<()> {
    let path = env::args().nth(1).context("usage: sizes COMPONENT")?;
    let component = fs::read(&path).with_context(|| path.clone())?;
    let module = sizes::core_module(&component)?;
    print("section", &sizes::sections(module)?);
    let functions = sizes::functions(module)?;
    print("crate", &sizes::by_module(&functions, 1));
    print("module", &sizes::by_module(&functions, 2));
    print("function", &functions);
    Ok(())
}

fn print(kind: &str, parts: &[Part]) {
    for part in parts.iter().take(MOST) {
        println!("{:>8}  {kind} {}", part.bytes, part.name);
    }
    println!();
}
