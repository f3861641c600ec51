//! Native and component give the same bytes: both interfaces, fresh and reused instances.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use retort::strings;
use retort_host::{Component, Contract, Instances, Options};
use retort_tests::golden::{FUNCTIONS, call_native};
use retort_tests::{arbitrary, corpus, properties};
use serde_json::{Value, json};

use crate::typed;

/// Both ways to run the component.
struct Components {
    fresh: Component,
    reused: Component,
}

impl Components {
    fn load() -> Components {
        let load = |instances| {
            Component::load(None, Options { instances, ..Options::default() })
                .expect("`make component` has built the component")
        };
        Components { fresh: load(Instances::Fresh), reused: load(Instances::Reused) }
    }

    /// Does every way give what the native library gives?
    fn check(&self, function: &str, input: &str) -> Result<(), String> {
        let native = call_native(function, input);
        for (name, component) in [("fresh", &self.fresh), ("reused", &self.reused)] {
            let came = call(component, function, input);
            if came != native {
                return Err(format!(
                    "{function}, {name}\ninput     {input}\nnative    {native}\ncomponent {came}"
                ));
            }
        }
        Ok(())
    }

    /// Does the typed interface say what the string interface says?
    fn check_typed(&self, report: &Value) -> Result<(), String> {
        let report = typed::well_typed(report);
        let native = strings::evaluate(&report.to_string());
        let record = typed::report(&report);
        for (name, component) in [("fresh", &self.fresh), ("reused", &self.reused)] {
            let came = typed::verdict(&component.typed().evaluate(&record)).to_string();
            if came != native {
                return Err(format!(
                    "typed, {name}\ninput     {report}\nnative    {native}\ncomponent {came}"
                ));
            }
        }
        Ok(())
    }

    /// The host never had to answer in the component's place.
    fn assert_no_faults(&self) {
        assert_eq!((self.fresh.faults(), self.reused.faults()), (0, 0), "calls that the component failed");
    }
}

fn call(component: &Component, function: &str, input: &str) -> String {
    match function {
        "evaluate" => component.evaluate(input),
        "evaluate-many" => component.evaluate_many(input),
        "reconcile" => component.reconcile(input),
        "summarise" => component.summarise(input),
        "budget" => component.budget(input),
        "redact" => component.redact(input),
        "inspect" => component.inspect(input),
        "fingerprint" => component.fingerprint(input),
        "render" => component.render(input),
        "codes" => component.codes(),
        _ => component.version(),
    }
}

#[test]
fn corpus_verdicts_are_the_native_ones() {
    let components = Components::load();
    for case in corpus::reports() {
        components.check("evaluate", &case.report.to_string()).unwrap();
        components.check_typed(&case.report).unwrap();
    }
    components.assert_no_faults();
}

#[test]
fn golden_verdicts_and_outputs_are_the_components() {
    let components = Components::load();
    let lines = |name| {
        let line = |line: &str| serde_json::from_str::<Value>(line).expect("a golden line is JSON");
        corpus::read(name).lines().map(line).collect::<Vec<Value>>()
    };
    for line in lines("golden.jsonl") {
        let verdict = components.fresh.evaluate(&line["report"].to_string());
        assert_eq!(verdict, line["verdict"].to_string(), "{}", line["name"]);
    }
    for line in lines("golden-calls.jsonl") {
        let (function, input) = (line["function"].as_str().unwrap(), line["input"].as_str().unwrap());
        assert_eq!(call(&components.fresh, function, input), line["output"], "{}", line["name"]);
    }
    components.assert_no_faults();
}

#[test]
fn all_reports_of_the_corpus_at_once_are_the_single_ones() {
    let components = Components::load();
    let reports: Vec<Value> = corpus::reports().into_iter().map(|case| case.report).collect();
    let single: Vec<String> = reports.iter().map(|report| strings::evaluate(&report.to_string())).collect();
    let many = Value::from(reports.clone()).to_string();
    components.check("evaluate-many", &many).unwrap();
    assert_eq!(strings::evaluate_many(&many), format!("[{}]", single.join(",")));
    let records: Vec<_> = reports.iter().map(|report| typed::report(&typed::well_typed(report))).collect();
    let many = components.fresh.typed().evaluate_many(&records);
    let many: Vec<String> = many.iter().map(|verdict| typed::verdict(verdict).to_string()).collect();
    assert_eq!(many, single);
    components.assert_no_faults();
}

/// What is kept of fuzzing, or all of a run: `make fuzz` names its folder.
#[test]
fn fuzzed_inputs_are_answered_alike() {
    let components = Components::load();
    let folder = std::env::var_os("RETORT_FUZZED").map(PathBuf::from);
    let mut compared = 0;
    for (target, _) in properties::ALL {
        let inputs = match &folder {
            Some(folder) => fs::read_dir(folder.join(target))
                .expect("a folder for the target")
                .filter_map(|entry| fs::read_to_string(entry.expect("an entry").path()).ok())
                .collect(),
            None => corpus::fuzz_seeds(target),
        };
        for input in &inputs {
            let (function, input) = properties::call(target, input);
            components.check(function, &input).unwrap();
        }
        compared += inputs.len();
    }
    println!("{compared} fuzzed inputs are answered alike");
    components.assert_no_faults();
}

#[test]
fn arbitrary_reports_are_judged_alike() {
    let components = Components::load();
    let result = arbitrary::runner(4_000).run(&arbitrary::report(), |report| {
        components.check("evaluate", &report.to_string()).map_err(TestCaseError::fail)?;
        components.check_typed(&report).map_err(TestCaseError::fail)
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    components.assert_no_faults();
}

#[test]
fn arbitrary_texts_are_answered_alike_by_every_function() {
    let components = Components::load();
    let text = prop_oneof![
        any::<String>(),
        any::<String>().prop_map(|text| json!({ "text": text }).to_string()),
        arbitrary::report().prop_map(|report| report.to_string()),
        (arbitrary::report(), any::<prop::sample::Index>()).prop_map(|(report, index)| {
            let text = report.to_string();
            text.chars().take(index.index(text.len() + 1)).collect::<String>()
        }),
    ];
    let result = arbitrary::runner(1_000).run(&text, |text| {
        FUNCTIONS
            .iter()
            .try_for_each(|function| components.check(function, &text))
            .map_err(TestCaseError::fail)
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    components.assert_no_faults();
}

#[test]
fn arbitrary_verdicts_are_reconciled_folded_and_rendered_alike() {
    let components = Components::load();
    let receipts: &'static [&'static str] =
        &["none", "committed", "absent", "pending", "expired", "unavailable", "lost"];
    let input = (
        proptest::collection::vec(arbitrary::report(), 1..4),
        prop::sample::select(receipts).prop_map(String::from),
        any::<(bool, bool)>(),
    );
    let result = arbitrary::runner(1_000).run(&input, |(reports, receipt, (fenced, payload_differs))| {
        let verdicts: Vec<Value> = reports
            .iter()
            .map(|report| serde_json::from_str(&strings::evaluate(&report.to_string())).expect("a verdict"))
            .collect();
        let check = |function, input: Value| components.check(function, &input.to_string());
        let attempts: Vec<&Value> = verdicts.iter().map(|verdict| &verdict["attempt"]).collect();
        let reconciliation = json!({
            "verdict": verdicts[0], "receipt": receipt, "fenced": fenced, "payload_differs": payload_differs,
            "operation": reports[0]["operation"], "system": reports[0]["system"],
        });
        check("reconcile", reconciliation)
            .and_then(|()| check("summarise", json!(attempts)))
            .and_then(|()| check("render", json!({"verdict": verdicts[0], "as": "problem"})))
            .and_then(|()| check("render", json!({"envelope": verdicts[0]["envelope"], "as": "status"})))
            .map_err(TestCaseError::fail)
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    components.assert_no_faults();
}

#[test]
fn typed_functions_say_what_the_string_functions_say() {
    let components = Components::load();
    let interface = components.fresh.typed();
    let read = |text: String| serde_json::from_str::<Value>(&text).expect("JSON");
    for line in corpus::calls() {
        let input: Value = serde_json::from_str(&line.input).unwrap_or(Value::Null);
        let Some(text) = input["text"].as_str() else { continue };
        match line.function.as_str() {
            "redact" => {
                let came = interface.redact(text, input["level"].as_str().unwrap_or_default());
                let findings: Vec<Value> = came.findings.iter().map(typed::finding).collect();
                assert_eq!(
                    json!({"text": came.text, "findings": findings}),
                    read(strings::redact(&line.input))
                );
            }
            "inspect" => {
                let findings: Vec<Value> = interface.inspect(text).iter().map(typed::finding).collect();
                assert_eq!(json!({ "findings": findings }), read(strings::inspect(&line.input)));
            }
            "fingerprint" => {
                let came = interface.fingerprint(text, input["dialect"].as_str().unwrap_or_default());
                let came = json!({
                    "fingerprint": came.fingerprint, "shape": came.shape, "operation": came.operation,
                    "summary": came.summary,
                });
                assert_eq!(came, read(strings::fingerprint(&line.input)), "{}", line.name);
            }
            _ => {}
        }
    }
    for (tokens, event, capacity) in
        [(12, "retry", 500), (3, "retry_after_timeout", 500), (500, "success", 500), (9, "nap", 5)]
    {
        let change = json!({"tokens": tokens, "event": event, "capacity": capacity}).to_string();
        let came = interface.budget(tokens, event, capacity);
        assert_eq!(json!({ "tokens": came }), read(strings::budget(&change)));
    }
    let codes: Vec<Value> = interface.codes().iter().map(typed::code_row).collect();
    assert_eq!(json!(codes), read(strings::codes()));
    for case in corpus::reports().iter().step_by(7) {
        let report = typed::well_typed(&case.report);
        let verdict = interface.evaluate(&typed::report(&report));
        for format in ["mcp", "problem", "status", "text"] {
            let call = json!({"verdict": typed::verdict(&verdict), "as": format}).to_string();
            assert_eq!(interface.render(&verdict.envelope, format), strings::render(&call), "{}", case.name);
        }
        for (receipt, fenced) in [("committed", false), ("absent", true), ("pending", false)] {
            let call = json!({
                "verdict": typed::verdict(&verdict), "operation": report["operation"], "attempt": report["attempt"],
                "context": report["context"], "system": report["system"], "receipt": receipt, "fenced": fenced,
                "seed": 7,
            });
            let record = typed::reconciliation(&verdict, &report, receipt, fenced);
            let came = typed::verdict(&interface.reconcile(&record)).to_string();
            assert_eq!(came, strings::reconcile(&call.to_string()), "{} {receipt}", case.name);
        }
        let attempts = [verdict.attempt.clone(), verdict.attempt.clone()];
        let record = json!([typed::attempt_record(&attempts[0]), typed::attempt_record(&attempts[1])]);
        let came = typed::operation_record(&interface.summarise(&attempts));
        assert_eq!(came, read(strings::summarise(&record.to_string())), "{}", case.name);
    }
    components.assert_no_faults();
}
