//! The maintainers' side of the tables: their text form, the importer and the packer.
//!
//! ```text
//! facts/*.tsv + guest/tables/rules/*.tsv ──import──▶ guest/tables/*.tsv ──pack──▶ guest/src/tables/packed.rs
//! ```
//!
//! A table's columns are `code condition proof marks name source`, separated by tabs; `#` begins a comment line.
//! `code` is a number, a name (SQLSTATE, symbol, class, label), `23***` for a SQLSTATE's class, `N+STATE` for a
//! number under one SQLSTATE, `msg:TEMPLATE` or `CODE+msg:TEMPLATE` for a fixed text with `%` holes.

pub mod import;
pub mod pack;
pub mod rules;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use retort::codes::{Code, Proof};
use retort::recognise::Marks;

/// Are a table's plain codes numbers or names?
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Keys {
    /// Numbers where they look like one.
    Numbers,
    /// Names, also those made of digits (SQLSTATEs).
    Names,
    /// Numbers behind this prefix, with so many digits (`ORA-00001`); other codes are names.
    Prefixed(&'static str, usize),
}

/// Which names of codes can be looked up as well.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Symbols {
    /// None.
    None,
    /// The first word of every row's name.
    All,
    /// The first word of the names that say more than "an error".
    Telling,
    /// The first word of the names that say what a host acts on: constraints, credentials, what passes by itself.
    Pressing,
}

/// What there is to know of a table besides its rows.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The file's stem, and the first half of a rule's id.
    pub id: &'static str,
    /// What its plain codes are.
    pub keys: Keys,
    /// Which second names it has.
    pub symbols: Symbols,
}

/// Shortens the list below.
const fn spec(id: &'static str, keys: Keys, symbols: Symbols) -> Spec {
    Spec { id, keys, symbols }
}

/// Every table.
pub const SPECS: &[Spec] = &[
    spec("aurora_rds", Keys::Numbers, Symbols::None),
    spec("bigquery", Keys::Names, Symbols::None),
    spec("cassandra", Keys::Numbers, Symbols::All),
    spec("clickhouse", Keys::Numbers, Symbols::Pressing),
    spec("cockroachdb", Keys::Names, Symbols::None),
    spec("duckdb", Keys::Numbers, Symbols::All),
    spec("dynamodb", Keys::Names, Symbols::None),
    spec("elasticsearch", Keys::Names, Symbols::None),
    spec("etcd", Keys::Names, Symbols::None),
    spec("grpc", Keys::Numbers, Symbols::All),
    spec("http", Keys::Numbers, Symbols::None),
    spec("mariadb", Keys::Numbers, Symbols::None),
    spec("mongodb", Keys::Numbers, Symbols::Telling),
    spec("mongreldb", Keys::Names, Symbols::None),
    spec("mysql", Keys::Numbers, Symbols::Pressing),
    spec("oracle", Keys::Prefixed("ORA-", 5), Symbols::None),
    spec("orm", Keys::Names, Symbols::None),
    spec("pgbouncer", Keys::Names, Symbols::None),
    spec("pool", Keys::Names, Symbols::None),
    spec("postgres", Keys::Names, Symbols::Telling),
    spec("postgrest", Keys::Names, Symbols::None),
    spec("redis", Keys::Names, Symbols::None),
    spec("snowflake", Keys::Numbers, Symbols::None),
    spec("sqlite", Keys::Numbers, Symbols::Telling),
    spec("sqlserver", Keys::Numbers, Symbols::None),
    spec("sqlstate", Keys::Names, Symbols::None),
    spec("transport", Keys::Names, Symbols::None),
    spec("vitess", Keys::Numbers, Symbols::None),
    spec("yugabytedb", Keys::Names, Symbols::None),
];

/// The first line of every table.
pub const COLUMNS: &str = "code\tcondition\tproof\tmarks\tname\tsource";

/// Every proof, for parsing.
const PROOFS: [Proof; 9] = [
    Proof::Nothing,
    Proof::NeverSent,
    Proof::Rejected,
    Proof::Refused,
    Proof::Lost,
    Proof::Partial,
    Proof::SaysNotCommitted,
    Proof::SaysCommitted,
    Proof::SaysUnknown,
];

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The condition.
    pub condition: Code,
    /// What it proves.
    pub proof: Proof,
    /// Side facts.
    pub marks: Marks,
}

/// A row of a table's text form.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The code, name, class or template.
    pub code: String,
    /// What it says.
    pub reading: Reading,
    /// What the vendor calls it.
    pub name: String,
    /// Where that is written.
    pub source: String,
}

/// What kind of key a row has.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Key {
    /// A number.
    Number(i32),
    /// A name.
    Name(String),
    /// A template behind the code it tells apart (empty: none).
    Text {
        /// The code.
        code: String,
        /// The template.
        template: String,
    },
}

impl Key {
    /// The key of a row's first column.
    pub fn parse(keys: Keys, code: &str) -> Key {
        if let Some((code, template)) = code.split_once("msg:").filter(|(code, _)| is_code_before_text(code))
        {
            return Key::Text { code: code.trim_end_matches('+').to_owned(), template: template.to_owned() };
        }
        let digits = match keys {
            Keys::Numbers => Some(code),
            Keys::Names => None,
            Keys::Prefixed(prefix, digits) => code.strip_prefix(prefix).filter(|rest| rest.len() == digits),
        };
        match digits.and_then(|digits| digits.parse().ok()) {
            Some(number) => Key::Number(number),
            None => Key::Name(code.to_owned()),
        }
    }
}

/// May this stand before `msg:`?
fn is_code_before_text(code: &str) -> bool {
    code.is_empty() || code.ends_with('+')
}

/// What stands before the numbers of such keys, and how many digits they have.
pub fn spelling(keys: Keys) -> (&'static str, usize) {
    match keys {
        Keys::Prefixed(prefix, digits) => (prefix, digits),
        Keys::Numbers | Keys::Names => ("", 0),
    }
}

/// The folder of the tables in this repository.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest/tables")
}

/// The words of marks, with the bit each has in the packed form.
pub fn mark_words(marks: &Marks) -> [(&'static str, bool); 6] {
    [
        ("aborts_commit", marks.aborts_commit),
        ("executed", marks.executed),
        ("keeps_transaction", marks.keeps_transaction),
        ("client_timeout", marks.client_timeout),
        ("connection_lost", marks.connection_lost),
        ("recalled", marks.recalled),
    ]
}

/// Marks in the form of a table's column.
pub fn write_marks(marks: &Marks) -> String {
    let set: Vec<_> =
        mark_words(marks).into_iter().filter(|(_, is_set)| *is_set).map(|(word, _)| word).collect();
    set.join(",")
}

/// Marks from a table's column.
pub fn parse_marks(text: &str) -> Result<Marks> {
    let mut marks = Marks::default();
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word {
            "aborts_commit" => marks.aborts_commit = true,
            "executed" => marks.executed = true,
            "keeps_transaction" => marks.keeps_transaction = true,
            "client_timeout" => marks.client_timeout = true,
            "connection_lost" => marks.connection_lost = true,
            "recalled" => marks.recalled = true,
            _ => bail!("unknown mark {word:?}"),
        }
    }
    Ok(marks)
}

/// A condition from a table's column.
pub fn parse_condition(text: &str) -> Result<Code> {
    Code::parse(text).with_context(|| format!("unknown condition {text:?}"))
}

/// A proof from a table's column.
pub fn parse_proof(text: &str) -> Result<Proof> {
    PROOFS.into_iter().find(|proof| proof.as_str() == text).with_context(|| format!("unknown proof {text:?}"))
}

/// The order of rows: numbers, names, templates.
pub fn order(keys: Keys, left: &Row, right: &Row) -> Ordering {
    Key::parse(keys, &left.code).cmp(&Key::parse(keys, &right.code))
}

/// The lines of a file that hold data: their number and their columns.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .skip(1)
        .map(|(index, line)| (index + 1, line.split('\t').collect()))
}

/// Reads one table.
pub fn read(folder: &Path, spec: &Spec) -> Result<Vec<Row>> {
    let path = folder.join(format!("{}.tsv", spec.id));
    let text = std::fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
    lines(&text)
        .map(|(number, columns)| read_row(&columns).with_context(|| format!("{}:{number}", path.display())))
        .collect()
}

/// Reads one row.
fn read_row(columns: &[&str]) -> Result<Row> {
    let [code, condition, proof, marks, name, source] = columns else {
        bail!("{} columns instead of 6", columns.len());
    };
    let reading = Reading {
        condition: parse_condition(condition)?,
        proof: parse_proof(proof)?,
        marks: parse_marks(marks)?,
    };
    Ok(Row { code: code.to_string(), reading, name: name.to_string(), source: source.to_string() })
}

/// Reads all tables, by id.
pub fn read_all(folder: &Path) -> Result<BTreeMap<&'static str, Vec<Row>>> {
    SPECS.iter().map(|spec| Ok((spec.id, read(folder, spec)?))).collect()
}

/// Writes one table.
pub fn write(folder: &Path, spec: &Spec, rows: &[Row]) -> Result<()> {
    let mut text = format!(
        "# Rebuilt by `tables import`: lasting changes belong in rules/{}.tsv.\n{COLUMNS}\n",
        spec.id
    );
    for Row { code, reading, name, source } in rows {
        let (condition, proof) = (reading.condition.as_str(), reading.proof.as_str());
        let marks = write_marks(&reading.marks);
        text.push_str(&format!("{code}\t{condition}\t{proof}\t{marks}\t{name}\t{source}\n"));
    }
    let path = folder.join(format!("{}.tsv", spec.id));
    std::fs::write(&path, text).with_context(|| format!("{}", path.display()))
}
