//! Nested causes: see `retort_tests::properties::causes`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| retort_tests::properties::causes(text));
