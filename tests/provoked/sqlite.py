"""SQLite: its drivers, and errors provoked on real files."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from model import Bound, Case, Do, During, Many, Session
from node import Node
from servers import until

SCHEMA = """
CREATE TABLE canary_orders (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE, amount INT NOT NULL CONSTRAINT canary_amount_check CHECK (amount > 0),
    doc TEXT, total INT GENERATED ALWAYS AS (amount * 2) STORED);
CREATE TABLE canary_codes (code TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE canary_items (
    id INTEGER PRIMARY KEY, order_id INT REFERENCES canary_orders,
    later_id INT REFERENCES canary_orders DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE canary_strict (id INTEGER PRIMARY KEY, amount INT) STRICT;
CREATE TABLE canary_guarded (id INT);
CREATE VIEW canary_view AS SELECT name, count(*) AS n FROM canary_orders GROUP BY name;
CREATE TRIGGER canary_abort BEFORE INSERT ON canary_guarded WHEN NEW.id = 7391
    BEGIN SELECT RAISE(ABORT, 'canary-text is not wanted'); END;
CREATE TRIGGER canary_fail BEFORE INSERT ON canary_guarded WHEN NEW.id = 7392
    BEGIN SELECT RAISE(FAIL, 'canary-text is not wanted'); END;
CREATE TRIGGER canary_rollback BEFORE INSERT ON canary_guarded WHEN NEW.id = 7393
    BEGIN SELECT RAISE(ROLLBACK, 'canary-text is not wanted'); END;
INSERT INTO canary_orders (id, name, amount) VALUES (1, 'canary-one', 10), (2, 'canary-two', 20);
INSERT INTO canary_codes VALUES ('canary-a');
INSERT INTO canary_items (id, order_id) VALUES (1, 1);
"""


class Sqlite:
    """A folder with a fresh database for each case, and the tester's own connection to it."""

    system = "sqlite"
    canaries = ("canary", "retort-provoked")
    drivers = ("sqlite3", "apsw")

    def __init__(self, _node: Node) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="retort-provoked-"))
        (self._home / "canary-junk.db").write_bytes(b"canary " * 1000)
        self._own: sqlite3.Connection | None = None
        self._count = 0
        self._unspoilt: bytes | None = None
        self._beside: Session | None = None

    def reset(self) -> None:
        if self._own:
            self._own.close()
        self._count += 1
        self._path = self._home / f"canary-{self._count}.db"
        self._own = sqlite3.connect(self._path, isolation_level=None)
        self._own.execute("PRAGMA synchronous = OFF")
        self._own.executescript(SCHEMA)

    def prepare(self, statement: str) -> None:
        assert self._own
        self._own.executescript(statement)

    def connect(self, driver: str, login: Mapping[str, Any]) -> Session:
        path = str(login.get("path", self._path)).replace("HOME", str(self._home))
        is_read_only = bool(login.get("is_read_only"))
        # Each driver has a library of its own, and two libraries in one process do not see each other's locks.
        self._open = {"sqlite3": Sqlite3, "apsw": Apsw}[driver]
        return self._open(path, is_read_only)

    def snapshot(self) -> object:
        # A new connection: what the tester's own has cached must not count.
        reader = sqlite3.connect(self._path)
        try:
            return list(reader.iterdump())
        finally:
            reader.close()

    def settle(self) -> None:
        """Ends what others do, and takes back what was done to the file itself."""
        if self._unspoilt:
            self._path.write_bytes(self._unspoilt)
            self._unspoilt = None
        if self._beside:
            self._beside.close()
            self._beside = None

    def stop(self) -> None:
        shutil.rmtree(self._home, ignore_errors=True)

    def wait_until_busy(self, session: Any) -> None:
        until(lambda: session.is_busy.is_set(), "the statement does not run")

    def beside(self, *statements: str) -> None:
        """Somebody else's statements; a transaction stays open."""
        self._beside = self._beside or self._open(str(self._path), False)
        for statement in statements:
            self._beside.execute(statement)

    def spoil_pages(self) -> None:
        """Overwrites all pages behind the first."""
        assert self._own
        size = self._own.execute("PRAGMA page_size").fetchone()[0]
        self._own.close()
        content = self._unspoilt = self._path.read_bytes()
        self._path.write_bytes(content[:size] + b"\xff" * (len(content) - size))
        self._own = None


class Sqlite3:
    """Python's own module."""

    def __init__(self, path: str, is_read_only: bool) -> None:
        where = f"file:{path}?mode=ro" if is_read_only else path
        self.connection = sqlite3.connect(
            where, uri=is_read_only, isolation_level=None, timeout=0, check_same_thread=False
        )
        self.connection.execute("PRAGMA foreign_keys = ON")
        self.is_busy = threading.Event()

    def execute(self, statement: str, parameters: Sequence[Any] | None = None) -> None:
        self.connection.execute(statement, parameters or ()).fetchall()

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        self.connection.executemany(statement, rows)

    def script(self, statements: str) -> None:
        self.connection.executescript(statements)

    def slow(self) -> None:
        """Tells when a statement has run for some steps; it goes on until it is interrupted."""
        self.connection.set_progress_handler(lambda: self.is_busy.set() or False, 1000)

    def interrupt(self) -> None:
        self.connection.interrupt()

    def stop_soon(self) -> None:
        self.connection.set_progress_handler(lambda: 1, 1000)

    def forbid(self) -> None:
        self.connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_INSERT else 0)

    def limit(self, length: int) -> None:
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, length)

    def close(self) -> None:
        self.connection.close()


class Apsw:
    """APSW."""

    def __init__(self, path: str, is_read_only: bool) -> None:
        flags = apsw.SQLITE_OPEN_READONLY if is_read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        self.connection = apsw.Connection(path, flags=flags)
        self.connection.execute("PRAGMA foreign_keys = ON")
        self.is_busy = threading.Event()

    def execute(self, statement: str, parameters: Sequence[Any] | None = None) -> None:
        self.connection.execute(statement, parameters).fetchall()

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        self.connection.executemany(statement, rows).fetchall()

    def script(self, statements: str) -> None:
        self.connection.execute(statements).fetchall()

    def slow(self) -> None:
        """Tells when a statement has run for some steps; it goes on until it is interrupted."""
        self.connection.set_progress_handler(lambda: self.is_busy.set() or False, 1000)

    def interrupt(self) -> None:
        self.connection.interrupt()

    def stop_soon(self) -> None:
        self.connection.set_progress_handler(lambda: True, 1000)

    def forbid(self) -> None:
        denied = lambda action, *_: apsw.SQLITE_DENY if action == apsw.SQLITE_INSERT else apsw.SQLITE_OK  # noqa: E731
        self.connection.set_authorizer(denied)

    def limit(self, length: int) -> None:
        self.connection.limit(apsw.SQLITE_LIMIT_LENGTH, length)

    def close(self) -> None:
        self.connection.close()


def _insert(columns: str, values: str) -> str:
    return f"INSERT INTO canary_orders ({columns}) VALUES ({values})"


INSERT = _insert("id, name, amount", "11, 'canary-new', 5")
TWICE = _insert("id, amount", "1, 5")
NUMBERS = "WITH RECURSIVE n(x) AS (SELECT 100 UNION ALL SELECT x + 1 FROM n LIMIT {}) "
ENDLESS = NUMBERS.format(10**9) + "INSERT INTO canary_orders (id, amount) SELECT x, 1 FROM n WHERE x % 1000000 = 7"
MANY_ROWS = NUMBERS.format(10000) + "INSERT INTO canary_orders (id, amount, name) SELECT x, 1, 'canary-' || x FROM n"
CANNOT_OPEN = "CONNECTION_FAILED CONFIGURATION DB_UNAVAILABLE"

CASES = [
    Case("unique", "UNIQUE_VIOLATION", [_insert("id, name, amount", "11, 'canary-one', 5")]),
    Case("primary key in a transaction", "UNIQUE_VIOLATION", ["BEGIN", INSERT, TWICE]),
    Case("primary key of a table without row ids", "UNIQUE_VIOLATION", ["INSERT INTO canary_codes VALUES ('canary-a')"]),
    Case("several rows, one of them twice", "UNIQUE_VIOLATION",
         ["INSERT INTO canary_orders (id, amount) VALUES (11, 1), (12, 1), (1, 1)"], unit="many"),
    Case("OR FAIL keeps what it has", "UNIQUE_VIOLATION PARTIAL_OUTCOME",
         ["INSERT OR FAIL INTO canary_orders (id, amount) VALUES (11, 1), (12, 1), (1, 1)"], unit="batch", is_open=True),
    Case("OR ROLLBACK in a transaction", "UNIQUE_VIOLATION",
         ["BEGIN", INSERT, "INSERT OR ROLLBACK INTO canary_orders (id, amount) VALUES (1, 1)"]),
    Case("foreign key", "FK_VIOLATION", ["INSERT INTO canary_items (id, order_id) VALUES (9, 777)"]),
    Case("foreign key of a parent", "FK_VIOLATION", ["DELETE FROM canary_orders WHERE id = 1"]),
    Case("deferred foreign key at COMMIT", "FK_VIOLATION",
         ["BEGIN", INSERT, "INSERT INTO canary_items (id, later_id) VALUES (9, 777)", "COMMIT"]),
    Case("foreign key that fits no key", "CONTRACT_BROKEN", ["INSERT INTO canary_odd VALUES (5)"],
         setup=["CREATE TABLE canary_odd (id INT REFERENCES canary_orders (amount))"]),
    Case("check", "CHECK_VIOLATION", [_insert("id, amount", "11, -5")]),
    Case("not null", "NULL_NOT_ALLOWED", [_insert("id, name", "11, 'canary-null'")]),
    Case("text for a row id", "INVALID_FORMAT", [_insert("id, amount", "'canary-text', 5")]),
    Case("text in a strict table", "INVALID_FORMAT", ["INSERT INTO canary_strict VALUES (1, 'canary-text')"]),
    Case("no JSON", "INVALID_FORMAT", [_insert("id, amount, doc", "11, 5, json('{canary')")]),
    Case("integer overflow", "OUT_OF_RANGE", [_insert("id, amount", "11, abs(-9223372036854775807 - 1)")]),
    Case("integer too large for a parameter", "OUT_OF_RANGE INVALID_ARGUMENT OUTCOME_UNKNOWN",
         [Bound("INSERT INTO canary_orders (id, amount) VALUES (11, ?)", [1 << 70])]),
    Case("value of no type", "INVALID_ARGUMENT CONTRACT_BROKEN TOOL_FAULT INVALID_FORMAT UNSUPPORTED_VALUE OUTCOME_UNKNOWN",
         [Bound("INSERT INTO canary_orders (id, amount) VALUES (11, ?)", [object()])]),
    Case("too few parameters", "CONTRACT_BROKEN TOOL_FAULT INVALID_ARGUMENT",
         [Bound("INSERT INTO canary_orders (id, amount) VALUES (?, ?)", [1])]),
    Case("value too long", "VALUE_TOO_LONG REQUEST_TOO_LARGE",
         [Do(lambda _, session: session.limit(1000)), _insert("id, name, amount", "11, hex(zeroblob(3000)), 5")]),
    Case("generated column", "CONTRACT_BROKEN", [_insert("id, amount, total", "11, 5, 10")]),
    Case("view that cannot be written", "CONTRACT_BROKEN UNSUPPORTED_OPERATION READ_ONLY",
         ["INSERT INTO canary_view VALUES ('canary', 1)"]),
    Case("trigger", "TRIGGER_REJECTED", ["INSERT INTO canary_guarded VALUES (7391)"]),
    Case("trigger that keeps what went before", "TRIGGER_REJECTED PARTIAL_OUTCOME",
         ["INSERT INTO canary_guarded VALUES (1), (7392)"], unit="batch", is_open=True),
    Case("trigger that rolls back", "TRIGGER_REJECTED",
         ["BEGIN", INSERT, "INSERT INTO canary_guarded VALUES (7393)"]),
    Case("syntax", "CONTRACT_BROKEN", ["INSERT INTO canary_orders SET id = 11"]),
    Case("missing table", "CONTRACT_BROKEN", ["INSERT INTO canary_gone VALUES (1)"]),
    Case("missing column", "CONTRACT_BROKEN", ["UPDATE canary_orders SET canary_gone = 1"]),
    Case("missing function", "CONTRACT_BROKEN", [_insert("id, amount", "11, canary_gone(5)")]),
    Case("wrong number of values", "CONTRACT_BROKEN", ["INSERT INTO canary_orders (id) VALUES (1, 2)"]),
    Case("existing table", "ALREADY_EXISTS CONTRACT_BROKEN", ["CREATE TABLE canary_items (id int)"], unit="ddl"),
    Case("forbidden", "NOT_AUTHORIZED", [Do(lambda _, session: session.forbid()), INSERT]),
    Case("read-only connection", "READ_ONLY", [INSERT], login={"is_read_only": True}),
    Case("read-only by pragma", "READ_ONLY", ["PRAGMA query_only = ON", INSERT]),
    Case("no such folder", CANNOT_OPEN, login={"path": "/nowhere/canary.db"}),
    Case("no database", "CONFIGURATION DATA_CORRUPTED CONTRACT_BROKEN", [INSERT], login={"path": "HOME/canary-junk.db"}),
    Case("corrupted pages", "DATA_CORRUPTED OUTCOME_UNKNOWN", [Do(lambda at, _: at.spoil_pages()), INSERT], is_open=True),
    Case("locked", "LOCK_TIMEOUT", [Do(lambda at, _: at.beside("BEGIN IMMEDIATE")), INSERT]),
    Case("locked in a transaction", "LOCK_TIMEOUT", [Do(lambda at, _: at.beside("BEGIN EXCLUSIVE")), "BEGIN", INSERT]),
    Case("locked at COMMIT by a reader", "LOCK_TIMEOUT OUTCOME_UNKNOWN",
         ["BEGIN", INSERT, Do(lambda at, _: at.beside("BEGIN", "SELECT * FROM canary_orders")), "COMMIT"], is_open=True),
    Case("snapshot is too old", "LOCK_TIMEOUT SERIALIZATION_FAILURE",
         ["PRAGMA journal_mode = WAL", "BEGIN", "SELECT * FROM canary_orders",
          Do(lambda at, _: at.beside("INSERT INTO canary_codes VALUES ('x')", "DELETE FROM canary_codes WHERE code = 'x'")),
          INSERT]),
    Case("disk full", "STORAGE_FULL", ["PRAGMA max_page_count = 1", MANY_ROWS], unit="many"),
    Case("disk full in a transaction", "STORAGE_FULL", ["PRAGMA max_page_count = 1", "BEGIN", INSERT, MANY_ROWS]),
    Case("interrupted", "CANCELLED", [Do(lambda _, session: session.slow()),
         During(ENDLESS, lambda _, session: session.interrupt())]),
    Case("interrupted in a transaction", "CANCELLED", ["BEGIN", INSERT, Do(lambda _, session: session.slow()),
         During(ENDLESS, lambda _, session: session.interrupt())]),
    Case("stopped by a handler", "CANCELLED", [Do(lambda _, session: session.stop_soon()), ENDLESS]),
    Case("transaction in a transaction", "TRANSACTION_STATE CONTRACT_BROKEN", ["BEGIN", INSERT, "BEGIN"]),
    Case("COMMIT without a transaction", "TRANSACTION_STATE CONTRACT_BROKEN OUTCOME_UNKNOWN", ["COMMIT"], is_open=True),
    Case("closed connection", "CONNECTION_FAILED CONNECTION_LOST TOOL_FAULT TRANSACTION_STATE OUTCOME_UNKNOWN",
         [Do(lambda _, session: session.close()), INSERT], is_open=True),
    Case("one of several rows", "UNIQUE_VIOLATION PARTIAL_OUTCOME",
         [Many("INSERT INTO canary_orders (id, amount) VALUES (?, ?)", [(31, 1), (32, 1), (31, 1)])],
         unit="batch", is_open=True),
]  # fmt: skip
