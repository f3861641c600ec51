//! What tells a system by its shape, where neither host nor driver does: fields, classes, and words of texts.

use alloc::string::String;

use crate::systems::System;

/// Where a hint is looked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Where {
    /// The name of a field, whole.
    Field,
    /// Anywhere in the name of a class, or in a code's name.
    Name,
    /// Anywhere in the head of a text.
    Text,
}

use System::*;
use Where::{Field, Name, Text};

/// Where, what (lower case), which system, and how much it weighs.
const HINTS: &[(Where, &str, System, u8)] = &[
    (Field, "pgcode", Postgresql, 5),
    (Field, "pgerror", Postgresql, 5),
    (Field, "routine", Postgresql, 3),
    (Field, "internalquery", Postgresql, 3),
    (Field, "severity_nonlocalized", Postgresql, 5),
    (Field, "sqlmessage", Mysql, 3),
    (Field, "sqlite_errorcode", Sqlite, 9),
    (Field, "sqlite_errorname", Sqlite, 9),
    (Field, "extendedresult", Sqlite, 9),
    (Field, "errcode", Sqlite, 1),
    (Field, "extended_code", Sqlite, 3),
    (Field, "errorlabels", Mongodb, 5),
    (Field, "codename", Mongodb, 4),
    (Field, "errmsg", Mongodb, 3),
    (Field, "keypattern", Mongodb, 5),
    (Field, "writeerrors", Mongodb, 5),
    (Field, "writeconcernerror", Mongodb, 5),
    (Field, "errornum", Oracle, 5),
    (Field, "full_code", Oracle, 5),
    (Field, "isrecoverable", Oracle, 5),
    (Field, "$metadata", Dynamodb, 4),
    (Field, "cancellationreasons", Dynamodb, 9),
    (Field, "unprocesseditems", Dynamodb, 9),
    (Field, "responsemetadata", Dynamodb, 4),
    (Field, "root_cause", Elasticsearch, 5),
    (Field, "caused_by", Elasticsearch, 2),
    (Field, "procname", SqlServer, 5),
    (Field, "linenumber", SqlServer, 4),
    (Field, "clientconnectionid", SqlServer, 5),
    (Field, "precedingerrors", SqlServer, 5),
    (Field, "sfqid", Snowflake, 5),
    (Field, "inserterrors", Bigquery, 5),
    (Field, "write_type", Cassandra, 4),
    (Field, "consistency", Cassandra, 3),
    (Field, "cancel_outcome", Mongreldb, 9),
    (Field, "terminal_state", Mongreldb, 5),
    (Field, "committed_statements", Mongreldb, 5),
    (Field, "committed", Mongreldb, 2),
    (Field, "last_commit_epoch", Mongreldb, 5),
    (Name, "psycopg", Postgresql, 6),
    (Name, "asyncpg", Postgresql, 6),
    (Name, "postgres", Postgresql, 6),
    (Name, "psqlexception", Postgresql, 6),
    (Name, "pg::", Postgresql, 6),
    (Name, "pgconn", Postgresql, 6),
    (Name, "pqxx", Postgresql, 6),
    (Name, "npgsql", Postgresql, 6),
    (Name, "neondberror", Postgresql, 6),
    (Name, "pgrst", Postgresql, 6),
    (Name, "mysql", Mysql, 5),
    (Name, "er_", Mysql, 5),
    (Name, "cr_", Mysql, 3),
    (Name, "protocol_connection_lost", Mysql, 5),
    (Name, "mariadb", Mariadb, 6),
    (Name, "sqlite", Sqlite, 6),
    (Name, "libsql", Sqlite, 6),
    (Name, "duckdb", Duckdb, 6),
    (Name, "sqlserver", SqlServer, 6),
    (Name, "sqlclient", SqlServer, 6),
    (Name, "sqlexception", SqlServer, 1),
    (Name, "tedious", SqlServer, 6),
    (Name, "mssql", SqlServer, 6),
    (Name, "elogin", SqlServer, 5),
    (Name, "ereques", SqlServer, 3),
    (Name, "etimeout", SqlServer, 3),
    (Name, "cx_oracle", Oracle, 6),
    (Name, "oracle", Oracle, 6),
    (Name, "ora-", Oracle, 6),
    (Name, "dpy-", Oracle, 6),
    (Name, "njs-", Oracle, 6),
    (Name, "mongo", Mongodb, 6),
    (Name, "redis", Redis, 6),
    (Name, "valkey", Redis, 6),
    (Name, "replyerror", Redis, 5),
    (Name, "cassandra", Cassandra, 6),
    (Name, "datastax", Cassandra, 6),
    (Name, "nohostavailable", Cassandra, 5),
    (Name, "scylla", Cassandra, 6),
    (Name, "clickhouse", Clickhouse, 6),
    (Name, "snowflake", Snowflake, 6),
    (Name, "bigquery", Bigquery, 6),
    (Name, "google.api_core", Bigquery, 4),
    (Name, "google.cloud", Bigquery, 4),
    (Name, "dynamodb", Dynamodb, 6),
    (Name, "botocore", Dynamodb, 4),
    (Name, "conditionalcheckfailed", Dynamodb, 6),
    (Name, "provisionedthroughput", Dynamodb, 6),
    (Name, "elasticsearch", Elasticsearch, 6),
    (Name, "opensearch", Elasticsearch, 6),
    (Name, "mapperparsing", Elasticsearch, 6),
    (Name, "mapper_parsing", Elasticsearch, 6),
    (Name, "index_not_found_exception", Elasticsearch, 6),
    (Name, "cluster_block_exception", Elasticsearch, 6),
    (Name, "version_conflict_engine_exception", Elasticsearch, 6),
    (Name, "etcd", Etcd, 6),
    (Name, "mongreldb", Mongreldb, 6),
    (Text, "e11000 ", Mongodb, 5),
    (Text, "mongodb", Mongodb, 2),
    (Text, "jdbc:oracle", Oracle, 6),
    (Text, "jdbc:sqlserver", SqlServer, 6),
    (Text, "postgres://", Postgresql, 6),
    (Text, "ora-", Oracle, 4),
    (Text, "dpy-", Oracle, 4),
    (Text, "db::exception", Clickhouse, 6),
    (Text, "clickhouse", Clickhouse, 3),
    (Text, "[sql server]", SqlServer, 6),
    (Text, "for sql server]", SqlServer, 6),
    (Text, ", level ", SqlServer, 2),
    (Text, "clientconnectionid:", SqlServer, 4),
    (Text, "microsoft.data.sqlclient", SqlServer, 6),
    (Text, "system.data.sqlclient", SqlServer, 6),
    (Text, "mariadb", Mariadb, 7),
    (Text, "mysql", Mysql, 3),
    (Text, "vttablet", Vitess, 9),
    (Text, "vtgate", Vitess, 9),
    (Text, " vt1", Vitess, 5),
    (Text, "sqlite", Sqlite, 4),
    (Text, "duckdb", Duckdb, 4),
    (Text, "catalog error:", Duckdb, 6),
    (Text, "binder error:", Duckdb, 6),
    (Text, "parser error:", Duckdb, 5),
    (Text, "conversion error:", Duckdb, 5),
    (Text, "constraint error:", Duckdb, 5),
    (Text, "snowflake", Snowflake, 4),
    (Text, "sql compilation error", Snowflake, 6),
    (Text, "bigquery", Bigquery, 5),
    (Text, "dynamodb", Dynamodb, 5),
    (Text, "elasticsearch", Elasticsearch, 5),
    (Text, "cluster_block_exception", Elasticsearch, 5),
    (Text, "cassandra", Cassandra, 5),
    (Text, "psycopg", Postgresql, 5),
    (Text, "postgresql", Postgresql, 3),
    (Text, "org.postgresql", Postgresql, 5),
    (Text, "pg_", Postgresql, 2),
    (Text, "\nline 1:", Postgresql, 1),
    (Text, "pqconsumeinput", Postgresql, 5),
    (Text, "pgres_", Postgresql, 5),
    (Text, "libpq", Postgresql, 4),
    (Text, "`prisma.", Postgresql, 1),
    (Text, "pq: ", Postgresql, 4),
    (Text, "transactionretrywithprotorefresherror", Cockroachdb, 9),
    (Text, "mongreldb error", Mongreldb, 9),
    (Text, "redis", Redis, 4),
    (Text, "etcdserver:", Etcd, 6),
];

/// How much of a text is searched for hints.
const HEAD: usize = 2048;

/// The weights of a shape's hints, by system.
#[derive(Debug, Default)]
pub(super) struct Votes {
    weights: [u16; 32],
}

impl Votes {
    /// Counts the hints of one name or text.
    pub fn count(&mut self, place: Where, words: &str) {
        let mut head = words.len().min(HEAD);
        while !words.is_char_boundary(head) {
            head -= 1;
        }
        let words: String = words.get(..head).unwrap_or_default().to_ascii_lowercase();
        for (_, hint, system, weight) in HINTS.iter().filter(|(at, ..)| *at == place) {
            let is_hit = match place {
                Field => words == *hint,
                Name | Text => words.contains(hint),
            };
            if let Some(sum) = self.weights.get_mut(*system as usize).filter(|_| is_hit) {
                *sum = sum.saturating_add(u16::from(*weight));
            }
        }
    }

    /// Counts what a fixed form tells.
    pub fn add(&mut self, system: System, weight: u16) {
        if let Some(sum) = self.weights.get_mut(system as usize) {
            *sum = sum.saturating_add(weight);
        }
    }

    /// The system with the greatest weight.
    pub fn winner(&self) -> Option<System> {
        let most = *self.weights.iter().max()?;
        let index = self.weights.iter().position(|weight| *weight == most && most > 0)?;
        System::ALL.get(index).copied()
    }
}

/// The system that the name of an unlisted driver tells.
pub(super) fn by_driver(driver: &str) -> Option<System> {
    let mut votes = Votes::default();
    votes.count(Name, driver);
    votes.count(Text, driver);
    votes.winner()
}
