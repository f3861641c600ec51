//! Limits the component's memory, so that every host has the limit, also those that cannot set one.

/// 16 MiB, which the page of limits promises.
const LARGEST_MEMORY: u32 = 16 << 20;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        println!("cargo::rustc-link-arg-cdylib=--max-memory={LARGEST_MEMORY}");
    }
}
