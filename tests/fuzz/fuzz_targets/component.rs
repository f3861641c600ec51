//! The component gives the bytes of the native library, for every function and any input.
#![no_main]

use std::sync::LazyLock;

use retort_host::{Component, Contract, Options};
use retort_tests::golden::call_native;

static COMPONENT: LazyLock<Component> = LazyLock::new(|| {
    Component::load(None, Options::default()).expect("RETORT_COMPONENT names the component")
});

libfuzzer_sys::fuzz_target!(|text: &str| {
    let component = &*COMPONENT;
    for (function, answer) in [
        ("evaluate", component.evaluate(text)),
        ("reconcile", component.reconcile(text)),
        ("redact", component.redact(text)),
        ("inspect", component.inspect(text)),
        ("fingerprint", component.fingerprint(text)),
        ("render", component.render(text)),
    ] {
        assert_eq!(answer, call_native(function, text), "{function}");
    }
    assert_eq!(component.faults(), 0, "the component failed");
});
