//! What can go wrong before the first verdict. After that nothing can: the host fails closed instead.

use std::io;
use std::path::PathBuf;

/// Why the component could not be made ready. No variant holds text of a report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The component's file cannot be read.
    #[error("cannot read the component {}: {source}; name another with --component", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// There is no component in any of the usual places.
    #[error(
        "no component found beside the program or in target/retort; build it with `make component`, name it with --component, or use --native"
    )]
    Missing,
    /// The file is no component of this world.
    #[error(
        "this file does not hold the component of retort:contract@0.1.0: {reason}; build it with `make component` (a *.core.wasm file is not a component)"
    )]
    NotTheComponent {
        /// What wasmtime says about the file.
        reason: String,
    },
    /// The file is no component that serves HTTP.
    #[error(
        "this file does not hold a component that exports wasi:http/incoming-handler: {reason}; `make sidecar` builds one"
    )]
    NotTheService {
        /// What wasmtime says about the file.
        reason: String,
    },
    /// wasmtime cannot run on this machine with these options.
    #[error("wasmtime cannot start here: {reason}; --native works without it")]
    Engine {
        /// What wasmtime says.
        reason: String,
    },
}
