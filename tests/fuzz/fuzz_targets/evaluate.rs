//! Reports: see `retort_tests::properties::evaluate`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| retort_tests::properties::evaluate(text));
