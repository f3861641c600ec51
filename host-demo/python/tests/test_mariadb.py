"""PyMySQL and aiomysql through the SQLAlchemy adapter, on a real MariaDB."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import sqlalchemy
import sqlalchemy.exc
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from retort_contract import CommitRolledBack, Contract, Operation
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


def running(engine: sqlalchemy.Engine) -> int:
    """How many statements sleep on the server."""
    sleeping = (
        "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%sleep(60)%' AND id <> CONNECTION_ID()"
    )
    with engine.connect() as connection:
        return int(connection.execute(text(sleeping)).scalar_one())


def none_runs(engine: sqlalchemy.Engine) -> bool:
    """A server that was told to stop a statement needs a moment to obey, but far less than the statement itself."""
    end = time.monotonic() + 20
    while running(engine) and time.monotonic() < end:
        time.sleep(0.02)
    return running(engine) == 0


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


@pytest.mark.parametrize("is_followed", [True, False])
def test_a_commit_after_a_deadlock_that_rolled_back_is_noticed(
    contract: Contract, engine: sqlalchemy.Engine, other: sqlalchemy.Engine, is_followed: bool
) -> None:
    update = text("UPDATE orders SET amount = amount + 1 WHERE id = :id")
    with other.connect() as rival:
        rival.execute(text("INSERT INTO orders VALUES (10, 1), (11, 1)"))
        rival.exec_driver_sql("BEGIN")
        # The server rolls back the transaction that changed fewer rows.
        rival.execute(text("INSERT INTO orders SELECT seq, 1 FROM seq_100_to_200"))
        rival.execute(update, {"id": 11})
        operation = contract.operation("write") if is_followed else nullcontext()
        with pytest.raises(CommitRolledBack), operation, engine.begin() as connection:
            connection.execute(update, {"id": 10})
            blocked = threading.Thread(target=rival.execute, args=(update, {"id": 10}))
            blocked.start()
            with pytest.raises(sqlalchemy.exc.OperationalError, match="1213"):
                connection.execute(update, {"id": 11})
            blocked.join()
            connection.execute(INSERT, {"id": 12})
        rival.exec_driver_sql("ROLLBACK")
    if isinstance(operation, Operation):
        assert judged(operation)[2:] == ("COMMIT_ROLLED_BACK", "not_committed", True)
    assert ids(other) == [10, 11]


def test_ddl_within_a_transaction_commits_what_went_before_it(
    contract: Contract, engine: sqlalchemy.Engine, other: sqlalchemy.Engine
) -> None:
    operation = contract.operation("write")
    with pytest.raises(sqlalchemy.exc.IntegrityError), operation, engine.begin() as connection:
        connection.execute(INSERT, {"id": 1})
        connection.execute(text("ALTER TABLE orders ADD COLUMN note TEXT"))
        connection.execute(text("INSERT INTO orders VALUES (1, 5, '')"))
    assert judged(operation)[2:4] == ("PARTIAL_OUTCOME", "unknown")
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


@pytest.mark.parametrize("level", [{}, {"isolation_level": "AUTOCOMMIT"}])
def test_a_client_s_time_out_leaves_nothing_running_although_the_pool_is_exhausted(
    contract: Contract, url: str, other: sqlalchemy.Engine, level: dict[str, str]
) -> None:
    engine = track(sqlalchemy.create_engine(url, pool_size=1, max_overflow=0, connect_args={"read_timeout": 1}))
    operation = contract.operation("write", key="k-1")
    with pytest.raises(sqlalchemy.exc.OperationalError), operation:
        with engine.connect().execution_options(**level) as connection:
            connection.execute(text("INSERT INTO orders SELECT 1, sleep(60)"))
    assert judged(operation)[0] == "execute"
    assert judged(operation)[3] == ("unknown" if level else "not_committed")
    assert none_runs(other)
    assert ids(other) == []
    with engine.connect() as connection:
        assert connection.execute(text("SELECT 1")).scalar_one() == 1
    engine.dispose()


def test_a_number_is_not_killed_on_another_server(contract: Contract, url: str, other: sqlalchemy.Engine) -> None:
    engine = track(sqlalchemy.create_engine(url, connect_args={"read_timeout": 1}))
    operation = contract.operation("write")
    with pytest.raises(sqlalchemy.exc.OperationalError), operation, engine.connect() as connection:
        number, _, port = connection.info["retort_contract.backend"]
        connection.info["retort_contract.backend"] = (number, "another", port)
        connection.execute(text("DO sleep(60)"))
    assert running(other) == 1
    with other.connect() as connection:
        connection.execute(text(f"KILL CONNECTION {number}"))
    engine.dispose()


@pytest.mark.anyio
async def test_a_cancelled_task_leaves_nothing_running(contract: Contract, url: str, other: sqlalchemy.Engine) -> None:
    engine = track(create_async_engine(url.replace("+pymysql", "+aiomysql"), pool_size=1, max_overflow=0))
    operation = contract.operation("write")

    async def work() -> None:
        async with operation, engine.begin() as connection:
            await connection.execute(text("INSERT INTO orders SELECT 3, sleep(60)"))

    task = asyncio.create_task(work())
    while not running(other):
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert judged(operation)[3] == "not_committed"
    assert none_runs(other)
    assert ids(other) == []
    await engine.dispose()
