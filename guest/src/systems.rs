//! The systems Retort knows: names, aliases, and what one unit of work means on each.

use crate::words::Unit;

/// What is undone when one unit of work is refused in autocommit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Atomicity {
    /// One statement, however many rows it touches.
    Statement,
    /// One document, row or key: a statement that touches several can be applied in part.
    Document,
    /// Not even one statement.
    None,
}

/// What judging needs to know of a system.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Profile {
    /// The name in `db.system.name` (OpenTelemetry's where it has one).
    pub name: &'static str,
    /// Other names that hosts use, lower case.
    pub aliases: &'static [&'static str],
    /// What a refusal undoes in autocommit.
    pub atomicity: Atomicity,
    /// Does a change of the schema commit by itself, also inside a transaction?
    pub ddl_commits: bool,
    /// Can a procedure or script inside an open transaction commit, or keep effects that ROLLBACK does not undo?
    pub procedure_commits: bool,
    /// Is COMMIT itself atomic? Not across shards.
    pub commit_is_atomic: bool,
    /// Does ROLLBACK exist, so that uncommitted work is undone when the connection dies?
    pub has_transactions: bool,
}

/// Declares the systems.
macro_rules! systems {
    ($($(#[$meta:meta])* $variant:ident = $name:literal, [$($alias:literal),*]: $atomicity:ident, ddl $ddl:literal, procedure $procedure:literal, commit $commit:literal, transactions $transactions:literal;)+) => {
        /// A database system, or a layer below one.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum System { $($(#[$meta])* $variant),+ }

        impl System {
            /// Every system.
            pub const ALL: &'static [System] = &[$(System::$variant),+];

            /// The row of the table of systems.
            pub const fn profile(self) -> &'static Profile {
                match self { $(System::$variant => &Profile {
                    name: $name, aliases: &[$($alias),*], atomicity: Atomicity::$atomicity,
                    ddl_commits: $ddl, procedure_commits: $procedure, commit_is_atomic: $commit, has_transactions: $transactions,
                }),+ }
            }
        }
    };
}

systems! {
    /// PostgreSQL and what speaks its protocol with its codes (pgbouncer, Aurora, Neon, Supabase).
    Postgresql = "postgresql", ["postgres", "pg", "pgsql", "psql", "supabase", "neon", "pgbouncer", "aurora-postgresql", "aurora_postgresql", "redshift", "aws.redshift", "timescaledb", "alloydb", "postgis"]: Statement, ddl false, procedure false, commit true, transactions true;
    /// YugabyteDB's YSQL.
    Yugabytedb = "yugabytedb", ["yugabyte", "ysql"]: Statement, ddl true, procedure false, commit true, transactions true;
    /// CockroachDB.
    Cockroachdb = "cockroachdb", ["cockroach", "crdb"]: Statement, ddl true, procedure false, commit true, transactions true;
    /// MySQL (also Aurora MySQL, TiDB).
    Mysql = "mysql", ["aurora-mysql", "aurora_mysql", "tidb", "percona", "innodb"]: Statement, ddl true, procedure true, commit true, transactions true;
    /// Vitess and PlanetScale: COMMIT over several shards is not atomic.
    Vitess = "vitess", ["planetscale"]: Statement, ddl true, procedure true, commit false, transactions true;
    /// MariaDB.
    Mariadb = "mariadb", ["maria"]: Statement, ddl true, procedure true, commit true, transactions true;
    /// SQLite (also libSQL).
    Sqlite = "sqlite", ["sqlite3", "libsql", "turso", "better-sqlite3"]: Statement, ddl false, procedure false, commit true, transactions true;
    /// DuckDB.
    Duckdb = "duckdb", ["motherduck"]: Statement, ddl false, procedure false, commit true, transactions true;
    /// Microsoft SQL Server (also Azure SQL).
    SqlServer = "microsoft.sql_server", ["sqlserver", "mssql", "sql_server", "sql-server", "azuresql", "azure_sql", "tsql", "mssqlserver"]: Statement, ddl false, procedure true, commit true, transactions true;
    /// Oracle Database.
    Oracle = "oracle.db", ["oracle", "oracledb", "oracle_db"]: Statement, ddl true, procedure true, commit true, transactions true;
    /// MongoDB.
    Mongodb = "mongodb", ["mongo", "documentdb", "cosmosdb-mongo"]: Document, ddl true, procedure true, commit true, transactions true;
    /// Redis and Valkey: a script's writes stay when it fails, and MULTI has no rollback.
    Redis = "redis", ["valkey", "keydb", "dragonfly"]: Document, ddl true, procedure true, commit true, transactions false;
    /// Apache Cassandra and ScyllaDB.
    Cassandra = "cassandra", ["scylla", "scylladb"]: Document, ddl true, procedure true, commit true, transactions false;
    /// ClickHouse: an INSERT is atomic per block only.
    Clickhouse = "clickhouse", ["chdb"]: None, ddl true, procedure true, commit true, transactions false;
    /// Snowflake.
    Snowflake = "snowflake", []: Statement, ddl true, procedure true, commit true, transactions true;
    /// Google BigQuery.
    Bigquery = "gcp.bigquery", ["bigquery", "google.bigquery"]: Statement, ddl true, procedure true, commit true, transactions true;
    /// Amazon DynamoDB.
    Dynamodb = "aws.dynamodb", ["dynamodb", "dynamo"]: Document, ddl true, procedure true, commit true, transactions false;
    /// Elasticsearch and OpenSearch.
    Elasticsearch = "elasticsearch", ["opensearch", "elastic"]: Document, ddl true, procedure true, commit true, transactions false;
    /// etcd.
    Etcd = "etcd", []: Statement, ddl true, procedure true, commit true, transactions false;
    /// MongrelDB: a kit batch is one transaction.
    Mongreldb = "mongreldb", ["mongrel"]: Statement, ddl true, procedure true, commit true, transactions true;
    /// Any other SQL system.
    OtherSql = "other_sql", ["odbc", "jdbc", "sql"]: Statement, ddl true, procedure true, commit true, transactions true;
    /// Not known.
    Unknown = "_OTHER", []: Statement, ddl true, procedure true, commit true, transactions true;
}

impl System {
    /// The system for a host's word: OpenTelemetry's name or an alias, case ignored. `None` for any other text.
    pub fn parse(text: &str) -> Option<System> {
        System::ALL.iter().copied().filter(|system| *system != System::Unknown).find(|system| {
            let profile = system.profile();
            text.eq_ignore_ascii_case(profile.name)
                || profile.aliases.iter().any(|alias| text.eq_ignore_ascii_case(alias))
        })
    }

    /// The name in `db.system.name`.
    pub const fn as_str(self) -> &'static str {
        self.profile().name
    }

    /// Does a refusal while executing undo the whole unit in autocommit?
    pub fn undoes(self, unit: Unit) -> bool {
        let profile = self.profile();
        match unit {
            Unit::Statement => profile.atomicity != Atomicity::None,
            Unit::Many => profile.atomicity == Atomicity::Statement,
            Unit::Ddl => profile.atomicity == Atomicity::Statement && !profile.ddl_commits,
            Unit::Batch | Unit::Procedure => false,
        }
    }

    /// Does uncommitted work of this unit inside an open transaction vanish with ROLLBACK?
    pub fn rolls_back(self, unit: Unit) -> bool {
        let profile = self.profile();
        profile.has_transactions
            && match unit {
                Unit::Statement | Unit::Many | Unit::Batch => true,
                Unit::Procedure => !profile.procedure_commits,
                Unit::Ddl => !profile.ddl_commits,
            }
    }
}
