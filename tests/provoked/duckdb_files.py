"""DuckDB: its drivers, and errors provoked on real files."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from model import Bound, Case, Do, During, Many, Session, failed
from node import Node

SCHEMA = """
CREATE TABLE canary_orders (
    id INTEGER PRIMARY KEY, name VARCHAR UNIQUE, amount INTEGER NOT NULL CHECK (amount > 0), tiny TINYINT,
    price DECIMAL(6, 2), day DATE, doc JSON, mood ENUM ('canary_fine', 'canary_bad'), list INTEGER[3],
    total INTEGER GENERATED ALWAYS AS (amount * 2) VIRTUAL);
CREATE TABLE canary_items (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES canary_orders (id));
CREATE VIEW canary_view AS SELECT name, count(*) AS n FROM canary_orders GROUP BY name;
CREATE SEQUENCE canary_numbers MINVALUE 1 MAXVALUE 2;
INSERT INTO canary_orders (id, name, amount) VALUES (1, 'canary-one', 10), (2, 'canary-two', 20);
INSERT INTO canary_items VALUES (1, 1);
SELECT nextval('canary_numbers'), nextval('canary_numbers');
CHECKPOINT
"""

LOOK = [f"SELECT * FROM {table} ORDER BY 1" for table in ("canary_orders", "canary_items")]
LOOK.append("SELECT table_name FROM duckdb_tables() ORDER BY 1")


class Duckdb:
    """A file of its own for each case: only one process may have it open."""

    system = "duckdb"
    canaries = ("canary", "retort-provoked")
    drivers = ("duckdb", "duckdb-node")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._home = Path(tempfile.mkdtemp(prefix="retort-provoked-"))
        self._template = self._home / "canary-template.db"
        # Node's package is the older one: it cannot read what the newer one creates.
        session = node.open("duckdb-node", {"path": str(self._template)})
        session.execute(SCHEMA)
        session.close()
        (self._home / "canary-junk.db").write_bytes(b"canary " * 1000)
        self._count = 0

    def reset(self) -> None:
        self._count += 1
        self._path = self._home / f"canary-{self._count}.db"
        shutil.copy(self._template, self._path)

    def prepare(self, statement: str) -> None:
        with duckdb.connect(str(self._path)) as connection:
            connection.execute(statement)

    def connect(self, driver: str, login: Mapping[str, Any]) -> Session:
        path = str(login.get("path", self._path)).replace("HOME", str(self._home))
        settings = dict(login.get("settings", {}))
        if driver == "duckdb":
            return Python(path, settings)
        return self._node.open("duckdb-node", {"path": path, "settings": settings})

    def snapshot(self) -> object:
        # The session is closed by now, so that another process may open the file.
        with duckdb.connect(str(self._path), read_only=True) as connection:
            return [connection.execute(query).fetchall() for query in LOOK]

    def settle(self) -> None:
        """Nothing outlives its session."""

    def stop(self) -> None:
        shutil.rmtree(self._home, ignore_errors=True)

    def wait_until_busy(self, session: Any) -> None:
        """An interrupt before the statement runs would be lost, so it is repeated until the statement ends."""

    def interrupt(self, session: Any, ended: threading.Event) -> None:
        while not ended.wait(0.05):
            session.call("interrupt")


class Python:
    """DuckDB's Python package."""

    def __init__(self, path: str, settings: dict[str, Any]) -> None:
        self._connection = duckdb.connect(path, config=settings)
        self._others: list[duckdb.DuckDBPyConnection] = []

    def execute(self, statement: str, parameters: Sequence[Any] | None = None) -> None:
        self._connection.execute(statement, parameters).fetchall()

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        self._connection.executemany(statement, rows)

    def call(self, name: str, *arguments: str) -> None:
        if name == "interrupt":
            self._connection.interrupt()
            return
        other = self._connection.cursor()
        self._others.append(other)
        other.execute(*arguments).fetchall()

    def close(self) -> None:
        for connection in (*self._others, self._connection):
            connection.close()


def _insert(columns: str, values: str) -> str:
    return f"INSERT INTO canary_orders ({columns}) VALUES ({values})"


INSERT = _insert("id, name, amount", "11, 'canary-new', 5")
TWICE = _insert("id, amount", "1, 5")
ENDLESS = "INSERT INTO canary_orders (id, amount) SELECT a.range, 1 FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = -1"

CASES = [
    Case("unique", "UNIQUE_VIOLATION", [_insert("id, name, amount", "11, 'canary-one', 5")]),
    Case("primary key in a transaction", "UNIQUE_VIOLATION", ["BEGIN", INSERT, TWICE]),
    Case("several rows, one of them twice", "UNIQUE_VIOLATION",
         ["INSERT INTO canary_orders (id, amount) VALUES (11, 1), (12, 1), (1, 1)"], unit="many"),
    Case("foreign key", "FK_VIOLATION", ["INSERT INTO canary_items VALUES (9, 777)"]),
    Case("foreign key of a parent", "FK_VIOLATION", ["DELETE FROM canary_orders WHERE id = 1"]),
    Case("check", "CHECK_VIOLATION", [_insert("id, amount", "11, -5")]),
    Case("not null", "NULL_NOT_ALLOWED", [_insert("id, name", "11, 'canary-null'")]),
    Case("text for a number", "INVALID_FORMAT", [_insert("id, amount", "11, 'canary-text'")]),
    Case("a parameter for a number", "INVALID_FORMAT INVALID_ARGUMENT",
         [Bound("INSERT INTO canary_orders (id, amount) VALUES (11, $1)", ["canary-text"])]),
    Case("no date", "INVALID_FORMAT", [_insert("id, amount, day", "11, 5, 'canary-day'")]),
    Case("a day that is none", "INVALID_FORMAT OUT_OF_RANGE", [_insert("id, amount, day", "11, 5, '2026-13-45'")]),
    Case("integer out of range", "OUT_OF_RANGE", [_insert("id, amount", "11, 3000000000")]),
    Case("tiny integer out of range", "OUT_OF_RANGE", [_insert("id, amount, tiny", "11, 5, 7391")]),
    Case("decimal out of range", "OUT_OF_RANGE INVALID_FORMAT", [_insert("id, amount, price", "11, 5, 123456.78")]),
    Case("overflow", "OUT_OF_RANGE", ["UPDATE canary_orders SET amount = id * 2000000000::INTEGER"], unit="many"),
    Case("no JSON", "INVALID_FORMAT", [_insert("id, amount, doc", "11, 5, '{canary'")]),
    Case("no such label", "INVALID_FORMAT UNSUPPORTED_VALUE", [_insert("id, amount, mood", "11, 5, 'canary_odd'")]),
    Case("list of another length", "INVALID_FORMAT CONTRACT_BROKEN INVALID_ARGUMENT",
         [_insert("id, amount, list", "11, 5, [7391, 2]")]),
    Case("no UTF-8", "INVALID_FORMAT", [_insert("id, name, amount", "11, decode('\\xFF'::BLOB), 5")]),
    Case("no regular expression", "INVALID_FORMAT INVALID_ARGUMENT INVALID_QUERY CONTRACT_BROKEN",
         ["UPDATE canary_orders SET amount = 1 WHERE regexp_matches(name, '[canary')"]),
    Case("error of the statement's own", "TRIGGER_REJECTED INVALID_ARGUMENT INVALID_QUERY",
         [_insert("id, amount", "11, error('canary-text is not wanted')")]),
    Case("generated column", "CONTRACT_BROKEN", [_insert("id, amount, total", "11, 5, 10")]),
    Case("view that cannot be written", "CONTRACT_BROKEN UNSUPPORTED_OPERATION READ_ONLY",
         ["INSERT INTO canary_view VALUES ('canary', 1)"]),
    Case("syntax", "CONTRACT_BROKEN", ["INSERT INTO canary_orders SET id = 11"]),
    Case("missing table", "CONTRACT_BROKEN", ["INSERT INTO canary_gone VALUES (1)"]),
    Case("missing column", "CONTRACT_BROKEN", ["UPDATE canary_orders SET canary_gone = 1"]),
    Case("missing function", "CONTRACT_BROKEN", [_insert("id, amount", "11, canary_gone(5)")]),
    Case("wrong number of values", "CONTRACT_BROKEN", ["INSERT INTO canary_orders (id) VALUES (1, 2)"]),
    Case("too few parameters", "CONTRACT_BROKEN TOOL_FAULT INVALID_ARGUMENT",
         [Bound("INSERT INTO canary_orders (id, amount) VALUES ($1, $2)", [1])]),
    Case("existing table", "ALREADY_EXISTS CONTRACT_BROKEN", ["CREATE TABLE canary_items (id int)"], unit="ddl"),
    Case("dependent objects", "STATE_CONFLICT CONTRACT_BROKEN FK_VIOLATION", ["DROP TABLE canary_orders"], unit="ddl"),
    Case("sequence has run out", "OUT_OF_RANGE RESOURCE_EXHAUSTED STATE_CONFLICT",
         [_insert("id, amount", "nextval('canary_numbers') + 10, 1")]),
    Case("read-only", "READ_ONLY", [INSERT], login={"settings": {"access_mode": "READ_ONLY"}}),
    Case("no such folder", "CONNECTION_FAILED CONFIGURATION DB_UNAVAILABLE", login={"path": "/nowhere/canary.db"}),
    Case("no database", "CONFIGURATION DATA_CORRUPTED CONTRACT_BROKEN", login={"path": "HOME/canary-junk.db"}),
    Case("unknown setting", "CONFIGURATION CONTRACT_BROKEN", login={"settings": {"canary_setting": "1"}}),
    Case("conflict of two transactions", "SERIALIZATION_FAILURE",
         ["BEGIN", INSERT, Do(lambda _, session: session.call("beside", "BEGIN; UPDATE canary_orders SET amount = 6")),
          "UPDATE canary_orders SET amount = 7"]),
    Case("failed transaction", "TRANSACTION_STATE",
         ["BEGIN", INSERT, failed(TWICE), INSERT]),
    Case("transaction in a transaction", "TRANSACTION_STATE CONTRACT_BROKEN", ["BEGIN", INSERT, "BEGIN"]),
    Case("interrupted", "CANCELLED", [During(ENDLESS, lambda at, session: at.interrupt(session, session.ended))]),
    Case("out of memory", "RESOURCE_EXHAUSTED",
         ["SET memory_limit = '1MB'", "SET temp_directory = ''",
          "INSERT INTO canary_orders (id, amount, name) SELECT range, 1, 'canary-' || range FROM range(100, 2000000) ORDER BY hash(range)"],
         unit="many"),
    Case("one of several rows", "UNIQUE_VIOLATION PARTIAL_OUTCOME",
         [Many("INSERT INTO canary_orders (id, amount) VALUES ($1, $2)", [(31, 1), (32, 1), (31, 1)])],
         unit="batch", is_open=True),
    Case("several statements", "PARTIAL_OUTCOME UNIQUE_VIOLATION", [f"{INSERT}; {TWICE}"], unit="batch", is_open=True),
]  # fmt: skip
