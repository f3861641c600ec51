//! The published JSON Schemas are those of the types.

use std::fs;
use std::path::Path;

fn published(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/schema").join(name)).unwrap()
}

#[test]
fn published_schemas_are_those_of_the_types() {
    assert_eq!(published("report.schema.json"), retort::schema::report());
    assert_eq!(published("verdict.schema.json"), retort::schema::verdict());
}
