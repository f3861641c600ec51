"""SQLAlchemy 2 engines that say by themselves how far an operation has got, whatever the driver below.

    engine = track(create_engine(...))         # or create_async_engine(...)

The engine works as before, and beyond that: reports phase and transaction to the current operation, invalidates a
connection that a failure's `cleanup` says to discard, after it has stopped what may still run there, and raises
`CommitRolledBack` where a COMMIT of a failed transaction would look like a success.
"""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Engine, event
from sqlalchemy.engine import Connection, ExceptionContext

from . import _mysql
from ._mysql import CANCEL_SECONDS
from .operation import CommitRolledBack, Operation, current

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    AnyEngine = TypeVar("AnyEngine", Engine, AsyncEngine)
else:
    AnyEngine = TypeVar("AnyEngine")

#: Marks a connection whose transaction the server has declared failed.
_FAILED = "retort_contract.failed"
#: SQLAlchemy's name of a dialect → OpenTelemetry's name of the system, where they differ.
_SYSTEMS = {
    "mssql": "microsoft.sql_server",
    "oracle": "oracle.db",
}


def track(engine: AnyEngine) -> AnyEngine:
    """Makes the engine report to the current operation; gives the engine."""
    _Tracker(engine if isinstance(engine, Engine) else engine.sync_engine)
    return engine


class _Tracker:
    """The listeners of one engine.

    Events tell what is about to happen; that a COMMIT was confirmed only the dialect's own method tells, so that is
    wrapped, on this engine's dialect alone.
    """

    def __init__(self, engine: Engine) -> None:
        self._system = _SYSTEMS.get(engine.dialect.name, engine.dialect.name)
        self._driver = engine.dialect.driver
        # Elsewhere a transaction survives a failed statement, and COMMIT commits what came before it.
        self._fails_transactions = engine.dialect.name in ("postgresql", "cockroachdb")
        self._is_mysql = engine.dialect.name in ("mysql", "mariadb")
        event.listen(engine, "do_connect", self._connecting)
        event.listen(engine, "begin", self._begun)
        event.listen(engine, "before_cursor_execute", self._executing)
        event.listen(engine, "after_cursor_execute", self._executed)
        event.listen(engine, "handle_error", self._failed)
        event.listen(engine, "rollback_savepoint", self._restored)
        event.listen(engine, "prepare_twophase", self._prepared)
        event.listen(engine, "commit_twophase", self._prepared)
        event.listen(engine, "engine_disposed", self._watch_pool)
        if self._is_mysql:
            event.listen(engine, "connect", _mysql.ask_backend)
        self._watch_pool(engine)
        dialect = engine.dialect
        for name, watched in (("do_commit", self._commit), ("do_rollback", self._rollback)):
            setattr(dialect, name, functools.partial(watched, getattr(dialect, name)))

    def _current(self) -> Operation | None:
        operation = current()
        if operation is not None:
            operation.system = operation.system or self._system
            operation.driver = operation.driver or self._driver
        return operation

    def _watch_pool(self, engine: Engine) -> None:
        """No event comes before the wait for a connection, only after it; disposing makes a new pool."""
        pool = engine.pool
        connect = pool.connect

        def acquiring() -> Any:
            operation = self._current()
            if operation is not None:
                operation.acquiring()
            connection = connect()
            if operation is not None:
                operation.acquired()
            return connection

        setattr(pool, "connect", acquiring)

    def _connecting(self, *_: object) -> None:
        operation = self._current()
        if operation is not None:
            operation.connecting()

    def _begun(self, connection: Connection) -> None:
        operation = self._current()
        if operation is None:
            return
        if _is_autocommit(connection):
            operation.autocommit()
        else:
            operation.begun()

    def _executing(self, connection: Connection, cursor: Any, statement: str, *more: Any) -> None:
        if self._is_mysql:
            _mysql.before(_driver_connection(connection), connection.info)
        operation = self._current()
        if operation is not None:
            operation.executing()
            if _is_autocommit(connection):
                operation.autocommit()
            elif operation.transaction != "open":
                operation.begun()
            if more and more[-1]:
                operation.unit = "batch"

    def _executed(self, connection: Connection, *_: Any) -> None:
        operation = self._current()
        if operation is not None:
            if operation.transaction == "none":
                operation.applied()
            elif self._is_mysql and _mysql.has_committed(_driver_connection(connection), connection.info):
                # With what went before it.
                operation.applied()
                operation.applied()
            operation.fetching()

    def _failed(self, context: ExceptionContext) -> None:
        operation = self._current()
        connection = context.connection
        if connection is None:
            return
        driver = _driver_connection(connection)
        if driver is not None and connection.in_transaction() and self._is_transaction_failed(context, driver):
            connection.info[_FAILED] = not _is_autocommit(connection)
        if operation is None:
            return
        if driver is not None and connection.info.get(_FAILED) and operation.transaction == "open":
            operation.failed()
        error = context.sqlalchemy_exception or context.original_exception
        cleanup = operation.judge(error).decision.cleanup
        if cleanup in ("cancel_then_discard", "discard_connection"):
            if driver is not None and self._is_mysql:
                _mysql.stop(connection.engine.pool, connection.info, connection.dialect.is_async)
            elif cleanup == "cancel_then_discard":
                _cancel(driver)
            # SQLAlchemy invalidates the connection; the pool's others are left alone.
            context.is_disconnect = True
            context.invalidate_pool_on_disconnect = False

    def _is_transaction_failed(self, context: ExceptionContext, driver: Any) -> bool:
        """Would a COMMIT after this error look like a success, although the server commits nothing?"""
        if not self._is_mysql or context.is_disconnect:
            return self._fails_transactions
        error = context.original_exception
        is_of_server = isinstance(error, context.dialect.loaded_dbapi.DatabaseError)
        assert context.connection is not None
        return is_of_server and _mysql.has_rolled_back(driver, context.connection.info, error)

    def _prepared(self, *_: object) -> None:
        """From here on the transaction's fate is decided elsewhere, also where the answer is missing."""
        operation = self._current()
        if operation is not None:
            operation.transaction = "prepared"

    def _restored(self, connection: Connection, *_: object) -> None:
        """Rolling back to a savepoint makes a failed transaction a good one, but none that is over."""
        if self._is_mysql:
            return
        connection.info.pop(_FAILED, None)
        operation = self._current()
        if operation is not None and operation.transaction == "failed":
            operation.begun()

    def _commit(self, commit: Any, connection: Any) -> None:
        """COMMIT, as the dialect does it.

        Raises:
            CommitRolledBack: The server had declared the transaction failed.
        """
        if _marks(connection).get(_FAILED):
            raise CommitRolledBack
        operation = self._current()
        is_transaction = operation is not None and operation.transaction == "open"
        if operation is not None and is_transaction:
            operation.committing()
        commit(connection)
        if operation is not None and is_transaction:
            operation.done()

    def _rollback(self, rollback: Any, connection: Any) -> None:
        """ROLLBACK, as the dialect does it; also what resets a connection that goes back to its pool."""
        operation = self._current()
        is_transaction = operation is not None and operation.transaction in ("open", "failed", "committing")
        rollback(connection)
        _marks(connection).pop(_FAILED, None)
        if operation is not None and is_transaction:
            operation.rolled_back()


def _driver_connection(connection: Connection) -> Any:
    """The DBAPI connection, or SQLAlchemy's adapter of an asynchronous one; `None` where it is gone."""
    if connection.closed or connection.invalidated:
        return None
    return connection.connection.dbapi_connection


def _marks(connection: Any) -> dict[Any, Any]:
    """What is remembered beside a DBAPI connection; nothing while SQLAlchemy is still opening it."""
    try:
        marks: dict[Any, Any] = connection.info
    except NotImplementedError:
        return {}
    return marks


def _is_autocommit(connection: Connection) -> bool:
    """Does the driver commit every statement by itself?"""
    driver = _driver_connection(connection)
    state = getattr(driver, "autocommit", None)
    if isinstance(state, bool):
        return state
    asked = getattr(driver, "get_autocommit", None)
    return bool(asked()) if callable(asked) else False


def _cancel(driver: Any) -> None:
    """Tells the server to stop the statement, where the driver can."""
    in_time, cancel = getattr(driver, "cancel_safe", None), getattr(driver, "cancel", None)
    with suppress(Exception):
        if callable(in_time):
            in_time(timeout=CANCEL_SECONDS)
        elif callable(cancel):
            cancel()
