//! JSON Schemas of report and verdict, derived from the types themselves. For tools: the component does not have them.

use alloc::string::String;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::Verdict;
use crate::report::Report;

/// The schema of a report. It lists the words with a meaning of their own; others are read cautiously.
pub fn report() -> String {
    schema_of::<Report<'static>>(SchemaSettings::draft2020_12())
}

/// The schema of a verdict.
pub fn verdict() -> String {
    schema_of::<Verdict>(SchemaSettings::draft2020_12().for_serialize())
}

fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> String {
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// Any JSON value.
pub(crate) fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!(true)
}

/// An operation key.
pub(crate) fn key(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "pattern": "^[!-~]{1,256}$" })
}

/// An identifier, version, name or reference.
pub(crate) fn identifier(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "pattern": "^[A-Za-z0-9._:/@+#-]{1,128}$" })
}

/// An argument's or a rule's name.
pub(crate) fn argument(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "pattern": "^[A-Za-z0-9_.\\[\\]$-]{1,64}$" })
}
