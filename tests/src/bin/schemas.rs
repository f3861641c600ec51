//! Writes the JSON Schemas of report and verdict into `wit/schema/`, from the types of the `retort` crate.
//!
//! `cargo run -p retort-tests --bin schemas`

use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/schema");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("report.schema.json"), retort::schema::report())?;
    fs::write(folder.join("verdict.schema.json"), retort::schema::verdict())
}
