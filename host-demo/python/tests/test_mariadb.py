"""PyMySQL through the SQLAlchemy adapter, on a real MariaDB."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import sqlalchemy
import sqlalchemy.exc
from sqlalchemy import text

from retort_contract import Contract, Operation
from retort_contract.sqlalchemy import track

import mariadb

pytestmark = pytest.mark.skipif(mariadb.program() is None, reason="MariaDB's server is not installed")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with mariadb.server() as port:
        yield f"mariadb+pymysql://tester@127.0.0.1:{port}/test"


@pytest.fixture
def other(url: str) -> Iterator[sqlalchemy.Engine]:
    """A fresh table, seen through connections that report nothing."""
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("DROP TABLE IF EXISTS orders"))
        connection.execute(text("CREATE TABLE orders (id INT PRIMARY KEY, amount INT NOT NULL) ENGINE = InnoDB"))
    yield engine
    engine.dispose()


@pytest.fixture
def engine(url: str) -> Iterator[sqlalchemy.Engine]:
    engine = track(sqlalchemy.create_engine(url))
    yield engine
    engine.dispose()


@pytest.fixture
def contract() -> Contract:
    return Contract(random=lambda: 7)


INSERT = text("INSERT INTO orders VALUES (:id, 5)")


def judged(operation: Operation) -> tuple[str, str, str, str, bool]:
    """Phase and transaction as judged, the code, the outcome, and whether to retry."""
    verdict = operation.verdict
    assert verdict is not None
    envelope, diagnostic = verdict.envelope, verdict.diagnostic
    return diagnostic["phase"], diagnostic["transaction"], envelope.code, envelope.outcome, envelope.retryable


def ids(engine: sqlalchemy.Engine) -> list[int]:
    """The orders that are there."""
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT id FROM orders ORDER BY id")).scalars())


def kill_soon(engine: sqlalchemy.Engine, backend: int) -> threading.Thread:
    """Kills a connection in a moment."""

    def kill() -> None:
        with engine.connect() as connection:
            connection.execute(text(f"KILL CONNECTION {backend}"))

    timer = threading.Timer(0.3, kill)
    timer.start()
    return timer


def test_a_write_that_succeeds_is_done_and_committed(
    contract: Contract, engine: sqlalchemy.Engine, other: sqlalchemy.Engine
) -> None:
    with contract.operation("write") as operation, engine.begin() as connection:
        connection.execute(INSERT, {"id": 1})
    assert (operation.phase, operation.transaction) == ("done", "committed")
    assert (operation.system, operation.driver) == ("mariadb", "pymysql")
    assert ids(other) == [1]


def test_a_duplicate_key_in_a_transaction_is_not_committed(
    contract: Contract, engine: sqlalchemy.Engine, other: sqlalchemy.Engine
) -> None:
    operation = contract.operation("write")
    with pytest.raises(sqlalchemy.exc.IntegrityError), operation, engine.begin() as connection:
        connection.execute(INSERT, {"id": 1})
        connection.execute(INSERT, {"id": 1})
    assert judged(operation) == ("execute", "open", "UNIQUE_VIOLATION", "not_committed", False)
    assert ids(other) == []


def test_after_a_swallowed_error_a_commit_commits_what_came_before(
    contract: Contract, engine: sqlalchemy.Engine, other: sqlalchemy.Engine
) -> None:
    with contract.operation("write") as operation, engine.begin() as connection:
        connection.execute(INSERT, {"id": 1})
        with pytest.raises(sqlalchemy.exc.IntegrityError):
            connection.execute(INSERT, {"id": 1})
    assert operation.transaction == "committed"
    assert ids(other) == [1]


def test_a_lock_that_is_waited_for_too_long_can_be_tried_again(
    contract: Contract, engine: sqlalchemy.Engine, other: sqlalchemy.Engine
) -> None:
    with other.connect() as connection:
        connection.execute(INSERT, {"id": 1})
        connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql("UPDATE orders SET amount = 6")
        operation = contract.operation("write")
        with pytest.raises(sqlalchemy.exc.OperationalError), operation, engine.begin() as blocked:
            blocked.execute(text("UPDATE orders SET amount = 7"))
        connection.exec_driver_sql("ROLLBACK")
    assert judged(operation) == ("execute", "open", "LOCK_TIMEOUT", "not_committed", True)
    assert operation.verdict is not None and operation.verdict.decision.scope == "statement"


def test_a_killed_connection_loses_a_transaction_and_leaves_a_write_in_autocommit_unknown(
    contract: Contract, engine: sqlalchemy.Engine, other: sqlalchemy.Engine
) -> None:
    slow = text("INSERT INTO orders SELECT :id, SLEEP(10)")
    for autocommit, expected in ((False, ("open", "not_committed")), (True, ("none", "unknown"))):
        level = {"isolation_level": "AUTOCOMMIT"} if autocommit else {}
        operation = contract.operation("write", key="k-1")
        with pytest.raises(sqlalchemy.exc.DBAPIError), operation:
            with engine.connect().execution_options(**level) as connection:
                backend = connection.execute(text("SELECT CONNECTION_ID()")).scalar_one()
                operation.steps_done = 0
                killer = kill_soon(other, backend)
                connection.execute(slow, {"id": 1})
        killer.join()
        assert (judged(operation)[1], judged(operation)[3]) == expected
    assert operation.verdict is not None and operation.verdict.envelope.next == "reconcile"
    assert ids(other) == []
