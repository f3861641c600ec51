"""What the psycopg adapter reports about a real server's errors, and what it does to the connection."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import psycopg
import pytest

import retort_contract.psycopg as tracked
from retort_contract import CommitRolledBack, Contract, Operation, Verdict

from conftest import ids


@pytest.fixture
def contract() -> Contract:
    return Contract(random=lambda: 7)


@pytest.fixture
def pool(dsn: str) -> Iterator[tracked.ConnectionPool]:
    with tracked.ConnectionPool(dsn, min_size=1, max_size=1, timeout=0.3) as pool:
        pool.wait()
        yield pool


def judged(operation: Operation) -> tuple[str, str, str, str, bool]:
    """Phase and transaction as judged, the code, the outcome, and whether to retry."""
    verdict = operation.verdict
    assert verdict is not None
    envelope, diagnostic = verdict.envelope, verdict.diagnostic
    return diagnostic["phase"], diagnostic["transaction"], envelope.code, envelope.outcome, envelope.retryable


def test_a_write_that_succeeds_is_done_and_committed(
    contract: Contract, pool: tracked.ConnectionPool, orders: psycopg.Connection
) -> None:
    with contract.operation("write") as operation:
        with pool.connection() as connection:
            connection.execute("INSERT INTO orders VALUES (1, 5)")
            assert (operation.phase, operation.transaction) == ("fetch", "open")
    assert (operation.phase, operation.transaction, operation.verdict) == ("done", "committed", None)
    assert ids(orders) == [1]


def test_an_exhausted_pool_is_met_before_anything_is_sent(contract: Contract, pool: tracked.ConnectionPool) -> None:
    operation = contract.operation("write")
    with pool.connection(), pytest.raises(psycopg.OperationalError), operation, pool.connection():
        pass
    assert judged(operation) == ("acquire", "unknown", "POOL_BUSY", "not_started", True)


def test_a_refused_connection_is_met_before_anything_is_sent(contract: Contract) -> None:
    operation = contract.operation("write")
    with pytest.raises(psycopg.OperationalError), operation:
        tracked.Connection.connect("host=127.0.0.1 port=1")
    assert judged(operation) == ("connect", "unknown", "CONNECTION_FAILED", "not_started", True)


def test_a_duplicate_key_fails_the_transaction_and_nothing_is_committed(
    contract: Contract, pool: tracked.ConnectionPool, orders: psycopg.Connection
) -> None:
    operation = contract.operation("write")
    with pytest.raises(psycopg.errors.UniqueViolation), operation, pool.connection() as connection:
        connection.execute("INSERT INTO orders VALUES (1, 5)")
        connection.execute("INSERT INTO orders VALUES (1, 6)")
    assert judged(operation) == ("execute", "failed", "UNIQUE_VIOLATION", "not_committed", False)
    assert ids(orders) == []


def test_in_autocommit_an_applied_statement_makes_the_outcome_partial(
    contract: Contract, dsn: str, orders: psycopg.Connection
) -> None:
    operation = contract.operation("write")
    with tracked.Connection.connect(dsn, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.UniqueViolation), operation:
            connection.execute("INSERT INTO orders VALUES (1, 5)")
            connection.execute("INSERT INTO orders VALUES (1, 6)")
    assert judged(operation) == ("execute", "none", "PARTIAL_OUTCOME", "unknown", False)
    assert ids(orders) == [1]


def test_a_second_transaction_that_fails_leaves_the_first_one_standing(
    contract: Contract, pool: tracked.ConnectionPool, orders: psycopg.Connection
) -> None:
    operation = contract.operation("write")
    with pytest.raises(psycopg.errors.CheckViolation), operation:
        with pool.connection() as connection:
            connection.execute("INSERT INTO orders VALUES (1, 5)")
        with pool.connection() as connection:
            connection.execute("INSERT INTO orders VALUES (2, -5)")
    assert judged(operation) == ("execute", "failed", "PARTIAL_OUTCOME", "unknown", False)
    assert ids(orders) == [1]


def test_a_statement_timeout_inside_a_transaction_is_not_committed(
    contract: Contract, pool: tracked.ConnectionPool, orders: psycopg.Connection
) -> None:
    operation = contract.operation("write")
    with pytest.raises(psycopg.errors.QueryCanceled), operation, pool.connection() as connection:
        connection.execute("SET LOCAL statement_timeout = '50ms'")
        connection.execute("INSERT INTO orders SELECT 1, 5 FROM pg_sleep(5)")
    assert judged(operation) == ("execute", "failed", "DB_TIMEOUT", "not_committed", True)
    assert ids(orders) == []


def test_a_backend_killed_mid_write_in_autocommit_leaves_the_outcome_unknown(
    contract: Contract, dsn: str, orders: psycopg.Connection
) -> None:
    operation = contract.operation("write", key="order-1")
    connection = tracked.Connection.connect(dsn, autocommit=True)
    killer = threading.Timer(0.2, orders.execute, ["SELECT pg_terminate_backend(%s)", [connection.info.backend_pid]])
    killer.start()
    with pytest.raises(psycopg.OperationalError), operation, connection:
        connection.execute("INSERT INTO orders SELECT 1, 5 FROM pg_sleep(5)")
    killer.join()
    assert judged(operation) == ("execute", "none", "OUTCOME_UNKNOWN", "unknown", False)
    assert connection.closed
    assert operation.verdict is not None and operation.verdict.envelope.next == "reconcile"


def test_a_backend_killed_inside_a_transaction_commits_nothing_and_its_connection_is_replaced(
    contract: Contract, pool: tracked.ConnectionPool, orders: psycopg.Connection
) -> None:
    operation = contract.operation("write")
    with pytest.raises(psycopg.OperationalError), operation, pool.connection() as connection:
        connection.execute("INSERT INTO orders VALUES (1, 5)")
        killed = connection.info.backend_pid
        orders.execute("SELECT pg_terminate_backend(%s)", [killed])
        connection.execute("INSERT INTO orders VALUES (2, 5)")
    assert judged(operation)[1:4] == ("open", "CONNECTION_LOST", "not_committed")
    with pool.connection(timeout=5) as connection:
        assert connection.info.backend_pid != killed
    assert ids(orders) == []


def test_a_backend_killed_at_commit_leaves_the_outcome_unknown(
    contract: Contract, pool: tracked.ConnectionPool, orders: psycopg.Connection
) -> None:
    operation = contract.operation("write")
    with pytest.raises(psycopg.OperationalError), operation, pool.connection() as connection:
        connection.execute("INSERT INTO orders VALUES (1, 5)")
        orders.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
        _wait_until_gone(orders, connection.info.backend_pid)
    assert judged(operation)[:4] == ("commit", "committing", "OUTCOME_UNKNOWN", "unknown")


def test_a_deferred_constraint_at_commit_is_not_committed(
    contract: Contract, pool: tracked.ConnectionPool, orders: psycopg.Connection
) -> None:
    orders.execute("CREATE TABLE lines (order_id int REFERENCES orders DEFERRABLE INITIALLY DEFERRED)")
    operation = contract.operation("write")
    with pytest.raises(psycopg.errors.ForeignKeyViolation), operation, pool.connection() as connection:
        connection.execute("INSERT INTO lines VALUES (9)")
    orders.execute("DROP TABLE lines")
    assert judged(operation)[:4] == ("commit", "committing", "FK_VIOLATION", "not_committed")


@pytest.mark.parametrize("way", ["commit", "with", "transaction", "statement"])
def test_a_commit_that_rolled_back_is_noticed(
    contract: Contract, dsn: str, orders: psycopg.Connection, way: str
) -> None:
    operation = contract.operation("write")
    with pytest.raises(CommitRolledBack), operation, tracked.Connection.connect(dsn) as connection:
        connection.execute("SELECT 1")
        connection.commit()
        operation.steps_done, operation.transaction = 0, "unknown"

        def fail() -> None:
            connection.execute("INSERT INTO orders VALUES (1, 5)")
            with pytest.raises(psycopg.errors.UniqueViolation):
                connection.execute("INSERT INTO orders VALUES (1, 6)")

        if way == "transaction":
            with connection.transaction():
                fail()
        else:
            fail()
            if way == "commit":
                connection.commit()
            elif way == "statement":
                connection.execute("COMMIT")
    assert judged(operation)[2:] == ("COMMIT_ROLLED_BACK", "not_committed", True)
    assert ids(orders) == []


def test_a_commit_that_rolled_back_is_noticed_without_an_operation(dsn: str, orders: psycopg.Connection) -> None:
    with pytest.raises(CommitRolledBack), tracked.Connection.connect(dsn) as connection:
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("INSERT INTO orders VALUES (1, -1)")


def test_a_transaction_that_the_program_rolls_back_is_not_taken_for_committed(
    contract: Contract, dsn: str, orders: psycopg.Connection
) -> None:
    with contract.operation("write") as operation, tracked.Connection.connect(dsn) as connection:
        with connection.transaction():
            connection.execute("INSERT INTO orders VALUES (1, 5)")
            raise psycopg.Rollback
    assert operation.transaction == "rolled_back"
    assert ids(orders) == []


def test_a_commit_behind_a_comment_is_noticed_and_a_savepoint_repairs(
    contract: Contract, dsn: str, orders: psycopg.Connection
) -> None:
    operation = contract.operation("write")
    with tracked.Connection.connect(dsn) as connection, pytest.raises(CommitRolledBack), operation:
        connection.execute("INSERT INTO orders VALUES (1, 5)")
        connection.execute("SAVEPOINT s")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO orders VALUES (1, 6)")
        assert operation.transaction == "failed"
        connection.execute("ROLLBACK TO SAVEPOINT s")
        assert operation.transaction == "open"
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO orders VALUES (1, 6)")
        connection.execute("/* the */ -- end\n commit;")
    assert judged(operation)[1:4] == ("rolled_back", "COMMIT_ROLLED_BACK", "not_committed")
    assert ids(orders) == []


def test_in_a_pipeline_nothing_is_claimed_that_the_driver_cannot_tell(
    contract: Contract, dsn: str, orders: psycopg.Connection
) -> None:
    operation = contract.operation("write")
    with tracked.Connection.connect(dsn) as connection:
        with pytest.raises(psycopg.errors.UniqueViolation), operation, connection.pipeline():
            connection.execute("INSERT INTO orders VALUES (1, 5)")
            connection.execute("INSERT INTO orders VALUES (1, 6)")
        connection.rollback()
    assert judged(operation)[1:4] == ("open", "UNIQUE_VIOLATION", "not_committed")

    operation = contract.operation("write")
    connection = tracked.Connection.connect(dsn, autocommit=True)
    with pytest.raises(psycopg.OperationalError), operation, connection, connection.pipeline() as pipeline:
        connection.execute("INSERT INTO orders VALUES (1, 5)")
        connection.execute("INSERT INTO orders VALUES (2, 5)")
        pipeline.sync()
        orders.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
        connection.execute("INSERT INTO orders VALUES (3, 5)")
    assert (judged(operation)[1], judged(operation)[3]) == ("none", "unknown")

    operation = contract.operation("write")
    with tracked.Connection.connect(dsn, autocommit=True) as connection, pytest.raises(KeyError), operation:
        with connection.pipeline():
            with connection.transaction():
                connection.execute("DELETE FROM orders")
            raise KeyError
    assert judged(operation)[3] == "unknown"
    assert ids(orders) == []


def test_what_is_sent_past_the_adapter_does_not_look_unsent(
    contract: Contract, dsn: str, orders: psycopg.Connection
) -> None:
    operation = contract.operation("write")
    with tracked.Connection.connect(dsn) as connection:
        connection.cursor_factory = psycopg.Cursor
        with pytest.raises(RuntimeError), operation:
            operation.acquiring()
            operation.acquired()
            connection.execute("INSERT INTO orders VALUES (1, 5)")
            raise RuntimeError
    assert judged(operation)[3] == "unknown"


def test_a_result_that_is_lost_after_the_commit_is_not_to_be_repeated(
    contract: Contract, pool: tracked.ConnectionPool, orders: psycopg.Connection
) -> None:
    operation = contract.operation("write")
    with pytest.raises(KeyError), operation:
        with pool.connection() as connection:
            connection.execute("INSERT INTO orders VALUES (1, 5)")
        raise KeyError("amount")
    assert judged(operation) == ("done", "committed", "RESULT_LOST", "committed", False)


def test_the_runner_repeats_a_serialization_failure_and_waits_as_decided(dsn: str, orders: psycopg.Connection) -> None:
    waits: list[float] = []
    contract = Contract(random=lambda: 7, sleep=waits.append)
    orders.execute("INSERT INTO orders VALUES (1, 5)")

    def work(operation: Operation) -> int:
        with tracked.Connection.connect(dsn) as connection:
            connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
            connection.execute("SELECT * FROM orders").fetchall()
            if operation.attempt == 1:
                orders.execute("UPDATE orders SET amount = 6")
            connection.execute("UPDATE orders SET amount = amount + 1")
        return operation.attempt

    assert contract.run(work) == 2
    assert len(waits) == 1 and 0.1 <= waits[0] <= 0.2
    assert orders.execute("SELECT amount FROM orders").fetchone() == (7,)


@pytest.mark.anyio
async def test_the_asynchronous_adapter_reports_the_same(
    contract: Contract, dsn: str, orders: psycopg.Connection
) -> None:
    async with tracked.AsyncConnectionPool(dsn, min_size=1, max_size=1, timeout=0.3, open=False) as pool:
        await pool.wait()
        async with contract.operation("write") as operation, pool.connection() as connection:
            await connection.execute("INSERT INTO orders VALUES (1, 5)")
        assert (operation.phase, operation.transaction) == ("done", "committed")

        operation = contract.operation("write")
        async with pool.connection():
            with pytest.raises(psycopg.OperationalError):
                async with operation, pool.connection():
                    pass
        assert judged(operation) == ("acquire", "unknown", "POOL_BUSY", "not_started", True)

        operation = contract.operation("write")
        with pytest.raises(psycopg.errors.UniqueViolation):
            async with operation, pool.connection() as connection:
                await connection.execute("INSERT INTO orders VALUES (1, 5)")
        assert judged(operation) == ("execute", "failed", "UNIQUE_VIOLATION", "not_committed", False)

        operation = contract.operation("write")
        with pytest.raises(CommitRolledBack):
            async with operation, pool.connection() as connection:
                with pytest.raises(psycopg.errors.UniqueViolation):
                    await connection.execute("INSERT INTO orders VALUES (1, 5)")
        assert judged(operation)[2:] == ("COMMIT_ROLLED_BACK", "not_committed", True)
    assert ids(orders) == [1]


@pytest.mark.anyio
async def test_a_cancelled_task_cancels_the_statement_on_the_server(
    contract: Contract, dsn: str, orders: psycopg.Connection
) -> None:
    operation = contract.operation("write")

    async def work() -> None:
        async with operation, await tracked.AsyncConnection.connect(dsn, autocommit=True) as connection:
            await connection.execute("INSERT INTO orders SELECT 1, 5 FROM pg_sleep(20)")

    task = asyncio.create_task(work())
    while operation.phase != "execute":
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert judged(operation)[3:] == ("unknown", False)
    running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'INSERT%%pg_sleep(20)%%' AND state = 'active'"
    assert orders.execute(running).fetchone() == (0,)


def _wait_until_gone(connection: psycopg.Connection, backend: int) -> None:
    while connection.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [backend]).fetchone():
        pass


def test_the_verdict_of_an_error_is_the_same_inside_and_outside_the_connection_s_block(
    contract: Contract, pool: tracked.ConnectionPool, orders: psycopg.Connection
) -> None:
    seen: list[Verdict] = []
    contract = Contract(on_verdict=seen.append)
    operation = contract.operation("write")
    with pytest.raises(psycopg.errors.NotNullViolation), operation, pool.connection() as connection:
        try:
            connection.execute("INSERT INTO orders VALUES (1, NULL)")
        except psycopg.Error as error:
            inside = operation.judge(error)
            raise
    assert operation.verdict is inside
    assert seen == [inside]
    assert inside.decision.cleanup == "rollback"
