//! What the words of SQL mean to a fingerprint, and which statements can hold a secret.

use crate::lookup::{Words, words};

/// The part that a keyword plays.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Role {
    /// Folded to capitals, nothing else.
    Plain,
    /// Can be the operation of a statement.
    Verb,
    /// An operation that changes data or schema.
    Write,
    /// What follows is a target: `FROM`, `JOIN`, `INTO`, `TABLE`.
    Target,
    /// Stands between such a word and its target: `ONLY`, `IF`, `EXISTS`, `NOT`, `LATERAL`.
    Filler,
    /// A function: its parenthesis joins it.
    Function,
    /// What follows is a secret, whatever it looks like: the statement is reduced.
    Secret,
    /// No keyword, but the value of what it names is a secret.
    SecretName,
    /// A constant: `TRUE`, `FALSE`, `NULL`.
    Constant,
}

use Role::{Constant, Filler, Function, Plain, Secret, SecretName, Target, Verb, Write};

/// The keywords. Words that are as common for columns (`name`, `type`, `status`) are left out: they keep their case.
#[rustfmt::skip]
pub(super) static KEYWORDS: Words<Role> = words!(Role, &[
    ("SELECT", Verb), ("INSERT", Write), ("UPDATE", Write), ("DELETE", Write), ("MERGE", Write), ("REPLACE", Write),
    ("UPSERT", Write), ("CREATE", Write), ("ALTER", Write), ("DROP", Write), ("TRUNCATE", Write), ("GRANT", Write),
    ("REVOKE", Write), ("CALL", Write), ("EXEC", Write), ("EXECUTE", Write), ("LOAD", Write), ("RENAME", Write),
    ("REFRESH", Write), ("COMMENT", Write), ("IMPORT", Write), ("DO", Write), ("COPY", Verb), ("BEGIN", Verb),
    ("START", Verb), ("COMMIT", Verb), ("ROLLBACK", Verb), ("SAVEPOINT", Verb), ("RELEASE", Verb), ("SET", Verb),
    ("SHOW", Verb), ("EXPLAIN", Verb), ("DESCRIBE", Verb), ("DESC", Plain), ("USE", Verb), ("WITH", Verb),
    ("LOCK", Verb), ("UNLOCK", Verb), ("ANALYZE", Verb), ("VACUUM", Verb), ("PRAGMA", Verb), ("ATTACH", Verb),
    ("DETACH", Verb), ("VALUES", Verb), ("DECLARE", Verb), ("FETCH", Verb), ("OPEN", Verb), ("CLOSE", Verb),
    ("EXPORT", Verb), ("OPTIMIZE", Verb), ("KILL", Verb), ("PREPARE", Verb), ("DEALLOCATE", Verb), ("LISTEN", Verb),
    ("NOTIFY", Verb), ("REINDEX", Verb), ("CLUSTER", Verb), ("RESET", Verb), ("DISCARD", Verb), ("CHECKPOINT", Verb),
    ("BACKUP", Verb), ("RESTORE", Verb), ("CHANGE", Verb), ("AUDIT", Verb), ("FLUSH", Verb), ("PURGE", Verb),
    ("FROM", Target), ("JOIN", Target), ("INTO", Target), ("TABLE", Target), ("VIEW", Target), ("INDEX", Plain),
    ("APPLY", Plain), ("USING", Target), ("ONLY", Filler), ("LATERAL", Filler), ("IF", Filler), ("EXISTS", Filler),
    ("NOT", Filler), ("TRUE", Constant), ("FALSE", Constant), ("NULL", Constant), ("WHERE", Plain), ("AND", Plain),
    ("OR", Plain), ("IN", Plain), ("IS", Plain), ("AS", Plain), ("ON", Plain), ("BY", Plain), ("GROUP", Plain),
    ("ORDER", Plain), ("HAVING", Plain), ("LIMIT", Plain), ("OFFSET", Plain), ("FOR", Plain), ("UNION", Plain),
    ("ALL", Plain), ("ANY", Plain), ("SOME", Plain), ("INTERSECT", Plain), ("EXCEPT", Plain), ("MINUS", Plain),
    ("DISTINCT", Plain), ("TOP", Plain), ("CASE", Plain), ("WHEN", Plain), ("THEN", Plain), ("ELSE", Plain),
    ("END", Plain), ("LIKE", Plain), ("ILIKE", Plain), ("RLIKE", Plain), ("REGEXP", Plain), ("SIMILAR", Plain),
    ("BETWEEN", Plain), ("INNER", Plain), ("LEFT", Plain), ("RIGHT", Plain), ("FULL", Plain), ("OUTER", Plain),
    ("CROSS", Plain), ("NATURAL", Plain), ("ASC", Plain), ("NULLS", Plain), ("FIRST", Plain), ("LAST", Plain),
    ("RETURNING", Plain), ("OUTPUT", Plain), ("CONFLICT", Plain), ("DUPLICATE", Plain), ("KEY", Plain),
    ("NOTHING", Plain), ("DEFAULT", Plain), ("PRIMARY", Plain), ("FOREIGN", Plain), ("REFERENCES", Plain),
    ("UNIQUE", Plain), ("CHECK", Plain), ("CONSTRAINT", Plain), ("CASCADE", Plain), ("RESTRICT", Plain),
    ("ADD", Plain), ("COLUMN", Plain), ("NOLOCK", Plain), ("TABLES", Plain), ("COLUMNS", Plain), ("DATABASES", Plain), ("DATABASE", Plain), ("SCHEMA", Plain), ("FUNCTION", Plain),
    ("PROCEDURE", Plain), ("TRIGGER", Plain), ("SEQUENCE", Plain), ("ROLE", Plain), ("USER", Plain),
    ("LOGIN", Plain), ("PASSWORD", Plain), ("IDENTIFIED", Secret), ("TEMPORARY", Plain), ("TEMP", Plain),
    ("MATERIALIZED", Plain), ("RECURSIVE", Plain), ("OVER", Plain), ("PARTITION", Plain), ("WINDOW", Plain),
    ("ROWS", Plain), ("RANGE", Plain), ("PRECEDING", Plain), ("FOLLOWING", Plain), ("UNBOUNDED", Plain),
    ("CURRENT", Plain), ("ROW", Plain), ("MATCHED", Plain), ("SHARE", Plain), ("NOWAIT", Plain), ("SKIP", Plain),
    ("LOCKED", Plain), ("TRANSACTION", Plain), ("WORK", Plain), ("ISOLATION", Plain), ("LEVEL", Plain),
    ("READ", Plain), ("WRITE", Plain), ("COMMITTED", Plain), ("SERIALIZABLE", Plain), ("TO", Plain),
    ("COLLATE", Plain), ("ESCAPE", Plain), ("INTERVAL", Plain), ("CAST", Function), ("CONVERT", Function),
    ("COALESCE", Function), ("NULLIF", Function), ("COUNT", Function), ("SUM", Function), ("MIN", Function), ("MAX", Function),
    ("AVG", Function), ("LOWER", Function), ("UPPER", Function), ("NOW", Function), ("CURRENT_TIMESTAMP", Plain),
    ("CURRENT_DATE", Plain), ("EXTRACT", Function), ("SUBSTRING", Function), ("TRIM", Function), ("DATE", Plain),
    ("TIMESTAMP", Plain), ("PREWHERE", Plain), ("FINAL", Plain), ("SETTINGS", Plain), ("FORMAT", Plain),
    ("SAMPLE", Plain), ("ARRAY", Plain), ("GLOBAL", Plain), ("QUALIFY", Plain), ("PIVOT", Plain), ("UNPIVOT", Plain),
    ("IGNORE", Plain), ("DELAYED", Plain), ("LOW_PRIORITY", Plain), ("VARCHAR", Plain), ("INT", Plain),
    ("INTEGER", Plain), ("BIGINT", Plain), ("TEXT", Plain), ("BOOLEAN", Plain), ("NUMERIC", Plain),
    ("CONNECT", Plain), ("PRIOR", Plain), ("LEADING", Plain), ("SEPARATOR", Plain), ("WITHIN", Plain),
    ("SP_ADDLOGIN", Secret),
    ("SP_PASSWORD", Secret),
    ("DBLINK", Secret),
    ("DBLINK_CONNECT", Secret),
    ("OPENROWSET", Secret),
    ("OPENDATASOURCE", Secret),
    ("SP_ADDLINKEDSRVLOGIN", Secret),
    ("PASSWD", SecretName),
    ("PWD", SecretName),
    ("SECRET", SecretName),
    ("TOKEN", SecretName),
    ("PASSPHRASE", SecretName),
    ("AUTH", SecretName),
    ("API_KEY", SecretName),
    ("APIKEY", SecretName),
    ("ACCESS_KEY", SecretName),
    ("SECRET_KEY", SecretName),
    ("PASSWORD_HASH", SecretName),
    ("CREDENTIALS", SecretName),
    ("MASTER_PASSWORD", SecretName),
    ("SOURCE_PASSWORD", SecretName),
    ("AUTHORIZATION", SecretName),
]);

/// Keywords that never name a target, although they can stand where one is expected.
pub(super) const NO_NAMES: &[&str] = &[
    "SELECT",
    "VALUES",
    "WITH",
    "TOP",
    "LOW_PRIORITY",
    "OR",
    "IGNORE",
    "SET",
    "WHERE",
    "TEMPORARY",
    "TEMP",
    "AND",
    "AS",
    "ON",
    "IN",
    "ALL",
    "FROM",
];

/// Statements that can hold a secret are reduced to the words before it: a verb, and a noun after it or anything.
pub(super) const SECRET_STATEMENTS: &[(&str, &[&str])] = &[
    ("CREATE", SECRET_OBJECTS),
    ("ALTER", SECRET_OBJECTS),
    ("SET", &["PASSWORD"]),
    ("CHANGE", &["MASTER", "REPLICATION"]),
    ("COPY", &[]),
    ("ATTACH", &[]),
    ("CONNECT", &[]),
    ("OPEN", &["SYMMETRIC", "MASTER"]),
    ("BACKUP", &[]),
    ("RESTORE", &[]),
    ("PRAGMA", &["KEY", "REKEY", "HEXKEY"]),
    ("START", &["REPLICA", "SLAVE", "GROUP_REPLICATION"]),
];

/// Objects whose definition can hold a password, a key or a connection string.
const SECRET_OBJECTS: &[&str] = &[
    "USER",
    "ROLE",
    "LOGIN",
    "SECRET",
    "SERVER",
    "CONNECTION",
    "SUBSCRIPTION",
    "CREDENTIAL",
    "LINK",
    "KEY",
    "STAGE",
    "INTEGRATION",
    "CATALOG",
    "COLLECTION",
    "DICTIONARY",
    "ACCOUNT",
    "GROUP",
    "CERTIFICATE",
    "PROFILE",
    "ENDPOINT",
    "WRAPPER",
];

/// Words that may stand between such a verb and its object.
pub(super) const OBJECT_FILLERS: &[&str] = &[
    "OR",
    "REPLACE",
    "IF",
    "NOT",
    "EXISTS",
    "PUBLIC",
    "SHARED",
    "TEMPORARY",
    "TEMP",
    "PERSISTENT",
    "FOREIGN",
    "EXTERNAL",
    "DATABASE",
    "SCOPED",
    "NAMED",
    "STORAGE",
    "SECURITY",
    "API",
    "NOTIFICATION",
    "SYMMETRIC",
    "ASYMMETRIC",
    "MASTER",
    "APPLICATION",
    "SERVER",
    "GLOBAL",
    "LOCAL",
    "DATA",
    "COLUMN",
    "ENCRYPTION",
];
