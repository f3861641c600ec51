//! The recognition tables for people: what a rule's native code is called, and where the row comes from.
//!
//! The component carries the packed form without names and sources; these are the files that it is packed from.

use include_dir::{Dir, include_dir};

static TABLES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../guest/tables");

/// What a table says about one of its rules.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rule {
    /// The native code's name; empty where it has none.
    pub name: &'static str,
    /// Where the row comes from, and what its author remarks.
    pub source: &'static str,
}

impl Rule {
    /// The rule by its id, `table/key`, as in a diagnostic's `rule`. `None` for conditions that a host named itself, and
    /// where nothing matched.
    pub fn find(id: &str) -> Option<Rule> {
        let (table, key) = id.split_once('/')?;
        let mut lines = TABLES
            .get_file(format!("{table}.tsv"))?
            .contents_utf8()?
            .lines()
            .filter(|line| !line.starts_with('#'));
        let header: Vec<&str> = lines.next()?.split('\t').collect();
        let row: Vec<&str> =
            lines.map(|line| line.split('\t').collect()).find(|row: &Vec<&str>| row.first() == Some(&key))?;
        let field =
            |name: &str| header.iter().position(|title| *title == name).and_then(|at| row.get(at).copied());
        Some(Rule { name: field("name").unwrap_or_default(), source: field("source").unwrap_or_default() })
    }
}
