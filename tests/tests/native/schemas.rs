//! The published JSON Schemas against what the corpus holds.

use jsonschema::Validator;
use retort::strings;
use retort_tests::corpus;
use serde_json::{Value, json};

fn validator(schema: &str) -> Validator {
    let schema = serde_json::from_str(schema).expect("a schema is JSON");
    jsonschema::validator_for(&schema).expect("a schema is a schema")
}

#[test]
fn every_report_of_the_corpus_satisfies_the_schema_of_reports() {
    let validator = validator(&retort::schema::report());
    for case in corpus::reports() {
        let errors: Vec<String> =
            validator.iter_errors(&case.report).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", case.name);
    }
}

#[test]
fn every_verdict_of_the_corpus_satisfies_the_schema_of_verdicts() {
    let validator = validator(&retort::schema::verdict());
    for case in corpus::reports() {
        let verdict: Value =
            serde_json::from_str(&strings::evaluate(&case.report.to_string())).expect("a verdict is JSON");
        let errors: Vec<String> = validator.iter_errors(&verdict).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", case.name);
    }
}

#[test]
fn schemas_refuse_what_is_not_of_the_contract() {
    let reports = validator(&retort::schema::report());
    for wrong in [
        json!({"error": {}, "operation": {"steps_done": "three"}}),
        json!({"error": {}, "operation": {"fenced": "yes"}}),
        json!({"error": {}, "context": []}),
        json!([]),
    ] {
        assert!(!reports.is_valid(&wrong), "{wrong}");
    }
    let verdicts = validator(&retort::schema::verdict());
    let mut verdict: Value = serde_json::from_str(&strings::evaluate("{}")).expect("a verdict is JSON");
    assert!(verdicts.is_valid(&verdict));
    verdict["envelope"]["category"] = json!("weather");
    assert!(!verdicts.is_valid(&verdict), "a category outside the closed set");
}
