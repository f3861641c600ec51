//! Where the component comes from.

use std::borrow::Cow;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// The component inside this program, where it was built with the feature `embed`.
#[cfg(feature = "embed")]
const EMBEDDED: Option<&[u8]> = Some(include_bytes!(env!("RETORT_COMPONENT")));
#[cfg(not(feature = "embed"))]
const EMBEDDED: Option<&[u8]> = None;

const NAME: &str = "retort.component.wasm";

/// The component's bytes: from `path`, else from inside the program, else from beside it or from `target/retort`.
pub fn component(path: Option<&Path>) -> Result<Cow<'static, [u8]>, Error> {
    if let Some(path) = path {
        return read(path.to_path_buf());
    }
    if let Some(bytes) = EMBEDDED {
        return Ok(Cow::Borrowed(bytes));
    }
    read(usual_places().into_iter().find(|place| place.is_file()).ok_or(Error::Missing)?)
}

fn read(path: PathBuf) -> Result<Cow<'static, [u8]>, Error> {
    fs::read(&path).map(Cow::Owned).map_err(|source| Error::Read { path, source })
}

/// Beside the program, and in every `target/retort` above it (tests and examples lie deeper) or above the caller.
fn usual_places() -> Vec<PathBuf> {
    let program = env::current_exe().unwrap_or_default();
    let beside = program.parent().map(|folder| folder.join(NAME));
    let above_program = program
        .ancestors()
        .filter(|folder| folder.ends_with("target"))
        .map(|folder| folder.join("retort").join(NAME));
    let below_caller = env::current_dir().ok().map(|folder| folder.join("target/retort").join(NAME));
    beside.into_iter().chain(above_program).chain(below_caller).collect()
}
