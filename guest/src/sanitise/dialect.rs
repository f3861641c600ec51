//! The SQL dialects that the lexer can tell apart, as rows of what differs.

/// The language of a statement.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Dialect {
    /// Not known: every reading that could hide a literal is taken, so `"…"` is a literal.
    #[default]
    Generic,
    /// PostgreSQL and its relatives.
    Postgresql,
    /// MySQL and MariaDB.
    Mysql,
    /// SQLite and DuckDB.
    Sqlite,
    /// T-SQL.
    SqlServer,
    /// Oracle.
    Oracle,
    /// ClickHouse.
    Clickhouse,
    /// MongoDB commands as JSON, or shell calls.
    Mongodb,
}

/// Names of dialects: OpenTelemetry's `db.system.name` and what hosts call them.
const NAMES: &[(&str, Dialect)] = &[
    ("postgresql", Dialect::Postgresql),
    ("postgres", Dialect::Postgresql),
    ("pg", Dialect::Postgresql),
    ("cockroachdb", Dialect::Postgresql),
    ("yugabytedb", Dialect::Postgresql),
    ("redshift", Dialect::Postgresql),
    ("aws.redshift", Dialect::Postgresql),
    ("supabase", Dialect::Postgresql),
    ("neon", Dialect::Postgresql),
    ("pgbouncer", Dialect::Postgresql),
    ("snowflake", Dialect::Postgresql),
    ("mysql", Dialect::Mysql),
    ("mariadb", Dialect::Mysql),
    ("vitess", Dialect::Mysql),
    ("planetscale", Dialect::Mysql),
    ("tidb", Dialect::Mysql),
    ("bigquery", Dialect::Mysql),
    ("gcp.bigquery", Dialect::Mysql),
    ("sqlite", Dialect::Sqlite),
    ("sqlite3", Dialect::Sqlite),
    ("libsql", Dialect::Sqlite),
    ("duckdb", Dialect::Sqlite),
    ("microsoft.sql_server", Dialect::SqlServer),
    ("sqlserver", Dialect::SqlServer),
    ("sql_server", Dialect::SqlServer),
    ("mssql", Dialect::SqlServer),
    ("tsql", Dialect::SqlServer),
    ("oracle", Dialect::Oracle),
    ("oracle.db", Dialect::Oracle),
    ("oracledb", Dialect::Oracle),
    ("clickhouse", Dialect::Clickhouse),
    ("chdb", Dialect::Clickhouse),
    ("mongodb", Dialect::Mongodb),
    ("mongo", Dialect::Mongodb),
    ("documentdb", Dialect::Mongodb),
];

/// What a double-quoted text is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum DoubleQuotes {
    /// A name.
    Name,
    /// A literal.
    Literal,
    /// A name, but a literal where a value is expected (after a comparison, in a list).
    Position,
}

/// How a backslash reads inside `'…'`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Backslash {
    /// As any other character.
    Plain,
    /// It escapes the next character.
    Escape,
    /// Either: before a quote nobody knows where the literal ends, so everything after it goes.
    Doubt,
}

/// What the lexer has to know of a dialect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traits {
    pub(super) double_quotes: DoubleQuotes,
    pub(super) backslash: Backslash,
    /// `[name]`.
    pub(super) brackets: bool,
    /// `# comment`.
    pub(super) hash_comments: bool,
    /// `/* /* */ */`.
    pub(super) nested_comments: bool,
    /// `q'[…]'`.
    pub(super) q_quotes: bool,
}

impl Dialect {
    /// The dialect for OpenTelemetry's `db.system.name` or a common alias; `Generic` for any other text.
    pub fn parse(text: &str) -> Dialect {
        NAMES
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text))
            .map_or(Dialect::Generic, |(_, dialect)| *dialect)
    }

    pub(super) const fn traits(self) -> Traits {
        use Backslash::{Doubt, Escape, Plain};
        use DoubleQuotes::{Literal, Name, Position};
        const fn row(double_quotes: DoubleQuotes, backslash: Backslash, flags: [bool; 4]) -> Traits {
            let [brackets, hash_comments, nested_comments, q_quotes] = flags;
            Traits { double_quotes, backslash, brackets, hash_comments, nested_comments, q_quotes }
        }
        match self {
            Dialect::Generic | Dialect::Mongodb => row(Literal, Doubt, [false, true, true, true]),
            Dialect::Postgresql => row(Name, Plain, [false, false, true, false]),
            Dialect::Mysql => row(Literal, Escape, [false, true, false, false]),
            Dialect::Sqlite => row(Position, Plain, [true, false, false, false]),
            Dialect::SqlServer => row(Position, Plain, [true, false, true, false]),
            Dialect::Oracle => row(Name, Plain, [false, false, false, true]),
            Dialect::Clickhouse => row(Name, Escape, [false, true, false, false]),
        }
    }
}
