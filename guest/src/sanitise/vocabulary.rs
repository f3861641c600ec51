//! The vocabulary of error messages: words that say what went wrong and never what it went wrong with.

use crate::lookup::{Words, words};

/// Is the word part of the vocabulary? Case does not matter.
pub(super) fn is_vocabulary(word: &str) -> bool {
    VOCABULARY.get(word.as_bytes()).is_some()
}

macro_rules! vocabulary {
    ($($word:literal)+) => { words!((), &[$(($word, ())),+]) };
}

#[rustfmt::skip]
static VOCABULARY: Words<()> = vocabulary! {
    "a" "abort" "aborted" "about" "above" "accept" "accepted" "access" "acquire" "acquired" "across" "action" "active" "add" "added"
    "adding" "address" "after" "again" "against" "all" "allocate" "allowed" "already" "also" "always" "ambiguous" "an" "and" "another"
    "any" "applied" "apply" "are" "argument" "arguments" "array" "as" "at" "attempt" "attempted" "attempts" "authentication"
    "authorization" "authorized" "available" "bad" "be" "because" "become" "been" "before" "began" "begin" "being" "below" "between"
    "binary" "block" "blocked" "blocks" "both" "broken" "buffer" "bulk" "busy" "but" "by" "byte" "bytes" "call" "called" "calling" "can"
    "cancel" "canceled" "canceling" "cancelled" "cannot" "cast" "catalog" "cause" "caused" "certificate" "chain" "change" "changed"
    "changes" "character" "characters" "check" "child" "client" "close" "closed" "closing" "cluster" "code" "collection" "column"
    "columns" "command" "commands" "commit" "committed" "communication" "communications" "complete" "completed" "concurrent" "concurrently" "condition"
    "conditional" "configuration" "configured" "conflict" "conflicted" "conflicts" "connect" "connected" "connecting" "connection"
    "connections" "consider" "consistency" "constraint" "constraints" "contain" "contains" "context" "conversion" "convert" "could"
    "couldn't" "crash" "crashed" "create" "created" "credentials" "current" "currently" "cursor" "data" "database" "date" "deadlock"
    "deadlocked" "deadline" "declared" "default" "deferred" "definition" "delete" "deleted" "denied" "descriptor" "destination" "detail"
    "details" "detected" "did" "didn't" "disabled" "disconnected" "disk" "distinct" "division" "do" "document" "documents" "does" "doesn't" "domain"
    "done" "down" "drop" "due" "duplicate" "duplicated" "during" "each" "element" "empty" "enabled" "encoding" "end" "ended" "entries" "entry"
    "error" "errors" "establish" "established" "exceed" "exceeded" "exceeds" "exception" "exclusion" "exclusive" "execute" "executed"
    "executing" "execution" "exist" "existing" "exists" "exit" "expected" "expired" "expression" "extension" "external" "fail" "failed" "fails" "failure" "fatal" "fetch"
    "field" "fields" "file" "files" "first" "flush" "for" "foreign" "format" "found" "from" "full" "function" "general" "given" "got" "granted"
    "group" "had" "handshake" "has" "have" "hint" "host" "if" "ignored" "illegal" "implemented" "in" "inactive" "incorrect" "index" "inner" "input"
    "insert" "inserted" "inserting" "inside" "instead" "insufficient" "integer" "integrity" "internal" "interrupted" "into" "invalid" "is" "isn't"
    "isolation" "it" "its" "join" "keep" "key" "keys" "kind" "know" "known" "large" "last" "layer" "least" "length" "level" "limit" "limits" "line" "link" "list"
    "load" "loading" "local" "lock" "locked" "locks" "log" "login" "long" "longer" "lost" "made" "make" "many" "match" "matches" "maximum"
    "may" "maybe" "mean" "memory" "message" "method" "minimum" "missing" "mode" "modification" "modified" "more" "most" "moved" "must"
    "name" "names" "near" "needed" "nested" "network" "new" "next" "no" "node" "nodes" "non" "none" "not" "null" "number" "numeric" "object" "objects"
    "occurred" "of" "off" "offset" "on" "one" "only" "open" "opened" "opening" "operation" "operations" "operator" "option" "options" "or" "order"
    "other" "out" "outside" "over" "overflow" "own" "packet" "parameter" "parameters" "parent" "parse" "parsing" "partial" "partition"
    "password" "path" "pending" "perform" "period" "permission" "permissions" "permitted" "please" "pool" "pooled" "port" "position"
    "possible" "precision" "prepared" "present" "previous" "primary" "privilege" "privileges" "probably" "procedure" "process" "processed"
    "processing" "protocol" "provided" "query" "queries" "queue" "range" "rate" "raised" "reached" "read" "reading" "readonly" "ready" "reason" "received"
    "recovery" "reference" "referenced" "references" "referencing" "refused" "rejected" "relation" "released" "remaining" "remote" "repeat"
    "replica" "request" "requested" "requests" "required" "requires" "rerun" "reserved" "reset" "resolve" "resource" "resources" "response"
    "restart" "result" "results" "retried" "retry" "retrying" "return" "returned" "returns" "role" "rollback" "rolled" "root" "row" "rows" "running"
    "same" "schema" "script" "see" "seconds" "security" "select" "selected" "selection" "send" "sent" "sequence" "serialization" "serialize" "serializable" "server"
    "servers" "service" "session" "set" "severity" "shut" "shutdown" "shutting" "since" "size" "slots" "slow" "snapshot" "so" "socket"
    "some" "source" "space" "specified" "start" "started" "starting" "state" "statement" "statements" "status" "step" "still" "stopped" "storage"
    "string" "subquery" "such" "supported" "suspended" "syntax" "system" "table" "tables" "take" "target" "temporarily" "temporary"
    "terminated" "terminating" "text" "than" "that" "the" "their" "them" "then" "there" "these" "they" "this" "thread" "through" "throughput" "throw" "time"
    "timed" "timeout" "times" "to" "token" "too" "transaction" "transactions" "transient" "tried" "trigger" "truncated" "try" "trying" "type" "types"
    "unable" "unavailable" "under" "undefined" "unexpected" "unexpectedly" "unique" "unknown" "unmatched" "unrecognized" "unsupported"
    "until" "up" "update" "updated" "updating" "used" "user" "using" "valid" "validation" "value" "values" "variable" "version" "victim" "view" "violate"
    "violated" "violates" "violation" "wait" "waiting" "waits" "want" "warning" "was" "wasn't" "we" "were" "what" "when" "where" "which" "while" "will"
    "with" "within" "without" "won't" "write" "writing" "wrong" "yes" "yet" "you" "your" "zero"
    "autocommit" "backend" "bind" "bound" "budget" "cached" "chosen" "decimal" "deletes" "duration" "elapsed" "equal" "established" "failover" "hashing" "held"
    "holding" "idle" "inserts" "iteration" "ms" "milliseconds" "nothing" "ok" "overlap" "overlaps" "page" "plan" "primary" "quota" "quorum" "replication"
    "responses" "runtime" "safe" "scale" "serial" "slave" "ssl" "stale" "standby" "tls" "tcp" "timestamp" "tuple" "unlock" "updates" "upstream" "via" "writable"
    "sql" "sqlstate" "code:" "error:" "mysql" "mariadb" "postgresql" "postgres" "oracle" "sqlite" "duckdb" "mongodb" "redis" "cassandra" "clickhouse" "snowflake"
    "bigquery" "dynamodb" "elasticsearch" "odbc" "jdbc" "driver" "microsoft" "db" "tns" "listener" "msg" "state" "lib" "info" "help" "visit" "manual" "right"
    "correct" "corresponds" "check" "contact" "administrator" "superuser" "database's" "that's" "index's" "hold" "exhausted" "capacity" "throttled" "throttling"
};
