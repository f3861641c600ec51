//! What holds of the component, built by `make component`: the same bytes as the native library, and what it is made of.

mod artefacts;
mod cost;
mod parity;
mod soak;
mod typed;
