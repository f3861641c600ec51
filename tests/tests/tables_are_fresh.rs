//! The tables: complete, sorted, with a source each, and packed as they are.

use std::collections::{BTreeMap, BTreeSet};

use retort_tests::tables::{Key, Row, SPECS, folder, order, pack, read_all, write};

fn tables() -> BTreeMap<&'static str, Vec<Row>> {
    read_all(&folder()).expect("every table reads")
}

#[test]
fn the_packed_tables_are_what_the_text_form_packs_to() {
    let (packed, _) = pack::pack(&folder()).expect("the tables pack");
    let checked_in = std::fs::read_to_string(folder().join(pack::PACKED)).expect("packed.rs is there");
    assert!(packed == checked_in, "run `cargo run -p retort-tests --bin tables -- pack`");
}

#[test]
fn the_packed_tables_fit_their_budget() {
    let (_, sizes) = pack::pack(&folder()).expect("the tables pack");
    let bytes: usize = sizes.iter().map(|size| size.bytes).sum();
    assert!(bytes <= 120_000, "{bytes} bytes of tables in the component");
}

#[test]
fn every_row_has_a_source_and_its_own_key() {
    for (id, rows) in tables() {
        let mut keys = BTreeSet::new();
        for row in rows {
            assert!(!row.source.trim().is_empty(), "{id}/{} has no source", row.code);
            assert!(keys.insert(row.code.clone()), "{id}/{} is there twice", row.code);
        }
    }
}

#[test]
fn rows_are_sorted_and_written_as_they_are_read() {
    let copy = std::env::temp_dir().join(format!("retort-tables-{}", std::process::id()));
    std::fs::create_dir_all(&copy).expect("a temporary folder");
    for spec in SPECS {
        let rows = &tables()[spec.id];
        assert!(
            rows.is_sorted_by(|left, right| order(spec.keys, left, right).is_lt()),
            "{} is not sorted",
            spec.id
        );
        write(&copy, spec, rows).expect("the table writes");
        let name = format!("{}.tsv", spec.id);
        let (old, new) =
            (std::fs::read_to_string(folder().join(&name)), std::fs::read_to_string(copy.join(&name)));
        assert_eq!(old.expect("the table"), new.expect("its copy"), "{name}");
    }
    std::fs::remove_dir_all(&copy).expect("the temporary folder goes");
}

#[test]
fn no_table_blames_the_contract_for_a_missing_object_or_a_syntax_error() {
    for (id, rows) in tables() {
        let blaming: Vec<_> = rows
            .iter()
            .filter(|row| row.reading.condition.as_str() == "CONTRACT_BROKEN")
            .map(|row| &row.code)
            .collect();
        assert!(blaming.is_empty(), "{id}: who wrote the statement decides that, not {blaming:?}");
    }
}

#[test]
fn a_template_without_a_code_has_a_fixed_beginning_and_enough_fixed_words() {
    for spec in SPECS {
        for row in &tables()[spec.id] {
            if let Key::Text { code, template } = Key::parse(spec.keys, &row.code) {
                let fixed = template.replace('%', "").trim().len();
                let is_anchored =
                    !template.starts_with('%') && (fixed >= 8 || !template.contains('%') && fixed >= 3);
                assert!(
                    is_anchored || (!code.is_empty() && fixed >= 2),
                    "{}/{} matches too much",
                    spec.id,
                    row.code
                );
            }
        }
    }
}
