"""MariaDB: its drivers, and errors provoked on a real server."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import mysql.connector
import pymysql

from model import Bound, Case, Do, During, Many, Session
from node import Node
from servers import Server, free_port, until

SCHEMA = """
CREATE TABLE canary_orders (
    id int PRIMARY KEY, name varchar(20), amount int NOT NULL, price decimal(6, 2), day date, doc json,
    mood enum('canary_fine', 'canary_bad'), total int GENERATED ALWAYS AS (amount * 2) STORED, tiny tinyint,
    UNIQUE KEY canary_name_key (name), CONSTRAINT canary_amount_check CHECK (amount > 0));
CREATE TABLE canary_items (id int PRIMARY KEY, order_id int,
    CONSTRAINT canary_order_fk FOREIGN KEY (order_id) REFERENCES canary_orders (id));
CREATE TABLE canary_loose (id int PRIMARY KEY) ENGINE = Aria;
CREATE TABLE canary_guarded (id int);
CREATE TRIGGER canary_trigger BEFORE INSERT ON canary_guarded FOR EACH ROW
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'canary-text is not wanted';
"""

ROWS = """
SET FOREIGN_KEY_CHECKS = 0;
DELETE FROM canary_items;
DELETE FROM canary_orders;
DELETE FROM canary_loose;
DELETE FROM canary_guarded;
SET FOREIGN_KEY_CHECKS = 1;
INSERT INTO canary_orders (id, name, amount) VALUES (1, 'canary-one', 10), (2, 'canary-two', 20);
INSERT INTO canary_items (id, order_id) VALUES (1, 1);
"""

LASTING = [
    "CREATE USER canary_reader@127.0.0.1 IDENTIFIED BY 'sesame'",
    "GRANT SELECT ON canary_app.canary_orders TO canary_reader@127.0.0.1",
    "CREATE USER canary_crowd@127.0.0.1 IDENTIFIED BY 'sesame' WITH MAX_USER_CONNECTIONS 1",
    "GRANT ALL ON canary_app.* TO canary_crowd@127.0.0.1",
    "CREATE USER canary_few@127.0.0.1 IDENTIFIED BY 'sesame' WITH MAX_UPDATES_PER_HOUR 1",
    "GRANT ALL ON canary_app.* TO canary_few@127.0.0.1",
    "CREATE USER canary_writer@127.0.0.1 IDENTIFIED BY 'sesame'",
    "GRANT ALL ON canary_app.* TO canary_writer@127.0.0.1",
    "CREATE VIEW canary_view AS SELECT name, count(*) AS n FROM canary_orders GROUP BY name",
    "CREATE VIEW canary_cheap AS SELECT * FROM canary_orders WHERE amount < 100 WITH CHECK OPTION",
    "CREATE PROCEDURE canary_halves() BEGIN INSERT INTO canary_orders (id, amount) VALUES (51, 1); COMMIT; "
    "INSERT INTO canary_orders (id, amount) VALUES (51, 1); END",
    "CREATE SEQUENCE canary_numbers MINVALUE 1 MAXVALUE 2 CACHE 0",
]


class Mariadb:
    """A server, and the tester's own connection to it."""

    system = "mariadb"
    canaries = ("canary", "127.0.0.1", "tester", "sesame")
    drivers = ("pymysql", "mysql-connector-python", "mysql2")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._server = Server("nobody")
        home = self._server.home
        user = ["--user=nobody"] if os.geteuid() == 0 else []
        # What a crash leaves behind is read again: on a disk in memory that is fast.
        self._server.run(["mariadb-install-db", "--no-defaults", *user, f"--datadir={home}/data",
                          "--auth-root-authentication-method=normal", "--skip-test-db"])  # fmt: skip
        setup = home / "setup.sql"
        setup.write_text(
            "CREATE DATABASE IF NOT EXISTS canary_app;\nCREATE USER IF NOT EXISTS tester@127.0.0.1;\n"
            "GRANT ALL ON *.* TO tester@127.0.0.1 WITH GRANT OPTION;\n"
        )
        self._server.start(["/usr/sbin/mariadbd", "--no-defaults", *user, f"--datadir={home}/data",
            f"--socket={home}/socket", f"--port={self._server.port}", f"--init-file={setup}", f"--pid-file={home}/pid",
            "--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0",
            "--innodb-lock-wait-timeout=1", "--innodb-buffer-pool-size=32M", "--max-connections=20"])  # fmt: skip
        self._open()
        self._run(SCHEMA)
        for statement in LASTING:
            self.prepare(statement)

    def _open(self) -> None:
        def connects() -> bool:
            try:
                self._own = pymysql.connect(**self._where(), autocommit=True, client_flag=MANY_STATEMENTS)
            except pymysql.err.OperationalError:
                return False
            return True

        until(connects, "the server does not answer")
        self._beside: list[pymysql.Connection[Any]] = []

    def _where(self) -> dict[str, Any]:
        return {"host": "127.0.0.1", "port": self._server.port, "user": "tester", "database": "canary_app"}

    def _ask(self, statement: str) -> Any:
        with self._own.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()

    def reset(self) -> None:
        """Fresh rows: the cases leave the schema as it is, and creating it is slow."""
        self._run(ROWS)

    def _run(self, statements: str) -> None:
        with self._own.cursor() as cursor:
            cursor.execute(statements)
            while cursor.nextset():
                pass

    def prepare(self, statement: str) -> None:
        self._ask(statement)

    def connect(self, driver: str, login: Mapping[str, Any]) -> Session:
        where = {**self._where(), **login}
        opened = {"pymysql": Pymysql, "mysql-connector-python": Connector}.get(driver)
        if opened:
            return opened(where)
        timeout = where.pop("timeout", None)
        return self._node.open("mysql2", {**where, "timeout": int(timeout * 1000)} if timeout else where)

    def snapshot(self) -> object:
        tables = [row[0] for row in self._ask("SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'")]
        return [(table, self._ask(f"SELECT * FROM {table} ORDER BY 1")) for table in tables]

    def settle(self) -> None:
        """Waits until nobody else is connected, so that nothing is still on its way."""
        while self._beside:
            self._beside.pop().close()
        others = (
            "SELECT count(*) FROM information_schema.processlist "
            "WHERE id <> connection_id() AND user NOT IN ('system user', 'event_scheduler')"
        )
        until(lambda: self._ask(others) == ((0,),), "somebody stays connected")
        self._ask("SET GLOBAL read_only = OFF")

    def stop(self) -> None:
        self._own.close()
        self._server.stop()

    def wait_until_busy(self, session: Any) -> None:
        busy = (
            f"SELECT count(*) FROM information_schema.processlist WHERE id = {session.id} AND command <> 'Sleep' "
            "AND (state IN ('User sleep', 'Updating', 'Update', 'Statistics') OR state LIKE 'Waiting for%')"
        )
        until(lambda: self._ask(busy) == ((1,),), "the statement does not wait")

    # What happens to the driver's connection.

    def beside(self, *statements: str) -> None:
        """Somebody else's statements, in a transaction that stays open."""
        if not self._beside:
            self._beside.append(pymysql.connect(**self._where()))
        with self._beside[0].cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def crowd(self, user: str, count: int) -> None:
        """Others who are connected; as many as the server lets in."""
        for _ in range(count):
            try:
                self._beside.append(pymysql.connect(**{**self._where(), "user": user, "password": "sesame"}))
            except pymysql.err.OperationalError:
                return

    def kill(self, session: Any, what: str = "CONNECTION") -> None:
        self._ask(f"KILL {what} {session.id}")

    def wait_until_gone(self, session: Any) -> None:
        gone = f"SELECT count(*) FROM information_schema.processlist WHERE id = {session.id}"
        until(lambda: self._ask(gone) == ((0,),), "the session stays")

    def crash(self, _session: Any) -> None:
        """The server dies and comes back."""
        self._own.close()
        self._server.stop_now()
        self._server.start()
        self._open()


MANY_STATEMENTS = pymysql.constants.CLIENT.MULTI_STATEMENTS


class Pymysql:
    """PyMySQL."""

    def __init__(self, login: dict[str, Any]) -> None:
        login["read_timeout"] = login.pop("timeout", None)
        self._connection = pymysql.connect(**login, autocommit=True, client_flag=MANY_STATEMENTS)
        self.id = self._connection.thread_id()

    def execute(self, statement: str, parameters: Sequence[Any] | None = None) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement.replace("?", "%s") if parameters else statement, parameters)
            while cursor.nextset():
                pass

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s"), rows)

    def close(self) -> None:
        self._connection.close()


class Connector:
    """mysql-connector-python, in its pure form."""

    def __init__(self, login: dict[str, Any]) -> None:
        timeout = login.pop("timeout", None)
        self._connection = mysql.connector.connect(**login, autocommit=True, use_pure=True, read_timeout=timeout)
        self.id = self._connection.connection_id

    def execute(self, statement: str, parameters: Sequence[Any] | None = None) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement.replace("?", "%s") if parameters else statement, parameters or ())
            cursor.fetchall()
            while cursor.nextset():
                cursor.fetchall()

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s"), rows)

    def close(self) -> None:
        self._connection.shutdown()


def _insert(columns: str, values: str) -> str:
    return f"INSERT INTO canary_orders ({columns}) VALUES ({values})"


INSERT = _insert("id, name, amount", "11, 'canary-new', 5")
TWICE = _insert("id, amount", "1, 5")
SLOW = "INSERT INTO canary_orders (id, amount) SELECT 12, 5 + SLEEP(60)"
LOCKED = "SELECT * FROM canary_orders WHERE id = 1 FOR UPDATE"
READER = {"user": "canary_reader", "password": "sesame"}

CASES = [
    Case("unique key", "UNIQUE_VIOLATION", [_insert("id, name, amount", "11, 'canary-one', 5")]),
    Case("primary key in a transaction", "UNIQUE_VIOLATION", ["BEGIN", INSERT, TWICE]),
    Case("foreign key", "FK_VIOLATION", ["INSERT INTO canary_items (id, order_id) VALUES (9, 777)"]),
    Case("foreign key of a parent", "FK_VIOLATION", ["DELETE FROM canary_orders WHERE id = 1"]),
    Case("check", "CHECK_VIOLATION", [_insert("id, amount", "11, -5")]),
    Case("not null", "NULL_NOT_ALLOWED", [_insert("id, amount", "11, NULL")]),
    Case("no default", "NULL_NOT_ALLOWED MISSING_ARGUMENT CONTRACT_BROKEN", [_insert("id, name", "11, 'canary-x'")]),
    Case("view with check option", "CHECK_VIOLATION", ["INSERT INTO canary_cheap (id, amount) VALUES (11, 500)"]),
    Case("several rows, one of them twice", "UNIQUE_VIOLATION",
         ["INSERT INTO canary_orders (id, amount) VALUES (11, 1), (12, 1), (1, 1)"], unit="many"),
    Case("several rows of a table without transactions", "UNIQUE_VIOLATION PARTIAL_OUTCOME",
         ["INSERT INTO canary_loose VALUES (11), (12), (11)"], unit="batch", is_open=True),
    Case("text for a number", "INVALID_FORMAT INVALID_ARGUMENT", [_insert("id, amount", "11, 'canary-text'")]),
    Case("a parameter for a number", "INVALID_FORMAT INVALID_ARGUMENT",
         [Bound("INSERT INTO canary_orders (id, amount) VALUES (11, ?)", ["canary-text"])]),
    Case("no date", "INVALID_FORMAT INVALID_ARGUMENT", [_insert("id, amount, day", "11, 5, 'canary-day'")]),
    Case("integer out of range", "OUT_OF_RANGE", [_insert("id, amount", "11, 3000000000")]),
    Case("tiny integer out of range", "OUT_OF_RANGE", [_insert("id, amount, tiny", "11, 5, 7391")]),
    Case("decimal out of range", "OUT_OF_RANGE", [_insert("id, amount, price", "11, 5, 123456.78")]),
    Case("bigint overflow", "OUT_OF_RANGE", ["UPDATE canary_orders SET amount = 9223372036854775807 + id"], unit="many"),
    Case("division by zero", "OUT_OF_RANGE INVALID_ARGUMENT",
         ["SET sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO'",
          "UPDATE canary_orders SET amount = amount / (id - id)"], unit="many"),
    Case("value too long", "VALUE_TOO_LONG", [_insert("id, name, amount", "11, repeat('canary', 9), 5")]),
    Case("no JSON", "INVALID_FORMAT CHECK_VIOLATION", [_insert("id, amount, doc", "11, 5, '{canary'")]),
    Case("no UTF-8", "INVALID_FORMAT INVALID_ARGUMENT", [_insert("id, name, amount", "11, CONVERT(X'FF' USING utf8mb4), 5")]),
    Case("no such label", "INVALID_FORMAT UNSUPPORTED_VALUE INVALID_ARGUMENT VALUE_TOO_LONG",
         [_insert("id, amount, mood", "11, 5, 'canary_odd'")]),
    Case("no regular expression", "INVALID_FORMAT INVALID_ARGUMENT INVALID_QUERY CONTRACT_BROKEN",
         ["UPDATE canary_orders SET amount = 1 WHERE name REGEXP '[canary'"]),
    Case("subquery of several rows", "CONTRACT_BROKEN INVALID_ARGUMENT INVALID_QUERY",
         ["UPDATE canary_orders SET amount = (SELECT id FROM (SELECT id FROM canary_orders) AS canary)"]),
    Case("generated column", "CONTRACT_BROKEN INVALID_ARGUMENT", [_insert("id, amount, total", "11, 5, 10")]),
    Case("view that cannot be written", "CONTRACT_BROKEN UNSUPPORTED_OPERATION READ_ONLY",
         ["INSERT INTO canary_view VALUES ('canary', 1)"]),
    Case("trigger", "TRIGGER_REJECTED", ["INSERT INTO canary_guarded VALUES (7391)"]),
    Case("syntax", "CONTRACT_BROKEN", ["INSERT INTO canary_orders VALUE VALUES (11)"]),
    Case("missing table", "CONTRACT_BROKEN", ["INSERT INTO canary_gone VALUES (1)"]),
    Case("missing column", "CONTRACT_BROKEN", ["UPDATE canary_orders SET canary_gone = 1"]),
    Case("missing function", "CONTRACT_BROKEN NOT_AUTHORIZED", [_insert("id, amount", "11, canary_gone(5)")]),
    Case("missing procedure", "CONTRACT_BROKEN", ["CALL canary_gone()"]),
    Case("wrong number of values", "CONTRACT_BROKEN INVALID_ARGUMENT", ["INSERT INTO canary_orders (id) VALUES (1, 2)"]),
    Case("existing table", "ALREADY_EXISTS CONTRACT_BROKEN", ["CREATE TABLE canary_items (id int)"],
         unit="ddl"),
    Case("failing DDL in a transaction that it commits", "ALREADY_EXISTS CONTRACT_BROKEN PARTIAL_OUTCOME",
         ["BEGIN", INSERT, "CREATE TABLE canary_items (id int)"], unit="ddl", is_open=True),
    Case("permission denied", "NOT_AUTHORIZED", [INSERT], login=READER),
    Case("wrong password", "CREDENTIALS_REJECTED", login={**READER, "password": "canary-wrong"}),
    Case("unknown user", "CREDENTIALS_REJECTED", login={"user": "canary_nobody"}),
    Case("unknown database", "CONFIGURATION CONTRACT_BROKEN", login={"database": "canary_gone"}),
    Case("database of others", "NOT_AUTHORIZED CREDENTIALS_REJECTED", login={**READER, "database": "mysql"}),
    Case("connection refused", "CONNECTION_FAILED", login={"port": free_port()}),
    Case("unresolved host", "CONNECTION_FAILED CONFIGURATION", login={"host": "canary-host.invalid"}),
    Case("too many connections", "TOO_MANY_CONNECTIONS", [Do(lambda at, _: at.crowd("canary_writer", 30)),
         Do(lambda at, session: at.connect(session.driver, {"user": "canary_writer", "password": "sesame"}))]),
    Case("too many connections of a user", "TOO_MANY_CONNECTIONS RATE_LIMITED RESOURCE_EXHAUSTED",
         [Do(lambda at, _: at.crowd("canary_crowd", 1)),
          Do(lambda at, session: at.connect(session.driver, {"user": "canary_crowd", "password": "sesame"}))]),
    Case("too many updates of a user", "RATE_LIMITED RESOURCE_EXHAUSTED",
         [Do(lambda at, _: at.prepare("FLUSH USER_RESOURCES")),
          "UPDATE canary_orders SET amount = amount WHERE id = 1", INSERT],
         login={"user": "canary_few", "password": "sesame"}),
    Case("statement timeout", "DB_TIMEOUT", ["SET max_statement_time = 0.1", SLOW]),
    Case("client timeout", "OUTCOME_UNKNOWN", [SLOW.replace("60", "3")], login={"timeout": 1}, is_open=True),
    Case("lock timeout", "LOCK_TIMEOUT",
         [Do(lambda at, _: at.beside(LOCKED)), "UPDATE canary_orders SET amount = 7 WHERE id = 1"]),
    Case("lock timeout in a transaction", "LOCK_TIMEOUT",
         [Do(lambda at, _: at.beside(LOCKED)), "BEGIN", INSERT, "UPDATE canary_orders SET amount = 7 WHERE id = 1"]),
    Case("no wait for a lock", "LOCK_TIMEOUT",
         [Do(lambda at, _: at.beside(LOCKED)), "BEGIN", f"{LOCKED} NOWAIT"]),
    Case("deadlock", "DEADLOCK",
         [Do(lambda at, _: at.beside("SET innodb_lock_wait_timeout = 20", "UPDATE canary_guarded SET id = 3",
                                     "UPDATE canary_orders SET amount = amount WHERE id = 2",
                                     "INSERT INTO canary_items (id) VALUES (61), (62), (63)")),
          "SET innodb_lock_wait_timeout = 20", "BEGIN", "UPDATE canary_orders SET amount = 7 WHERE id = 1",
          During("UPDATE canary_orders SET amount = 7 WHERE id = 2",
                 lambda at, _: at.beside("UPDATE canary_orders SET amount = amount WHERE id = 1"))]),
    Case("session killed in a statement", "OUTCOME_UNKNOWN",
         [During(SLOW, lambda at, session: at.kill(session))], is_open=True),
    Case("session killed in a transaction", "CONNECTION_LOST DB_UNAVAILABLE CANCELLED",
         ["BEGIN", INSERT, During(SLOW, lambda at, session: at.kill(session))]),
    Case("session killed while idle in a transaction", "CONNECTION_LOST CONNECTION_FAILED DB_UNAVAILABLE",
         ["BEGIN", INSERT, Do(lambda at, session: (at.kill(session), at.wait_until_gone(session))), INSERT]),
    Case("session killed in COMMIT", "OUTCOME_UNKNOWN",
         ["BEGIN", INSERT, Do(lambda at, _: at.beside("FLUSH TABLES WITH READ LOCK")),
          During("COMMIT", lambda at, session: at.kill(session))], is_open=True),
    Case("statement cancelled", "CANCELLED DB_TIMEOUT",
         [During(SLOW, lambda at, session: at.kill(session, "QUERY"))]),
    Case("idle in a transaction for too long", "CONNECTION_LOST CONNECTION_FAILED DB_TIMEOUT DB_UNAVAILABLE",
         ["SET idle_transaction_timeout = 1", "BEGIN", INSERT,
          Do(lambda at, session: at.wait_until_gone(session)), INSERT]),
    Case("idle for too long", "OUTCOME_UNKNOWN CONNECTION_LOST CONNECTION_FAILED",
         ["SET wait_timeout = 1", Do(lambda at, session: at.wait_until_gone(session)), INSERT], is_open=True),
    Case("read-only transaction", "READ_ONLY", ["START TRANSACTION READ ONLY", INSERT]),
    Case("read-only server", "READ_ONLY", [INSERT], setup=["SET GLOBAL read_only = ON"],
         login={"user": "canary_writer", "password": "sesame"}),
    Case("change of isolation in a transaction", "TRANSACTION_STATE",
         ["BEGIN", INSERT, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"]),
    Case("locked tables", "CONTRACT_BROKEN TRANSACTION_STATE STATE_CONFLICT",
         ["LOCK TABLES canary_items WRITE", INSERT]),
    Case("statement too long", "REQUEST_TOO_LARGE VALUE_TOO_LONG OUTCOME_UNKNOWN",
         [_insert("id, name, amount", f"11, '{'c' * (17 << 20)}', 5")], is_open=True),
    Case("recursion too deep", "RESOURCE_EXHAUSTED CONTRACT_BROKEN DATABASE_ERROR PARTIAL_OUTCOME",
         ["SET max_recursive_iterations = 5", "CALL canary_deep()"],
         setup=["CREATE OR REPLACE PROCEDURE canary_deep() BEGIN CALL canary_deep(); END"], unit="procedure", is_open=True),
    Case("sequence has run out", "OUT_OF_RANGE RESOURCE_EXHAUSTED STATE_CONFLICT",
         ["INSERT INTO canary_orders (id, amount) VALUES (NEXT VALUE FOR canary_numbers, 1)"],
         setup=["SELECT SETVAL(canary_numbers, 2)"]),
    Case("temporary table is full", "RESOURCE_EXHAUSTED STORAGE_FULL",
         ["SET max_heap_table_size = 16384", "CREATE TEMPORARY TABLE canary_heap (a varchar(250)) ENGINE = MEMORY",
          "INSERT INTO canary_heap SELECT repeat('canary', 30) FROM seq_1_to_10000"], unit="many"),
    Case("prepared statement that is not there", "STATE_CONFLICT STALE_PLAN CONTRACT_BROKEN",
         ["EXECUTE canary_statement"]),
    Case("one of several rows", "UNIQUE_VIOLATION PARTIAL_OUTCOME",
         [Many("UPDATE canary_orders SET id = ? WHERE id = ?", [(31, 1), (32, 2), (32, 31)])],
         setup=["DELETE FROM canary_items"], unit="batch", is_open=True),
    Case("procedure with COMMIT", "PARTIAL_OUTCOME", ["CALL canary_halves()"], unit="procedure", is_open=True),
    Case("several statements", "PARTIAL_OUTCOME", [f"{INSERT}; {TWICE}"], unit="batch", is_open=True),
    Case("server crash in a statement", "OUTCOME_UNKNOWN",
         [During(SLOW, lambda at, session: at.crash(session))], is_open=True),
]  # fmt: skip
