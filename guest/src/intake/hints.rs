//! What tells a system by its shape, where neither host nor driver does: fields, classes, and words of texts.

use crate::lookup::{self, Words, words};
use crate::signs::Signs;
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

/// Which system, and how much it weighs.
type Weight = (System, u8);

/// Names of fields.
static FIELDS: Words<Weight> = words!(
    Weight,
    &[
        ("pgcode", (Postgresql, 5)),
        ("pgerror", (Postgresql, 5)),
        ("routine", (Postgresql, 3)),
        ("internalquery", (Postgresql, 3)),
        ("severity_nonlocalized", (Postgresql, 5)),
        ("sqlmessage", (Mysql, 3)),
        ("sqlite_errorcode", (Sqlite, 9)),
        ("sqlite_errorname", (Sqlite, 9)),
        ("extendedresult", (Sqlite, 9)),
        ("errcode", (Sqlite, 1)),
        ("extended_code", (Sqlite, 3)),
        ("errorlabels", (Mongodb, 5)),
        ("codename", (Mongodb, 4)),
        ("errmsg", (Mongodb, 3)),
        ("keypattern", (Mongodb, 5)),
        ("writeerrors", (Mongodb, 5)),
        ("writeconcernerror", (Mongodb, 5)),
        ("errornum", (Oracle, 5)),
        ("full_code", (Oracle, 5)),
        ("isrecoverable", (Oracle, 5)),
        ("$metadata", (Dynamodb, 4)),
        ("cancellationreasons", (Dynamodb, 9)),
        ("unprocesseditems", (Dynamodb, 9)),
        ("responsemetadata", (Dynamodb, 4)),
        ("root_cause", (Elasticsearch, 5)),
        ("caused_by", (Elasticsearch, 2)),
        ("procname", (SqlServer, 5)),
        ("linenumber", (SqlServer, 4)),
        ("clientconnectionid", (SqlServer, 5)),
        ("precedingerrors", (SqlServer, 5)),
        ("sfqid", (Snowflake, 5)),
        ("inserterrors", (Bigquery, 5)),
        ("write_type", (Cassandra, 4)),
        ("consistency", (Cassandra, 3)),
        ("cancel_outcome", (Mongreldb, 9)),
        ("terminal_state", (Mongreldb, 5)),
        ("committed_statements", (Mongreldb, 5)),
        ("committed", (Mongreldb, 2)),
        ("last_commit_epoch", (Mongreldb, 5)),
    ]
);

/// Parts of the names of classes and codes, in lower case.
const NAMES: &[(&str, Weight)] = &[
    ("psycopg", (Postgresql, 6)),
    ("asyncpg", (Postgresql, 6)),
    ("postgres", (Postgresql, 6)),
    ("psqlexception", (Postgresql, 6)),
    ("pg::", (Postgresql, 6)),
    ("pgconn", (Postgresql, 6)),
    ("pqxx", (Postgresql, 6)),
    ("npgsql", (Postgresql, 6)),
    ("neondberror", (Postgresql, 6)),
    ("pgrst", (Postgresql, 6)),
    ("mysql", (Mysql, 5)),
    ("er_", (Mysql, 5)),
    ("cr_", (Mysql, 3)),
    ("protocol_connection_lost", (Mysql, 5)),
    ("mariadb", (Mariadb, 6)),
    ("sqlite", (Sqlite, 6)),
    ("libsql", (Sqlite, 6)),
    ("duckdb", (Duckdb, 6)),
    ("sqlserver", (SqlServer, 6)),
    ("sqlclient", (SqlServer, 6)),
    ("sqlexception", (SqlServer, 1)),
    ("tedious", (SqlServer, 6)),
    ("mssql", (SqlServer, 6)),
    ("elogin", (SqlServer, 5)),
    ("ereques", (SqlServer, 3)),
    ("etimeout", (SqlServer, 3)),
    ("cx_oracle", (Oracle, 6)),
    ("oracle", (Oracle, 6)),
    ("ora-", (Oracle, 6)),
    ("dpy-", (Oracle, 6)),
    ("njs-", (Oracle, 6)),
    ("mongo", (Mongodb, 6)),
    ("redis", (Redis, 6)),
    ("valkey", (Redis, 6)),
    ("replyerror", (Redis, 5)),
    ("cassandra", (Cassandra, 6)),
    ("datastax", (Cassandra, 6)),
    ("nohostavailable", (Cassandra, 5)),
    ("scylla", (Cassandra, 6)),
    ("clickhouse", (Clickhouse, 6)),
    ("snowflake", (Snowflake, 6)),
    ("bigquery", (Bigquery, 6)),
    ("google.api_core", (Bigquery, 4)),
    ("google.cloud", (Bigquery, 4)),
    ("dynamodb", (Dynamodb, 6)),
    ("botocore", (Dynamodb, 4)),
    ("conditionalcheckfailed", (Dynamodb, 6)),
    ("provisionedthroughput", (Dynamodb, 6)),
    ("elasticsearch", (Elasticsearch, 6)),
    ("opensearch", (Elasticsearch, 6)),
    ("mapperparsing", (Elasticsearch, 6)),
    ("mapper_parsing", (Elasticsearch, 6)),
    ("index_not_found_exception", (Elasticsearch, 6)),
    ("cluster_block_exception", (Elasticsearch, 6)),
    ("version_conflict_engine_exception", (Elasticsearch, 6)),
    ("etcd", (Etcd, 6)),
    ("mongreldb", (Mongreldb, 6)),
];

/// Parts of texts, in lower case.
const TEXTS: &[(&str, Weight)] = &[
    ("e11000 ", (Mongodb, 5)),
    ("mongodb", (Mongodb, 2)),
    ("jdbc:oracle", (Oracle, 6)),
    ("jdbc:sqlserver", (SqlServer, 6)),
    ("postgres://", (Postgresql, 6)),
    ("ora-", (Oracle, 4)),
    ("dpy-", (Oracle, 4)),
    ("db::exception", (Clickhouse, 6)),
    ("clickhouse", (Clickhouse, 3)),
    ("[sql server]", (SqlServer, 6)),
    ("for sql server]", (SqlServer, 6)),
    (", level ", (SqlServer, 2)),
    ("clientconnectionid:", (SqlServer, 4)),
    ("microsoft.data.sqlclient", (SqlServer, 6)),
    ("system.data.sqlclient", (SqlServer, 6)),
    ("mariadb", (Mariadb, 7)),
    ("mysql", (Mysql, 3)),
    ("vttablet", (Vitess, 9)),
    ("vtgate", (Vitess, 9)),
    (" vt1", (Vitess, 5)),
    ("sqlite", (Sqlite, 4)),
    ("duckdb", (Duckdb, 4)),
    ("catalog error:", (Duckdb, 6)),
    ("binder error:", (Duckdb, 6)),
    ("parser error:", (Duckdb, 5)),
    ("conversion error:", (Duckdb, 5)),
    ("constraint error:", (Duckdb, 5)),
    ("snowflake", (Snowflake, 4)),
    ("sql compilation error", (Snowflake, 6)),
    ("bigquery", (Bigquery, 5)),
    ("dynamodb", (Dynamodb, 5)),
    ("elasticsearch", (Elasticsearch, 5)),
    ("cluster_block_exception", (Elasticsearch, 5)),
    ("cassandra", (Cassandra, 5)),
    ("psycopg", (Postgresql, 5)),
    ("postgresql", (Postgresql, 3)),
    ("org.postgresql", (Postgresql, 5)),
    ("pg_", (Postgresql, 2)),
    ("\nline 1:", (Postgresql, 1)),
    ("pqconsumeinput", (Postgresql, 5)),
    ("pgres_", (Postgresql, 5)),
    ("libpq", (Postgresql, 4)),
    ("`prisma.", (Postgresql, 1)),
    ("pq: ", (Postgresql, 4)),
    ("transactionretrywithprotorefresherror", (Cockroachdb, 9)),
    ("mongreldb error", (Mongreldb, 9)),
    ("redis", (Redis, 4)),
    ("etcdserver:", (Etcd, 6)),
];

/// Hints that are looked for together.
struct Hints {
    signs: Signs,
    weights: &'static [Weight],
}

static IN_NAMES: Hints = Hints {
    signs: Signs::new(&const { texts::<{ NAMES.len() }>(NAMES) }),
    weights: &const { lookup::values::<_, { NAMES.len() }>(NAMES) },
};

static IN_TEXTS: Hints = Hints {
    signs: Signs::new(&const { texts::<{ TEXTS.len() }>(TEXTS) }),
    weights: &const { lookup::values::<_, { TEXTS.len() }>(TEXTS) },
};

/// The texts of some hints.
const fn texts<const COUNT: usize>(hints: &[(&'static str, Weight)]) -> [&'static str; COUNT] {
    assert!(COUNT <= u64::BITS as usize, "one bit per hint");
    let (mut texts, mut index) = ([""; COUNT], 0);
    while index < COUNT {
        texts[index] = hints[index].0;
        index += 1;
    }
    texts
}

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
        let words = words.get(..words.floor_char_boundary(HEAD)).unwrap_or_default();
        match place {
            Where::Field => FIELDS.get(words.as_bytes()).into_iter().for_each(|hint| self.weigh(hint)),
            Where::Name => self.search(&IN_NAMES, words),
            Where::Text => self.search(&IN_TEXTS, words),
        }
    }

    /// Counts each hint that stands somewhere in a text once.
    fn search(&mut self, hints: &Hints, text: &str) {
        let text = text.to_ascii_lowercase().into_bytes();
        let mut seen = 0_u64;
        for rest in hints.signs.places(&text).filter_map(|place| text.get(place..)) {
            for index in hints.signs.all_at(rest) {
                let bit = 1 << index;
                if seen & bit == 0 {
                    hints.weights.get(index).into_iter().for_each(|hint| self.weigh(*hint));
                }
                seen |= bit;
            }
        }
    }

    fn weigh(&mut self, (system, weight): Weight) {
        self.add(system, u16::from(weight));
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
    votes.count(Where::Name, driver);
    votes.count(Where::Text, driver);
    votes.winner()
}
