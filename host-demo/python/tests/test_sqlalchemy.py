"""What the SQLAlchemy adapter reports, with several drivers below it, on a real server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy
import sqlalchemy.exc
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

from retort_contract import CommitRolledBack, Contract, Operation
from retort_contract.sqlalchemy import track

from conftest import ids


@pytest.fixture
def contract() -> Contract:
    return Contract(random=lambda: 7)


@pytest.fixture
def engine(dsn: str) -> Iterator[sqlalchemy.Engine]:
    url = dsn.replace("postgresql://", "postgresql+psycopg://")
    engine = track(sqlalchemy.create_engine(url, pool_size=1, max_overflow=0, pool_timeout=0.2))
    yield engine
    engine.dispose()


def judged(operation: Operation) -> tuple[str, str, str, str, bool]:
    """Phase and transaction as judged, the code, the outcome, and whether to retry."""
    verdict = operation.verdict
    assert verdict is not None
    envelope, diagnostic = verdict.envelope, verdict.diagnostic
    return diagnostic["phase"], diagnostic["transaction"], envelope.code, envelope.outcome, envelope.retryable


INSERT = text("INSERT INTO orders VALUES (:id, 5)")


def test_a_write_that_succeeds_is_done_and_committed(
    contract: Contract, engine: sqlalchemy.Engine, orders: psycopg.Connection
) -> None:
    with contract.operation("write") as operation, engine.begin() as connection:
        connection.execute(INSERT, {"id": 1})
        assert (operation.phase, operation.transaction) == ("fetch", "open")
    assert (operation.phase, operation.transaction) == ("done", "committed")
    assert (operation.system, operation.driver) == ("postgresql", "psycopg")
    assert ids(orders) == [1]


def test_an_exhausted_pool_is_met_before_anything_is_sent(contract: Contract, engine: sqlalchemy.Engine) -> None:
    operation = contract.operation("write")
    with engine.connect(), pytest.raises(sqlalchemy.exc.TimeoutError), operation, engine.connect():
        pass
    assert judged(operation) == ("acquire", "unknown", "POOL_BUSY", "not_started", True)
    engine.dispose()
    operation = contract.operation("write")
    with engine.connect(), pytest.raises(sqlalchemy.exc.TimeoutError), operation, engine.connect():
        pass
    assert judged(operation)[0] == "acquire"


def test_a_refused_connection_is_met_before_anything_is_sent(contract: Contract) -> None:
    engine = track(sqlalchemy.create_engine("postgresql+psycopg://tester@127.0.0.1:1/postgres"))
    operation = contract.operation("write")
    with pytest.raises(sqlalchemy.exc.OperationalError), operation, engine.connect():
        pass
    assert judged(operation) == ("connect", "unknown", "CONNECTION_FAILED", "not_started", True)


def test_a_duplicate_key_is_not_committed_and_its_parameters_stay_here(
    contract: Contract, engine: sqlalchemy.Engine, orders: psycopg.Connection
) -> None:
    operation = contract.operation("write")
    with pytest.raises(sqlalchemy.exc.IntegrityError), operation, engine.begin() as connection:
        connection.execute(INSERT, {"id": 4711})
        connection.execute(INSERT, {"id": 4711})
    assert judged(operation) == ("execute", "failed", "UNIQUE_VIOLATION", "not_committed", False)
    assert operation.verdict is not None and "4711" not in operation.verdict.text
    assert ids(orders) == []


def test_in_autocommit_an_applied_statement_makes_the_outcome_partial(
    contract: Contract, engine: sqlalchemy.Engine, orders: psycopg.Connection
) -> None:
    operation = contract.operation("write")
    autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
    with pytest.raises(sqlalchemy.exc.IntegrityError), operation, autocommit.connect() as connection:
        connection.execute(INSERT, {"id": 1})
        connection.execute(INSERT, {"id": 1})
    assert judged(operation) == ("execute", "none", "PARTIAL_OUTCOME", "unknown", False)
    assert ids(orders) == [1]


def test_a_commit_that_rolled_back_is_noticed_with_and_without_an_operation(
    contract: Contract, engine: sqlalchemy.Engine, orders: psycopg.Connection
) -> None:
    def swallow(connection: sqlalchemy.Connection) -> None:
        connection.execute(INSERT, {"id": 1})
        with pytest.raises(sqlalchemy.exc.IntegrityError):
            connection.execute(INSERT, {"id": 1})

    operation = contract.operation("write")
    with pytest.raises(CommitRolledBack), operation, engine.begin() as connection:
        swallow(connection)
    assert judged(operation)[2:] == ("COMMIT_ROLLED_BACK", "not_committed", True)
    with pytest.raises(CommitRolledBack), engine.begin() as connection:
        swallow(connection)
    assert ids(orders) == []


def test_a_savepoint_makes_a_failed_transaction_a_good_one(
    contract: Contract, engine: sqlalchemy.Engine, orders: psycopg.Connection
) -> None:
    with contract.operation("write") as operation, engine.begin() as connection:
        connection.execute(INSERT, {"id": 1})
        with pytest.raises(sqlalchemy.exc.IntegrityError), connection.begin_nested():
            connection.execute(INSERT, {"id": 1})
    assert operation.transaction == "committed"
    assert ids(orders) == [1]


def test_a_backend_killed_at_commit_leaves_the_outcome_unknown_and_its_connection_is_replaced(
    contract: Contract, engine: sqlalchemy.Engine, orders: psycopg.Connection
) -> None:
    operation = contract.operation("write", key="k-1")
    with pytest.raises(sqlalchemy.exc.OperationalError), operation, engine.begin() as connection:
        connection.execute(INSERT, {"id": 1})
        backend = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        orders.execute("SELECT pg_terminate_backend(%s)", [backend])
        while orders.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [backend]).fetchone():
            pass
    assert judged(operation)[:4] == ("commit", "committing", "OUTCOME_UNKNOWN", "unknown")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT pg_backend_pid()")).scalar_one() != backend


def test_a_deferred_constraint_at_commit_is_not_committed(
    contract: Contract, engine: sqlalchemy.Engine, orders: psycopg.Connection
) -> None:
    orders.execute("CREATE TABLE lines (order_id int REFERENCES orders DEFERRABLE INITIALLY DEFERRED)")
    operation = contract.operation("write")
    with pytest.raises(sqlalchemy.exc.IntegrityError), operation, engine.begin() as connection:
        connection.execute(text("INSERT INTO lines VALUES (9)"))
    orders.execute("DROP TABLE lines")
    assert judged(operation)[:4] == ("commit", "committing", "FK_VIOLATION", "not_committed")


def test_a_session_s_flush_and_commit_are_tracked(
    contract: Contract, engine: sqlalchemy.Engine, orders: psycopg.Connection
) -> None:
    operation = contract.operation("write")
    with pytest.raises(sqlalchemy.exc.IntegrityError), operation, Session(engine) as session:
        session.execute(INSERT, {"id": 1})
        session.commit()
        session.execute(INSERT, {"id": 1})
    assert judged(operation) == ("execute", "failed", "PARTIAL_OUTCOME", "unknown", False)
    assert ids(orders) == [1]


def test_sqlite_is_tracked_alike(contract: Contract) -> None:
    engine = track(sqlalchemy.create_engine("sqlite://"))
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER)"))
    operation = contract.operation("write")
    with pytest.raises(sqlalchemy.exc.IntegrityError), operation, engine.begin() as connection:
        connection.execute(INSERT, {"id": 1})
        connection.execute(INSERT, {"id": 1})
    assert judged(operation)[1:] == ("open", "UNIQUE_VIOLATION", "not_committed", False)
    with engine.begin() as connection, pytest.raises(sqlalchemy.exc.IntegrityError):
        connection.execute(INSERT, {"id": 1})
        connection.execute(INSERT, {"id": 1})
    with engine.connect() as connection:  # SQLite's COMMIT commits what came before the failed statement.
        assert connection.execute(text("SELECT count(*) FROM orders")).scalar_one() == 1
    engine.dispose()


@pytest.mark.anyio
@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
async def test_asynchronous_engines_report_the_same(
    contract: Contract, dsn: str, orders: psycopg.Connection, driver: str
) -> None:
    url = dsn.replace("postgresql://", f"postgresql+{driver}://")
    engine = track(create_async_engine(url, pool_size=1, max_overflow=0, pool_timeout=0.2))
    async with contract.operation("write") as operation, engine.begin() as connection:
        await connection.execute(INSERT, {"id": 1})
    assert (operation.phase, operation.transaction, operation.driver) == ("done", "committed", driver)

    operation = contract.operation("write")
    async with engine.connect():
        with pytest.raises(sqlalchemy.exc.TimeoutError):
            async with operation, engine.connect():
                pass
    assert judged(operation) == ("acquire", "unknown", "POOL_BUSY", "not_started", True)

    operation = contract.operation("write")
    with pytest.raises(sqlalchemy.exc.IntegrityError):
        async with operation, engine.begin() as connection:
            await connection.execute(INSERT, {"id": 1})
    assert judged(operation) == ("execute", "failed", "UNIQUE_VIOLATION", "not_committed", False)

    operation = contract.operation("write")
    with pytest.raises(CommitRolledBack):
        async with operation, engine.begin() as connection:
            with pytest.raises(sqlalchemy.exc.IntegrityError):
                await connection.execute(INSERT, {"id": 1})
    assert judged(operation)[2:] == ("COMMIT_ROLLED_BACK", "not_committed", True)

    operation = contract.operation("write")
    autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
    with pytest.raises(sqlalchemy.exc.DBAPIError):
        async with operation, autocommit.connect() as connection:
            backend = (await connection.execute(text("SELECT pg_backend_pid()"))).scalar_one()
            killer = threading.Timer(0.3, orders.execute, ["SELECT pg_terminate_backend(%s)", [backend]])
            killer.start()
            await connection.execute(text("INSERT INTO orders SELECT 2, 5 FROM pg_sleep(20)"))
    killer.join()
    assert judged(operation)[1:4] == ("none", "OUTCOME_UNKNOWN", "unknown")
    await engine.dispose()
    assert ids(orders) == [1]


@pytest.mark.anyio
async def test_a_cancelled_task_leaves_nothing_running(
    contract: Contract, dsn: str, orders: psycopg.Connection
) -> None:
    engine = track(create_async_engine(dsn.replace("postgresql://", "postgresql+psycopg://")))
    operation = contract.operation("write")

    async def work() -> None:
        async with operation, engine.begin() as connection:
            await connection.execute(text("INSERT INTO orders SELECT 3, 5 FROM pg_sleep(20)"))

    task = asyncio.create_task(work())
    running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'INSERT%pg_sleep(20)%' AND state = 'active'"
    while orders.execute(running).fetchone() == (0,):
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert judged(operation)[3] == "not_committed"
    assert orders.execute(running).fetchone() == (0,)
    await engine.dispose()
