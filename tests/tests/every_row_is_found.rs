//! Every row of every table, looked up through the public functions, says what its text form says.

use std::collections::BTreeSet;

use retort::codes::Proof;
use retort::recognise::Marks;
use retort::systems::System;
use retort::tables::{self, Layer};
use retort::words::Category;
use retort_tests::tables::{Key, Row, SPECS, Spec, folder, read_all};

/// Who is asked for a table's rows, and the tables that answer first.
enum Way {
    System(System, &'static [&'static str]),
    Layer(Layer),
}

/// The way to a table.
fn way(id: &str) -> Way {
    use System::*;
    match id {
        "http" => Way::Layer(Layer::Http),
        "grpc" => Way::Layer(Layer::Grpc),
        "transport" => Way::Layer(Layer::Transport),
        "pool" => Way::Layer(Layer::Pool),
        "orm" => Way::Layer(Layer::Orm),
        "pgbouncer" => Way::System(Postgresql, &["postgres"]),
        "postgrest" => Way::System(Postgresql, &["postgres", "pgbouncer"]),
        "aurora_rds" => Way::System(Mysql, &["mysql"]),
        "sqlstate" => Way::System(OtherSql, &[]),
        "postgres" => Way::System(Postgresql, &[]),
        "sqlserver" => Way::System(SqlServer, &[]),
        other => Way::System(System::parse(other).expect("a table is named after its system"), &[]),
    }
}

/// The row as the guest has to give it.
fn expected(spec: &Spec, row: &Row, native: Option<&str>) -> (String, String, Marks, Option<String>) {
    let Row { code: key, reading, .. } = row;
    let careful = reading.marks.recalled && reading.condition.category() == Category::Transient;
    let (code, proof) = match (careful, reading.marks.recalled, reading.proof) {
        (true, _, _) => ("DATABASE_ERROR", Proof::Lost),
        (_, true, Proof::Lost | Proof::Partial | Proof::SaysUnknown) => {
            (reading.condition.as_str(), reading.proof)
        }
        (_, true, _) => (reading.condition.as_str(), Proof::Nothing),
        _ => (reading.condition.as_str(), reading.proof),
    };
    (
        format!("{}/{key}", spec.id),
        format!("{code} {}", proof.as_str()),
        reading.marks,
        native.map(str::to_owned),
    )
}

/// A found row in the same form.
fn seen(row: tables::Row) -> (String, String, Marks, Option<String>) {
    let says = format!("{} {}", row.code.as_str(), row.proof.as_str());
    (row.rule, says, row.marks, row.native.map(|native| native.as_str().to_owned()))
}

#[test]
fn numbers_and_names_are_found_as_they_are_written() {
    let all = read_all(&folder()).expect("every table reads");
    let mut looked_up = 0;
    for spec in SPECS {
        let way = way(spec.id);
        let earlier: BTreeSet<&str> = match way {
            Way::System(_, tables) => {
                tables.iter().flat_map(|id| &all[id]).map(|row| row.code.as_str()).collect()
            }
            Way::Layer(_) => BTreeSet::new(),
        };
        for row in all[spec.id].iter().filter(|row| !earlier.contains(row.code.as_str())) {
            let found = match (&way, Key::parse(spec.keys, &row.code)) {
                (_, Key::Text { .. }) => continue,
                (Way::System(system, _), Key::Number(number)) => tables::by_number(*system, number.into()),
                (Way::System(system, _), Key::Name(name)) => tables::by_name(*system, &name),
                (Way::Layer(layer), Key::Number(number)) => tables::layer(*layer, i64::from(number)),
                (Way::Layer(layer), Key::Name(name)) => tables::layer(*layer, name.as_str()),
            };
            // A native code is published without the SQLSTATE that told it apart.
            let native = row.code.split('+').next();
            assert_eq!(found.map(seen), Some(expected(spec, row, native)), "{}/{}", spec.id, row.code);
            looked_up += 1;
        }
    }
    assert!(looked_up > 6_000, "only {looked_up} rows were looked up");
}

#[test]
fn templates_match_what_they_are_templates_of() {
    let all = read_all(&folder()).expect("every table reads");
    let literal = |template: &str| template.replace('%', "").len();
    for spec in SPECS {
        for row in &all[spec.id] {
            let Key::Text { code, template } = Key::parse(spec.keys, &row.code) else { continue };
            let code = Some(code.as_str()).filter(|code| !code.is_empty());
            let text = template.replace('%', "7");
            let found = match way(spec.id) {
                Way::System(system, _) => tables::by_text(system, code, &text),
                Way::Layer(layer) => tables::by_text(layer, code, &text),
            };
            let (found, _) = found.unwrap_or_else(|| panic!("{}/{} is not found", spec.id, row.code));
            let rule = found.rule.clone();
            if rule == format!("{}/{}", spec.id, row.code) {
                assert_eq!(seen(found), expected(spec, row, code));
                continue;
            }
            let (_, other) = rule.split_once("msg:").expect("a text's rule");
            let is_earlier = !rule.starts_with(&format!("{}/", spec.id));
            assert!(
                is_earlier || literal(other) >= literal(&template),
                "{}/{} loses to {rule}",
                spec.id,
                row.code
            );
        }
    }
}
