//! The component: the two exported interfaces of the contract over the `retort` crate.
//!
//! `#![no_std]` proves that the logic reads no clock, file or socket, and keeps the import list empty. All `unsafe` of
//! the product is in its module `glue`. On a native target this crate is empty.
#![cfg(target_family = "wasm")]
#![no_std]

extern crate alloc;

mod convert;
mod glue;

use alloc::string::String;
use alloc::vec::Vec;

use crate::exports::retort::contract::{contract, json};

wit_bindgen::generate!({ path: "../../wit", world: "retort" });

/// The component itself.
struct Component;

export!(Component);

impl contract::Guest for Component {
    fn evaluate(report: contract::Report) -> contract::Verdict {
        convert::evaluate(&report)
    }

    fn evaluate_many(reports: Vec<contract::Report>) -> Vec<contract::Verdict> {
        reports.iter().map(convert::evaluate).collect()
    }

    fn reconcile(reconciliation: contract::Reconciliation) -> contract::Verdict {
        convert::reconcile(&reconciliation)
    }

    fn summarise(attempts: Vec<contract::AttemptRecord>) -> contract::OperationRecord {
        convert::summarise(&attempts)
    }

    fn budget(tokens: u32, event: String, capacity: u32) -> u32 {
        retort::decide::budget(tokens, &event, capacity)
    }

    fn redact(text: String, level: String) -> contract::Redaction {
        convert::redact(&text, &level)
    }

    fn inspect(text: String) -> Vec<contract::Finding> {
        convert::inspect(&text)
    }

    fn fingerprint(statement: String, dialect: String) -> contract::StatementFingerprint {
        convert::fingerprint(&statement, &dialect)
    }

    fn render(envelope: contract::Envelope, format: String) -> String {
        convert::render(&envelope, &format)
    }

    fn codes() -> Vec<contract::CodeRow> {
        convert::codes()
    }

    fn version() -> String {
        String::from(retort::strings::version())
    }
}

impl json::Guest for Component {
    fn evaluate(report: String) -> String {
        retort::strings::evaluate(&report)
    }

    fn evaluate_many(reports: String) -> String {
        retort::strings::evaluate_many(&reports)
    }

    fn reconcile(reconciliation: String) -> String {
        retort::strings::reconcile(&reconciliation)
    }

    fn summarise(attempts: String) -> String {
        retort::strings::summarise(&attempts)
    }

    fn budget(change: String) -> String {
        retort::strings::budget(&change)
    }

    fn redact(text: String) -> String {
        retort::strings::redact(&text)
    }

    fn inspect(text: String) -> String {
        retort::strings::inspect(&text)
    }

    fn fingerprint(statement: String) -> String {
        retort::strings::fingerprint(&statement)
    }

    fn render(envelope: String) -> String {
        retort::strings::render(&envelope)
    }

    fn codes() -> String {
        retort::strings::codes()
    }

    fn version() -> String {
        String::from(retort::strings::version())
    }
}
