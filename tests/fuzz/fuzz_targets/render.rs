//! Envelopes: see `retort_tests::properties::render`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| retort_tests::properties::render(text));
