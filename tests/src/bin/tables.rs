//! The maintainers' command for the tables: `tables import FACTS_DIR` and `tables pack`.

use std::path::Path;

use anyhow::{Result, bail};
use retort_tests::tables::{folder, import, pack};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = folder();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["import", facts] => import::import(Path::new(facts), &folder),
        ["pack"] => {
            let (source, sizes) = pack::pack(&folder)?;
            std::fs::write(folder.join(pack::PACKED), source)?;
            for size in &sizes {
                println!("{:14} {:5} rows {:6} bytes", size.id, size.rows, size.bytes);
            }
            let (rows, bytes) =
                sizes.iter().fold((0, 0), |(rows, bytes), size| (rows + size.rows, bytes + size.bytes));
            println!("{:14} {rows:5} rows {bytes:6} bytes", "all");
            Ok(())
        }
        _ => bail!("usage: tables import FACTS_DIR | tables pack"),
    }
}
