//! The Rust host of the Retort component.
//!
//! [`Contract`] reads like the component's WIT. Two implementations stand behind it, so callers can swap them:
//! [`Component`] runs the WebAssembly component in wasmtime, [`Native`] calls the same logic as a library.
//!
//! ```no_run
//! use retort_host::{Component, Contract, Options};
//!
//! let contract = Component::load(None, Options::default())?;
//! let verdict = contract.evaluate(r#"{"error": {"code": "23505"}, "system": "postgresql"}"#);
//! println!("{verdict}");
//! # Ok::<(), retort_host::Error>(())
//! ```

extern crate alloc;

pub mod adapters;
pub mod attempts;
pub mod budget;
pub mod cli;
mod component;
mod conformance;
mod contract;
mod demo;
pub mod diagnostics;
mod drill;
mod error;
mod failure;
mod fault;
pub mod ids;
mod locate;
mod native;
pub mod receipts;
pub mod rules;
mod serve;
mod sidecar;
mod signals;
pub mod telemetry;

pub use component::{Component, Instances, Options};
pub use contract::{Contract, Typed, typed};
pub use error::Error;
pub use failure::{Envelope, Failure};
pub use native::Native;
