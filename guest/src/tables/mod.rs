//! What native codes mean: data, one table per system and layer, and one way to look things up.
//!
//! The tables live in `guest/tables/*.tsv`, each row with its source; `cargo run -p retort-tests --bin tables --
//! pack` packs them into `packed.rs`, and a test holds that the packed form is fresh.
//!
//! A rule's id is `table/key`: the file's stem and the first column of the row, so `mysql/1062` is explained by
//! the row `1062` of `mysql.tsv`. Names and sources stay in those files; the component does not carry them.

mod drivers;
#[rustfmt::skip]
mod packed;
mod search;
mod template;

use alloc::format;
use alloc::string::{String, ToString};

pub use drivers::{Driver, driver};
pub use template::Line;

use crate::codes::{Code, Proof};
use crate::recognise::Marks;
use crate::systems::System;
use crate::words::Category;
use search::{Name, Table};

/// A native code that the tables know: the only way in which one gets into an attempt record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KnownCode(String);

impl KnownCode {
    /// The code in the table's own spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The condition.
    pub code: Code,
    /// What it proves about a write.
    pub proof: Proof,
    /// Side facts.
    pub marks: Marks,
    /// The rule's id: `table/key`.
    pub rule: String,
    /// The code in the table's own spelling, where the row is a code's and not a text's.
    pub native: Option<KnownCode>,
}

/// How much of a text its template covers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TextMatch {
    /// The whole first line.
    Whole,
    /// Its beginning: the template ends with a hole.
    Start,
}

/// A layer below or above the database systems.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Layer {
    /// Sockets, TLS, name resolution, runtimes: errno names and exception classes.
    Transport,
    /// Connection pools.
    Pool,
    /// HTTP status codes.
    Http,
    /// gRPC status codes.
    Grpc,
    /// Object mappers and driver-independent APIs (PEP 249, JDBC, Prisma, Sequelize …).
    Orm,
}

/// A code to look up in a layer.
#[derive(Clone, Copy, Debug)]
pub enum Key<'a> {
    /// A status or errno.
    Number(i64),
    /// A symbolic name or an exception class.
    Name(&'a str),
}

impl From<i64> for Key<'_> {
    fn from(number: i64) -> Self {
        Key::Number(number)
    }
}

impl<'a> From<&'a str> for Key<'a> {
    fn from(name: &'a str) -> Self {
        Key::Name(name)
    }
}

/// Whose texts are looked at: a system's or a layer's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Speaker {
    /// A database system, with what usually stands before it.
    System(System),
    /// A layer.
    Layer(Layer),
}

impl From<System> for Speaker {
    fn from(system: System) -> Self {
        Speaker::System(system)
    }
}

impl From<Layer> for Speaker {
    fn from(layer: Layer) -> Self {
        Speaker::Layer(layer)
    }
}

/// The row of a numeric code (errno, vendor number, extended result code, HTTP or gRPC status).
pub fn by_number(system: System, number: i64) -> Option<Row> {
    by_number_and_state(system, number, None)
}

/// The row of a numeric code where the server's SQLSTATE is known: it tells apart what shares a number (4025 is a
/// failed CHECK on MariaDB and something else on MySQL).
pub fn by_number_and_state(system: System, number: i64, sqlstate: Option<&str>) -> Option<Row> {
    let exact = sqlstate.and_then(|state| first(system, |table| table.exact(&format!("{number}+{state}"))));
    exact.or_else(|| first(system, |table| table.number(number)))
}

/// The row of a code by name: SQLSTATE, symbolic name, exception class, error label. A qualified class is found
/// by its last part too.
pub fn by_name(system: System, name: &str) -> Option<Row> {
    let name = Name::of(name);
    words(system).find_map(|table| table.name(name))
}

/// The row of a SQLSTATE's class (`23***`), for states that no table lists. `None` for what is no SQLSTATE.
pub fn by_sqlstate_class(system: System, state: &str) -> Option<Row> {
    let is_state =
        state.len() == 5 && state.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    let class = state.get(..2).filter(|_| is_state)?;
    let key = format!("{class}***");
    let row = first(system, |table| table.exact(&key)).or_else(|| packed::SQLSTATE.exact(&key))?;
    Some(Row { native: None, ..row })
}

/// The row of a layer's code.
pub fn layer<'a>(layer: Layer, key: impl Into<Key<'a>>) -> Option<Row> {
    match key.into() {
        Key::Number(number) => layer_table(layer).number(number),
        Key::Name(name) => layer_table(layer).name(Name::of(name)),
    }
}

/// The row whose template matches a text from its start: with a code the templates that tell apart what shares
/// this code, without one those that are a proof by themselves. The longest template wins.
pub fn by_text<'a>(
    speaker: impl Into<Speaker>,
    code: Option<&str>,
    text: impl Into<Line<'a>>,
) -> Option<(Row, TextMatch)> {
    let (code, line) = (code.unwrap_or_default(), text.into().as_str());
    match speaker.into() {
        Speaker::System(system) => words(system).find_map(|table| table.text(code, line)),
        Speaker::Layer(layer) => layer_table(layer).text(code, line),
    }
}

/// The first answer along a system's tables.
fn first(system: System, look: impl Fn(&Table) -> Option<Row>) -> Option<Row> {
    chain(system).iter().find_map(|table| look(table))
}

/// The tables in which a system's names and texts are looked up: MariaDB's numbers are its own, the rest is MySQL's.
fn words(system: System) -> impl Iterator<Item = &'static Table> {
    let shared = (system == System::Mariadb).then_some(&packed::MYSQL);
    chain(system).iter().copied().chain(shared)
}

/// A system's own table, then the tables of what it is built on or usually reached through.
fn chain(system: System) -> &'static [&'static Table] {
    use packed::*;
    match system {
        System::Postgresql => const { &[&POSTGRES, &PGBOUNCER, &POSTGREST, &AURORA_RDS, &SQLSTATE] },
        System::Yugabytedb => const { &[&YUGABYTEDB, &POSTGRES, &PGBOUNCER, &SQLSTATE] },
        System::Cockroachdb => const { &[&COCKROACHDB, &POSTGRES, &PGBOUNCER, &SQLSTATE] },
        System::Mysql => const { &[&MYSQL, &VITESS, &AURORA_RDS, &SQLSTATE] },
        System::Vitess => const { &[&VITESS, &MYSQL, &SQLSTATE] },
        System::Mariadb => const { &[&MARIADB, &SQLSTATE] },
        System::Sqlite => const { &[&SQLITE] },
        System::Duckdb => const { &[&DUCKDB] },
        System::SqlServer => const { &[&SQLSERVER, &SQLSTATE] },
        System::Oracle => const { &[&ORACLE, &SQLSTATE] },
        System::Mongodb => const { &[&MONGODB] },
        System::Redis => const { &[&REDIS] },
        System::Cassandra => const { &[&CASSANDRA] },
        System::Clickhouse => const { &[&CLICKHOUSE] },
        System::Snowflake => const { &[&SNOWFLAKE, &SQLSTATE] },
        System::Bigquery => const { &[&BIGQUERY] },
        System::Dynamodb => const { &[&DYNAMODB] },
        System::Elasticsearch => const { &[&ELASTICSEARCH] },
        System::Etcd => const { &[&ETCD] },
        System::Mongreldb => const { &[&MONGRELDB] },
        System::OtherSql | System::Unknown => const { &[&SQLSTATE] },
    }
}

/// The table of a layer.
fn layer_table(layer: Layer) -> &'static Table {
    match layer {
        Layer::Transport => &packed::TRANSPORT,
        Layer::Pool => &packed::POOL,
        Layer::Http => &packed::HTTP,
        Layer::Grpc => &packed::GRPC,
        Layer::Orm => &packed::ORM,
    }
}

/// What a row says, before it has a key: an entry of the table of distinct readings.
#[derive(Clone, Copy)]
struct Reading(Code, Proof, u8);

impl Reading {
    /// The row with its key. A row from memory is read carefully: never transient, never a proof of no effect.
    fn row(self, table: &str, key: &str, native: Option<&str>) -> Row {
        let Reading(code, proof, bits) = self;
        let marks = Marks {
            aborts_commit: bits & 1 != 0,
            executed: bits & 2 != 0,
            keeps_transaction: bits & 4 != 0,
            client_timeout: bits & 8 != 0,
            connection_lost: bits & 16 != 0,
            recalled: bits & 32 != 0,
        };
        let (code, proof) = match (marks.recalled, code.category()) {
            (false, _) => (code, proof),
            (true, Category::Transient) => (Code::DatabaseError, Proof::Lost),
            (true, _) => (code, careful(proof)),
        };
        // Of a key of two codes (an errno and its SQLSTATE) the first is the native code.
        let native =
            native.and_then(|native| native.split('+').next()).map(|native| KnownCode(native.to_string()));
        Row { code, proof, marks, rule: [table, "/", key].concat(), native }
    }
}

/// What is left of a proof that nobody confirmed.
const fn careful(proof: Proof) -> Proof {
    match proof {
        Proof::NeverSent
        | Proof::Rejected
        | Proof::Refused
        | Proof::SaysNotCommitted
        | Proof::SaysCommitted => Proof::Nothing,
        other => other,
    }
}

#[cfg(test)]
mod tests;
