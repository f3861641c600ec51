//! `fuzz-corpus unpack DIRECTORY` writes what the fuzz targets start from: the corpus and what earlier runs kept.
//! `fuzz-corpus keep DIRECTORY` keeps what they found, one line per input, the shortest first.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use retort_tests::{corpus, properties};

/// How much is kept per target, in bytes.
const KEPT: usize = 96 * 1024;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["unpack", directory] => unpack(Path::new(directory)),
        ["keep", directory] => keep(Path::new(directory)),
        _ => Err(std::io::Error::other("use: fuzz-corpus unpack|keep DIRECTORY")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fuzz-corpus: {error}");
            ExitCode::FAILURE
        }
    }
}

fn unpack(directory: &Path) -> std::io::Result<()> {
    for (target, _) in properties::ALL {
        let folder = directory.join(target);
        fs::create_dir_all(&folder)?;
        for (index, input) in corpus::fuzz_seeds(target).into_iter().enumerate() {
            fs::write(folder.join(format!("seed-{index}")), input)?;
        }
    }
    Ok(())
}

fn keep(directory: &Path) -> std::io::Result<()> {
    for (target, _) in properties::ALL {
        let mut inputs: Vec<String> = fs::read_dir(directory.join(target))?
            .filter_map(|entry| fs::read_to_string(entry.ok()?.path()).ok())
            .collect();
        inputs.sort_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
        inputs.dedup();
        let mut size = 0;
        let lines: String = inputs
            .iter()
            .map(|input| format!("{}\n", serde_json::json!(input)))
            .take_while(|line| {
                size += line.len();
                size <= KEPT
            })
            .collect();
        let file = corpus::path(&format!("fuzz/{target}.jsonl"));
        fs::create_dir_all(file.parent().expect("a file in a folder"))?;
        fs::write(file, lines)?;
    }
    Ok(())
}
