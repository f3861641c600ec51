//! The restricted store: every trace id resolves to its complete diagnostics.
//!
//! It is append-only: rows are never changed, and only leave by age or when the store is full, oldest first. Whoever
//! reads it sees redacted driver messages, so the file is its owner's alone.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

/// How much is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bounds {
    /// The most bytes of diagnostics.
    pub bytes: i64,
    /// The greatest age in milliseconds.
    pub age_ms: i64,
}

impl Default for Bounds {
    /// 64 MiB and 30 days.
    fn default() -> Bounds {
        Bounds { bytes: 64 << 20, age_ms: 30 * 86_400_000 }
    }
}

/// Why the store did not answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened.
    #[error("the file cannot be opened: {0}")]
    File(#[from] io::Error),
    /// SQLite's own error.
    #[error("the store failed: {0}")]
    Store(#[from] rusqlite::Error),
}

/// One diagnostic as it was recorded.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// When, in milliseconds since the Unix epoch.
    pub recorded_ms: i64,
    /// The diagnostic, as JSON.
    pub diagnostic: String,
}

impl Entry {
    /// `{"recorded_ms", "diagnostic"}`.
    pub fn to_json(&self) -> String {
        format!(r#"{{"recorded_ms":{},"diagnostic":{}}}"#, self.recorded_ms, self.diagnostic)
    }
}

/// The store.
#[derive(Debug)]
pub struct Diagnostics {
    connection: Connection,
    bounds: Bounds,
}

/// The number of rows that leave at a time when the store is full.
const BATCH: u32 = 16;

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA busy_timeout = 2000;
    CREATE TABLE IF NOT EXISTS diagnostics (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        trace_id TEXT NOT NULL,
        recorded_ms INTEGER NOT NULL,
        diagnostic TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS diagnostics_trace ON diagnostics (trace_id);
    CREATE INDEX IF NOT EXISTS diagnostics_age ON diagnostics (recorded_ms);
    CREATE TABLE IF NOT EXISTS diagnostics_size (bytes INTEGER NOT NULL);
    INSERT INTO diagnostics_size SELECT 0 WHERE NOT EXISTS (SELECT * FROM diagnostics_size);
    CREATE TRIGGER IF NOT EXISTS diagnostics_added AFTER INSERT ON diagnostics BEGIN
        UPDATE diagnostics_size SET bytes = bytes + length(CAST(new.diagnostic AS BLOB)); END;
    CREATE TRIGGER IF NOT EXISTS diagnostics_left AFTER DELETE ON diagnostics BEGIN
        UPDATE diagnostics_size SET bytes = bytes - length(CAST(old.diagnostic AS BLOB)); END;
    CREATE TRIGGER IF NOT EXISTS diagnostics_kept BEFORE UPDATE ON diagnostics BEGIN
        SELECT RAISE(ABORT, 'diagnostics are append-only'); END;
";

impl Diagnostics {
    /// Opens the store, and makes it where it is missing, for its owner alone.
    pub fn open(path: &Path, bounds: Bounds) -> Result<Diagnostics, Error> {
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        let connection = Connection::open(path)?;
        connection.execute_batch(SCHEMA)?;
        Ok(Diagnostics { connection, bounds })
    }

    /// Opens a store that is there, for reading what its host has written.
    pub fn open_existing(path: &Path) -> Result<Diagnostics, Error> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        Ok(Diagnostics { connection, bounds: Bounds::default() })
    }

    /// Records a diagnostic under its trace id, and lets go what is too old or too much.
    pub fn append(&mut self, trace_id: &str, diagnostic: &str, now_ms: i64) -> Result<(), Error> {
        let transaction = self.connection.transaction()?;
        transaction
            .prepare_cached(
                "INSERT INTO diagnostics (trace_id, recorded_ms, diagnostic) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![trace_id, now_ms, diagnostic])?;
        transaction
            .prepare_cached("DELETE FROM diagnostics WHERE recorded_ms < ?1")?
            .execute(params![now_ms.saturating_sub(self.bounds.age_ms)])?;
        while transaction
            .prepare_cached("SELECT bytes FROM diagnostics_size")?
            .query_row((), |row| row.get::<_, i64>(0))?
            > self.bounds.bytes
        {
            transaction
                .prepare_cached(
                    "DELETE FROM diagnostics WHERE id IN (SELECT id FROM diagnostics ORDER BY id LIMIT ?1)",
                )?
                .execute(params![BATCH])?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// The diagnostics of a trace id, oldest first: one an attempt.
    pub fn find(&self, trace_id: &str) -> Result<Vec<Entry>, Error> {
        let mut statement = self.connection.prepare_cached(
            "SELECT recorded_ms, diagnostic FROM diagnostics WHERE trace_id = ?1 ORDER BY id",
        )?;
        let entries = statement.query_map(params![trace_id], |row| {
            Ok(Entry { recorded_ms: row.get(0)?, diagnostic: row.get(1)? })
        })?;
        Ok(entries.collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn store(bounds: Bounds) -> (tempfile::TempDir, Diagnostics) {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let store =
            Diagnostics::open(&folder.path().join("diagnostics.db"), bounds).expect("the store opens");
        (folder, store)
    }

    fn texts(store: &Diagnostics, trace_id: &str) -> Vec<String> {
        let entries = store.find(trace_id).expect("the store answers");
        entries.into_iter().map(|entry| entry.diagnostic).collect()
    }

    #[test]
    fn a_trace_id_resolves_to_its_diagnostics_in_their_order() {
        let (folder, mut store) = store(Bounds::default());
        for (trace_id, text, now_ms) in [("t-1", "first", 1), ("t-2", "other", 2), ("t-1", "second", 3)] {
            store.append(trace_id, text, now_ms).expect("the store takes it");
        }
        let entry = |recorded_ms, text: &str| Entry { recorded_ms, diagnostic: text.into() };
        assert_eq!(store.find("t-1").expect("the store answers"), [entry(1, "first"), entry(3, "second")]);
        assert_eq!(store.find("t-3").expect("the store answers"), []);
        let again = Diagnostics::open(&folder.path().join("diagnostics.db"), Bounds::default());
        assert_eq!(texts(&again.expect("the store opens again"), "t-2"), ["other"]);
    }

    #[test]
    fn a_recorded_diagnostic_cannot_be_changed() {
        let (_folder, mut store) = store(Bounds::default());
        store.append("t-1", "as it was", 1).expect("the store takes it");
        let changed = store.connection.execute("UPDATE diagnostics SET diagnostic = 'as it suits'", ());
        assert_eq!(changed.expect_err("a trigger forbids it").to_string(), "diagnostics are append-only");
        assert_eq!(texts(&store, "t-1"), ["as it was"]);
    }

    #[test]
    fn what_is_too_old_leaves() {
        let (_folder, mut store) = store(Bounds { age_ms: 100, ..Bounds::default() });
        store.append("t-1", "old", 0).expect("the store takes it");
        store.append("t-2", "young", 100).expect("the store takes it");
        assert_eq!((texts(&store, "t-1").len(), texts(&store, "t-2").len()), (1, 1));
        store.append("t-3", "new", 101).expect("the store takes it");
        assert_eq!((texts(&store, "t-1").len(), texts(&store, "t-2").len()), (0, 1));
    }

    #[test]
    fn a_full_store_lets_the_oldest_go() {
        let (_folder, mut store) = store(Bounds { bytes: 10_000, ..Bounds::default() });
        let text = "x".repeat(100);
        for number in 0..1_000 {
            store.append(&format!("t-{number}"), &text, number).expect("the store takes it");
        }
        let kept: Vec<i64> =
            (0..1_000).filter(|number| !texts(&store, &format!("t-{number}")).is_empty()).collect();
        assert!((85..=100).contains(&kept.len()), "{} are kept", kept.len());
        assert_eq!(kept, (1_000 - kept.len() as i64..1_000).collect::<Vec<_>>());
    }

    #[test]
    fn the_file_is_its_owners_alone() {
        let (folder, _store) = store(Bounds::default());
        let mode =
            std::fs::metadata(folder.path().join("diagnostics.db")).expect("it is there").permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }
}
