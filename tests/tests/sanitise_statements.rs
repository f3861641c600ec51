//! Fingerprints: no literal stays in them, and statements that differ in literals alone have the same.

use std::fs;
use std::path::Path;

use retort::sanitise::{Dialect, Fingerprint, commits, fingerprint, writes};

/// The rows of a table of the corpus: its columns, `\n` read as a line feed.
fn rows(name: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/sanitise").join(name);
    let table = fs::read_to_string(path).expect("a table of the corpus");
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t').map(|cell| cell.replace("\\n", "\n")).collect()).collect()
}

/// Does anything of the statement's literals show?
fn leaks(statement: &str, dialect: Dialect) -> bool {
    let found = fingerprint(statement, dialect);
    // A truncated statement can end inside the word, so any longer part of it counts.
    [&found.shape, &found.summary, &found.operation].iter().any(|text| text.to_lowercase().contains("cana"))
}

#[test]
fn no_literal_stays_in_any_dialect() {
    let rows = rows("statements.tsv");
    let left: Vec<&String> =
        rows.iter().filter(|row| leaks(&row[1], Dialect::parse(&row[0]))).map(|row| &row[1]).collect();
    assert_eq!(left, Vec::<&String>::new());
    assert!(rows.len() >= 120);
}

#[test]
fn no_literal_stays_when_the_dialect_is_not_told() {
    // Quoted names are literals then; backslashes, dollar quotes and comments are read in the way that hides more.
    let rows = rows("statements.tsv");
    let left: Vec<&String> =
        rows.iter().map(|row| &row[1]).filter(|statement| leaks(statement, Dialect::Generic)).collect();
    assert_eq!(left, Vec::<&String>::new());
}

#[test]
fn no_literal_stays_wherever_a_statement_is_cut_off() {
    for row in rows("statements.tsv") {
        let ends = (0..row[1].len()).filter(|end| row[1].is_char_boundary(*end));
        for dialect in [Dialect::parse(&row[0]), Dialect::Generic] {
            let left = ends.clone().find(|end| leaks(&row[1][..*end], dialect));
            assert_eq!(left, None, "{dialect:?} {}", row[1]);
        }
    }
}

#[test]
fn statements_of_one_shape_have_one_fingerprint_and_no_other_shape_has_it() {
    let rows = rows("shapes.tsv");
    let mut pairs = 0;
    for (index, row) in rows.iter().enumerate() {
        let dialect = Dialect::parse(&row[0]);
        let shapes: Vec<Fingerprint> =
            row[1..].iter().map(|statement| fingerprint(statement, dialect)).collect();
        for other in &shapes[1..] {
            assert_eq!(*other, shapes[0]);
            pairs += 1;
        }
        for other in rows[..index].iter().filter(|other| other[0] == row[0]) {
            let other = fingerprint(&other[1], dialect);
            assert_ne!(other.fingerprint, shapes[0].fingerprint, "{} | {}", other.shape, shapes[0].shape);
            pairs += 1;
        }
    }
    assert!(pairs >= 200, "{pairs}");
}

#[test]
fn shapes_summaries_and_hashes_are_these() {
    let expected = rows("fingerprints.tsv");
    let found: Vec<Vec<String>> = expected
        .iter()
        .map(|row| {
            let found = fingerprint(&row[1], Dialect::parse(&row[0]));
            let (dialect, statement) = (row[0].clone(), row[1].clone());
            vec![dialect, statement, found.fingerprint, found.operation, found.summary, found.shape]
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn writing_and_committing_statements_are_told() {
    for row in rows("verbs.tsv") {
        let dialect = Dialect::parse(&row[0]);
        let statement = row.get(3).map_or("", String::as_str);
        let word = |holds| if holds { "yes" } else { "no" };
        let found = [word(writes(statement, dialect)), word(commits(statement, dialect))];
        assert_eq!(found, [row[1].as_str(), row[2].as_str()], "{statement}");
    }
}
