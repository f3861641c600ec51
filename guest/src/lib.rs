//! Retort turns raw database driver errors into safe public error envelopes.
//!
//! The modules are the stations of one error's way:
//!
//! ```text
//! report ─▶ intake ─▶ recognise ─▶ judge ─▶ decide ─▶ publish ─▶ verdict
//! ```
#![no_std]
#![deny(missing_docs)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod codes;
pub mod intake;
pub mod json;
pub mod recognise;
pub mod report;
pub mod systems;
pub mod tables;
pub mod words;
