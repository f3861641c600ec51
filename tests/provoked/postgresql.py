"""PostgreSQL: its drivers, and errors provoked on a real server."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg
import pg8000.dbapi
import psycopg

from model import BOUND_SECONDS, Bound, Case, Condition, Do, During, Many, Session, failed
from node import Node
from servers import Server, free_port, postgres_programs, until

SCHEMA = """
CREATE SCHEMA canary_app;
CREATE TYPE canary_mood AS ENUM ('canary_fine', 'canary_bad');
CREATE TABLE canary_orders (
    id int CONSTRAINT canary_orders_key PRIMARY KEY, name varchar(20) CONSTRAINT canary_name_key UNIQUE,
    amount int CONSTRAINT canary_amount_null NOT NULL CONSTRAINT canary_amount_check CHECK (amount > 0),
    price numeric(6, 2), day date, doc jsonb, mood canary_mood, total int GENERATED ALWAYS AS (amount * 2) STORED);
CREATE TABLE canary_items (
    id int PRIMARY KEY, order_id int CONSTRAINT canary_order_fk REFERENCES canary_orders,
    later_id int CONSTRAINT canary_later_fk REFERENCES canary_orders DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE canary_slots (during int4range, CONSTRAINT canary_slot_excl EXCLUDE USING gist (during WITH &&));
CREATE TABLE canary_guarded (id int);
CREATE VIEW canary_view AS SELECT name, count(*) AS n FROM canary_orders GROUP BY name;
CREATE VIEW canary_cheap AS SELECT * FROM canary_orders WHERE amount < 100 WITH CHECK OPTION;
CREATE FUNCTION canary_guard() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'canary-text % is not wanted', NEW.id; END $$;
CREATE TRIGGER canary_trigger BEFORE INSERT ON canary_guarded FOR EACH ROW EXECUTE FUNCTION canary_guard();
CREATE PROCEDURE canary_halves() LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO canary_orders (id, amount) VALUES (51, 1); COMMIT;
    INSERT INTO canary_orders (id, amount) VALUES (51, 1); END $$;
GRANT USAGE ON SCHEMA canary_app TO canary_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA canary_app TO canary_reader;
"""

# The cases leave the schema as it is, but for the index of one: creating it anew would be slow.
ROWS = """
DROP INDEX IF EXISTS canary_index;
DELETE FROM canary_items;
DELETE FROM canary_orders;
DELETE FROM canary_slots;
DELETE FROM canary_guarded;
INSERT INTO canary_orders (id, name, amount) VALUES (1, 'canary-one', 10), (2, 'canary-two', 20);
INSERT INTO canary_items (id, order_id) VALUES (1, 1);
"""

RELATIONS = """SELECT c.relname, c.relkind::text, i.indisvalid FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
    WHERE c.relnamespace = 'canary_app'::regnamespace ORDER BY 1"""


class Postgresql:
    """A server, and the tester's own connection to it."""

    system = "postgresql"
    canaries = ("canary", "127.0.0.1", "tester", "sesame")
    drivers = ("psycopg", "asyncpg", "pg8000", "node-postgres")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._server = Server("postgres")
        programs, data = postgres_programs(), self._server.home / "data"
        self._server.run(
            [str(programs / "initdb"), "-D", str(data), "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
        )
        rules = (data / "pg_hba.conf").read_text()
        (data / "pg_hba.conf").write_text(f"host all canary_reader 127.0.0.1/32 scram-sha-256\n{rules}")
        settings = ["fsync=off", "listen_addresses=127.0.0.1", f"unix_socket_directories={self._server.home}"]
        settings += [f"port={self._server.port}", "deadlock_timeout=50ms", "autovacuum=off", "lc_messages=C"]
        options = [word for setting in settings for word in ("-c", setting)]
        self._server.start([str(programs / "postgres"), "-D", str(data), *options])
        self._open()
        self.prepare("CREATE ROLE canary_reader LOGIN PASSWORD 'sesame'")
        self.prepare("CREATE ROLE canary_crowd LOGIN CONNECTION LIMIT 0")
        self.prepare("ALTER ROLE ALL SET search_path = canary_app")
        self.prepare(SCHEMA)

    def _open(self) -> None:
        def connects() -> bool:
            try:
                # What is asked for here must not wait for a standby.
                options = "-c synchronous_commit=local -c search_path=canary_app"
                self._own = psycopg.connect(**self._where(), autocommit=True, options=options)
            except psycopg.OperationalError:
                return False
            return True

        until(connects, "the server does not answer")
        self._beside: psycopg.Connection[Any] | None = None

    def _where(self) -> dict[str, Any]:
        return {"host": "127.0.0.1", "port": self._server.port, "user": "tester", "dbname": "postgres"}

    def reset(self) -> None:
        self._own.execute(ROWS)

    def prepare(self, statement: str) -> None:
        self._own.execute(statement)

    def connect(self, driver: str, login: Mapping[str, Any]) -> Session:
        where = {**self._where(), "database": "postgres", **login}
        where.pop("dbname")
        opened = {"psycopg": Psycopg, "asyncpg": Asyncpg, "pg8000": Pg8000}.get(driver)
        return opened(where) if opened else self._node.open("pg", _for_node(where))

    def snapshot(self) -> object:
        tables = ("canary_orders", "canary_items", "canary_slots", "canary_guarded")
        rows = [self._own.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in tables]
        return rows, self._own.execute(RELATIONS).fetchall()

    def settle(self) -> None:
        """Waits until nobody else is connected, so that nothing is still on its way."""
        if self._beside is not None:
            self._beside.close()
            self._beside = None
        others = (
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        until(lambda: self._own.execute(others).fetchone() == (0,), "somebody stays connected")
        standby = self._own.execute("SHOW synchronous_standby_names").fetchone()
        if standby != ("",):
            self._standby("")

    def stop(self) -> None:
        self._own.close()
        self._server.stop(signal.SIGINT)

    def wait_until_busy(self, session: Any) -> None:
        busy = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND state = 'active' AND wait_event IS NOT NULL"
        until(lambda: self._own.execute(busy, [session.id]).fetchone() == (1,), "the statement does not wait")

    # What happens to the driver's connection.

    def beside(self, statement: str) -> None:
        """Somebody else's statement, in a transaction that stays open."""
        if self._beside is None:
            self._beside = psycopg.connect(**self._where(), options="-c search_path=canary_app")
        self._beside.execute(statement)

    def end_beside(self) -> None:
        """Somebody else's COMMIT."""
        assert self._beside
        self._beside.commit()

    def terminate(self, session: Any) -> None:
        self._own.execute("SELECT pg_terminate_backend(%s)", [session.id])

    def cancel(self, session: Any) -> None:
        self._own.execute("SELECT pg_cancel_backend(%s)", [session.id])

    def wait_until_gone(self, session: Any) -> None:
        gone = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
        until(lambda: self._own.execute(gone, [session.id]).fetchone() == (0,), "the session stays")

    def _standby(self, name: str) -> None:
        self._own.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
        self._own.execute("SELECT pg_reload_conf()")
        until(lambda: self._own.execute("SHOW synchronous_standby_names").fetchone() == (name,), "no reload")

    def await_a_standby(self, _session: Any) -> None:
        """From now on a COMMIT waits for a standby that never comes."""
        self._standby("canary_standby")

    def crash(self, _session: Any) -> None:
        """The server dies and comes back."""
        self._own.close()
        self._server.stop_now(signal.SIGQUIT)
        self._server.start()
        self._open()


def _for_node(where: Mapping[str, Any]) -> dict[str, Any]:
    options = dict(where)
    if "timeout" in options:
        options["query_timeout"] = int(options.pop("timeout") * 1000)
    return options


class Psycopg:
    """psycopg 3. It has no timeout of its own for statements."""

    def __init__(self, login: dict[str, Any]) -> None:
        login["dbname"] = login.pop("database")
        self._connection = psycopg.connect(**login, autocommit=True)
        self.id = self._connection.info.backend_pid

    def execute(self, statement: str, parameters: Sequence[Any] | None = None) -> None:
        numbered = statement
        for number in range(len(parameters or ()), 0, -1):
            numbered = numbered.replace(f"${number}", "%s")
        status = self._connection.execute(numbered, parameters).statusmessage
        if statement == "COMMIT" and status == "ROLLBACK":
            raise Condition("COMMIT_ROLLED_BACK")

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(statement.replace("$1", "%s").replace("$2", "%s"), rows)

    def close(self) -> None:
        self._connection.close()


class Asyncpg:
    """asyncpg, on an event loop of its own."""

    def __init__(self, login: dict[str, Any]) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        login["command_timeout"] = login.pop("timeout", None)
        self._connection = self._run(asyncpg.connect(**login))
        self.id = self._connection.get_server_pid()

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(BOUND_SECONDS)

    def execute(self, statement: str, parameters: Sequence[Any] | None = None) -> None:
        status = self._run(self._connection.execute(statement, *(parameters or ())))
        if statement == "COMMIT" and status == "ROLLBACK":
            raise Condition("COMMIT_ROLLED_BACK")

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        self._run(self._connection.executemany(statement, rows))

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._connection.terminate)


class Pg8000:
    """pg8000's DB-API."""

    def __init__(self, login: dict[str, Any]) -> None:
        self._connection = pg8000.dbapi.connect(**login)
        self._connection.autocommit = True
        self._cursor = self._connection.cursor()
        self._cursor.execute("SELECT pg_backend_pid()")
        self.id = self._cursor.fetchone()[0]

    def execute(self, statement: str, parameters: Sequence[Any] | None = None) -> None:
        status = self._connection._transaction_status
        numbered = statement
        for number in range(len(parameters or ()), 0, -1):
            numbered = numbered.replace(f"${number}", "%s")
        if parameters is None:
            self._connection.execute_simple(statement)
        else:
            self._cursor.execute(numbered, parameters)
        if statement == "COMMIT" and status == b"E":
            raise Condition("COMMIT_ROLLED_BACK")

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        self._cursor.executemany(statement.replace("$1", "%s").replace("$2", "%s"), rows)

    def close(self) -> None:
        self._connection.close()


def _insert(columns: str, values: str) -> str:
    return f"INSERT INTO canary_orders ({columns}) VALUES ({values})"


INSERT = _insert("id, name, amount", "11, 'canary-new', 5")
TWICE = _insert("id, amount", "1, 5")
SLOW = "INSERT INTO canary_orders (id, amount) SELECT 12, 5 FROM pg_sleep(60)"
READER = {"user": "canary_reader", "password": "sesame"}
SERIALIZABLE = "BEGIN ISOLATION LEVEL SERIALIZABLE"

CASES = [
    Case("unique constraint", "UNIQUE_VIOLATION", [_insert("id, name, amount", "11, 'canary-one', 5")]),
    Case("primary key in a transaction", "UNIQUE_VIOLATION", ["BEGIN", INSERT, TWICE]),
    Case("foreign key", "FK_VIOLATION", ["INSERT INTO canary_items (id, order_id) VALUES (9, 777)"]),
    Case("foreign key of a parent", "FK_VIOLATION", ["DELETE FROM canary_orders WHERE id = 1"]),
    Case("deferred foreign key at COMMIT", "FK_VIOLATION",
         ["BEGIN", INSERT, "INSERT INTO canary_items (id, later_id) VALUES (9, 777)", "COMMIT"]),
    Case("check", "CHECK_VIOLATION", [_insert("id, amount", "11, -5")]),
    Case("not null", "NULL_NOT_ALLOWED", [_insert("id, name", "11, 'canary-null'")]),
    Case("exclusion", "EXCLUSION_VIOLATION", ["INSERT INTO canary_slots VALUES ('[4,9)')"],
         setup=["INSERT INTO canary_slots VALUES ('[1,5)')"]),
    Case("view with check option", "CHECK_VIOLATION", ["INSERT INTO canary_cheap (id, amount) VALUES (11, 500)"]),
    Case("several rows, one of them twice", "UNIQUE_VIOLATION",
         ["INSERT INTO canary_orders (id, amount) VALUES (11, 1), (12, 1), (1, 1)"], unit="many"),
    Case("text for a number", "INVALID_FORMAT", [_insert("id, amount", "11, 'canary-text'")]),
    Case("a parameter for a number", "INVALID_FORMAT INVALID_ARGUMENT",
         [Bound("INSERT INTO canary_orders (id, amount) VALUES (11, $1)", ["canary-text"])]),
    Case("no date", "INVALID_FORMAT", [_insert("id, amount, day", "11, 5, 'canary-day'")]),
    Case("a day that is none", "OUT_OF_RANGE INVALID_FORMAT", [_insert("id, amount, day", "11, 5, '2026-13-45'")]),
    Case("integer overflow", "OUT_OF_RANGE", [_insert("id, amount", "11, 3000000000")]),
    Case("numeric overflow", "OUT_OF_RANGE", [_insert("id, amount, price", "11, 5, 123456.78")]),
    Case("division by zero", "OUT_OF_RANGE INVALID_ARGUMENT",
         ["UPDATE canary_orders SET amount = amount / (id - id)"], unit="many"),
    Case("value too long", "VALUE_TOO_LONG", [_insert("id, name, amount", "11, repeat('canary', 9), 5")]),
    Case("no JSON", "INVALID_FORMAT", [_insert("id, amount, doc", "11, 5, '{canary'")]),
    Case("zero character in JSON", "INVALID_FORMAT", [_insert("id, amount, doc", "11, 5, '\"canary\\u0000\"'")]),
    Case("no UTF-8", "INVALID_FORMAT",
         [_insert("id, name, amount", "11, convert_from('\\xff'::bytea, 'UTF8'), 5")]),
    Case("no such label", "INVALID_FORMAT UNSUPPORTED_VALUE", [_insert("id, amount, mood", "11, 5, 'canary_odd'")]),
    Case("no regular expression", "INVALID_FORMAT INVALID_ARGUMENT",
         ["UPDATE canary_orders SET amount = 1 WHERE name ~ '[canary'"]),
    Case("generated column", "CONTRACT_BROKEN INVALID_ARGUMENT", [_insert("id, amount, total", "11, 5, 10")]),
    Case("view that cannot be written", "CONTRACT_BROKEN UNSUPPORTED_OPERATION STATE_CONFLICT READ_ONLY",
         ["INSERT INTO canary_view VALUES ('canary', 1)"]),
    Case("trigger", "TRIGGER_REJECTED", ["INSERT INTO canary_guarded VALUES (7391)"]),
    Case("syntax", "CONTRACT_BROKEN", ["INSERT INTO canary_orders SET id = 11"]),
    Case("missing table", "CONTRACT_BROKEN", ["INSERT INTO canary_gone VALUES (1)"]),
    Case("missing column", "CONTRACT_BROKEN", ["UPDATE canary_orders SET canary_gone = 1"]),
    Case("missing function", "CONTRACT_BROKEN", [_insert("id, amount", "11, canary_gone(5)")]),
    Case("ambiguous column", "CONTRACT_BROKEN",
         ["UPDATE canary_guarded SET id = id FROM canary_orders"]),
    Case("wrong type", "CONTRACT_BROKEN INVALID_FORMAT INVALID_ARGUMENT", ["UPDATE canary_orders SET amount = day"]),
    Case("existing table", "ALREADY_EXISTS CONTRACT_BROKEN", ["CREATE TABLE canary_items (id int)"], unit="ddl"),
    Case("dependent objects", "STATE_CONFLICT", ["DROP TABLE canary_orders"], unit="ddl"),
    Case("index on duplicates, concurrently", "UNIQUE_VIOLATION PARTIAL_OUTCOME",
         ["CREATE UNIQUE INDEX CONCURRENTLY canary_index ON canary_guarded (id)"],
         setup=["SET session_replication_role = replica", "INSERT INTO canary_guarded VALUES (1), (1)",
                "RESET session_replication_role"],
         unit="ddl", is_open=True),
    Case("permission denied", "NOT_AUTHORIZED", [INSERT], login=READER),
    Case("wrong password", "CREDENTIALS_REJECTED", login={**READER, "password": "canary-wrong"}),
    Case("unknown role", "CREDENTIALS_REJECTED", login={"user": "canary_nobody"}),
    Case("unknown database", "CONFIGURATION CONTRACT_BROKEN", login={"database": "canary_gone"}),
    Case("connection refused", "CONNECTION_FAILED", login={"port": free_port()}),
    Case("unresolved host", "CONNECTION_FAILED CONFIGURATION", login={"host": "canary-host.invalid"}),
    Case("too many connections", "TOO_MANY_CONNECTIONS", login={"user": "canary_crowd"}),
    Case("statement timeout", "DB_TIMEOUT", ["SET statement_timeout = 60", SLOW]),
    Case("client timeout", "OUTCOME_UNKNOWN", [SLOW.replace("60", "1")], login={"timeout": 0.3}, is_open=True,
         drivers=["asyncpg", "pg8000", "node-postgres"]),
    Case("lock timeout", "LOCK_TIMEOUT",
         [Do(lambda at, _: at.beside("UPDATE canary_orders SET amount = 6 WHERE id = 1")), "SET lock_timeout = 60",
          "UPDATE canary_orders SET amount = 7 WHERE id = 1"]),
    Case("no wait for a lock", "LOCK_TIMEOUT",
         [Do(lambda at, _: at.beside("LOCK TABLE canary_orders")), "BEGIN",
          "LOCK TABLE canary_orders IN EXCLUSIVE MODE NOWAIT"]),
    Case("deadlock", "DEADLOCK",
         [Do(lambda at, _: at.beside("SET deadlock_timeout = '60s'")),
          Do(lambda at, _: at.beside("UPDATE canary_orders SET amount = 6 WHERE id = 2")),
          "BEGIN", "UPDATE canary_orders SET amount = 7 WHERE id = 1",
          During("UPDATE canary_orders SET amount = 7 WHERE id = 2",
                 lambda at, _: at.beside("UPDATE canary_orders SET amount = 6 WHERE id = 1"))]),
    Case("serialization failure", "SERIALIZATION_FAILURE",
         [SERIALIZABLE, "SELECT * FROM canary_orders",
          Do(lambda at, _: (at.beside("UPDATE canary_orders SET amount = amount WHERE id = 1"), at.end_beside())),
          "UPDATE canary_orders SET amount = 7 WHERE id = 1"]),
    Case("serialization failure at COMMIT", "SERIALIZATION_FAILURE",
         [SERIALIZABLE, "SELECT sum(amount) FROM canary_orders", "UPDATE canary_orders SET amount = 6 WHERE id = 1",
          Do(lambda at, _: (at.beside("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"),
                            at.beside("SELECT sum(amount) FROM canary_orders"),
                            at.beside("UPDATE canary_orders SET amount = amount WHERE id = 2"), at.end_beside())),
          "COMMIT"]),
    Case("session terminated in a statement", "OUTCOME_UNKNOWN",
         [During(SLOW, lambda at, session: at.terminate(session))], is_open=True),
    Case("session terminated in a transaction", "CONNECTION_LOST DB_UNAVAILABLE",
         ["BEGIN", INSERT, During(SLOW, lambda at, session: at.terminate(session))]),
    Case("session terminated while idle in a transaction", "CONNECTION_LOST CONNECTION_FAILED DB_UNAVAILABLE DATABASE_ERROR",
         ["BEGIN", INSERT, Do(lambda at, session: (at.terminate(session), at.wait_until_gone(session))), INSERT]),
    Case("session terminated in COMMIT", "OUTCOME_UNKNOWN",
         ["BEGIN", INSERT, Do(lambda at, session: at.await_a_standby(session)),
          During("COMMIT", lambda at, session: at.terminate(session))], is_open=True),
    Case("statement cancelled", "CANCELLED DB_TIMEOUT", [During(SLOW, lambda at, session: at.cancel(session))]),
    Case("idle in a transaction for too long", "CONNECTION_LOST CONNECTION_FAILED DB_TIMEOUT TRANSACTION_STATE DB_UNAVAILABLE DATABASE_ERROR",
         ["SET idle_in_transaction_session_timeout = 20", "BEGIN", INSERT,
          Do(lambda at, session: at.wait_until_gone(session)), INSERT]),
    Case("read-only transaction", "READ_ONLY", ["BEGIN READ ONLY", INSERT]),
    Case("failed transaction", "TRANSACTION_STATE",
         ["BEGIN", INSERT, failed(TWICE), INSERT]),
    Case("COMMIT of a failed transaction", "COMMIT_ROLLED_BACK",
         ["BEGIN", INSERT, failed(TWICE), "COMMIT"]),
    Case("temporary files", "RESOURCE_EXHAUSTED STORAGE_FULL CONFIGURATION",
         ["SET temp_file_limit = 64", "SET work_mem = 64",
          "INSERT INTO canary_orders (id, amount) SELECT n, n FROM generate_series(100, 200000) n ORDER BY n DESC, random()"]),
    Case("one of several rows", "UNIQUE_VIOLATION PARTIAL_OUTCOME",
         [Many("INSERT INTO canary_orders (id, amount) VALUES ($1, $2)", [(31, 1), (32, 1), (31, 1)])],
         unit="batch", is_open=True),
    Case("procedure with COMMIT", "PARTIAL_OUTCOME", ["CALL canary_halves()"], unit="procedure", is_open=True),
    Case("several statements with COMMIT", "PARTIAL_OUTCOME", [f"BEGIN; {INSERT}; COMMIT; {TWICE}"],
         unit="batch", is_open=True),
    Case("server crash in a statement", "OUTCOME_UNKNOWN",
         [During(SLOW, lambda at, session: at.crash(session))], is_open=True),
]  # fmt: skip
