//! Statements: see `retort_tests::properties::fingerprint`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| retort_tests::properties::fingerprint(text));
