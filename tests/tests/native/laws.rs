//! The laws over arbitrary reports.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use retort::report::Report;
use retort::strings;
use retort_tests::arbitrary::{self, CANARY};
use retort_tests::{laws, leak};
use serde_json::Value;

#[test]
fn the_laws_hold_for_arbitrary_reports() {
    let result = arbitrary::runner(20_000).run(&arbitrary::report(), |report| {
        let text = report.to_string();
        let answer = strings::evaluate(&text);
        let verdict: Value =
            serde_json::from_str(&answer).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let broken = laws::broken(&Report::read(&text), &verdict);
        prop_assert!(broken.is_empty(), "{broken:#?}\n{text}");
        let public = leak::public_text(&verdict).to_lowercase();
        prop_assert!(!public.contains(CANARY), "law 2: {public}\n{text}");
        prop_assert_eq!(answer, strings::evaluate(&text), "law 6");
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn arbitrary_text_gets_a_verdict_from_every_function() {
    let result = arbitrary::runner(5_000).run(&any::<String>(), |text| {
        for function in retort_tests::golden::FUNCTIONS {
            prop_assert!(
                !retort_tests::golden::call_native(function, &text).is_empty(),
                "{function}: {text:?}"
            );
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}
