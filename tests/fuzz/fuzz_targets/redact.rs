//! Texts to redact and inspect: see `retort_tests::properties::redact`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| retort_tests::properties::redact(text));
