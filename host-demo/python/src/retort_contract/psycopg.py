"""psycopg 3 connections and pools that say by themselves how far an operation has got.

    from retort_contract.psycopg import ConnectionPool   # instead of psycopg_pool's

They behave as psycopg's own, and beyond that: report phase and transaction to the current operation, carry out a
failure's `cleanup` before the connection goes back to its pool, and raise `CommitRolledBack` where psycopg's COMMIT of
a failed transaction would look like a success.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from types import TracebackType
from typing import Any

import psycopg
import psycopg_pool
from psycopg import pq
from psycopg.rows import Row

from .operation import CommitRolledBack, Operation, current

CANCEL_SECONDS = 5.0
"""How long a cancel may take before the connection is closed anyway."""

_IDLE = pq.TransactionStatus.IDLE
_IN_ERROR = pq.TransactionStatus.INERROR

_BEGIN = ("BEGIN", "START")
_COMMIT = ("COMMIT", "END")
_ROLLBACK = ("ROLLBACK", "ABORT")
#: Commands that change no data.
_SESSION = ("SET", "SHOW", "RESET", "EXPLAIN", "LISTEN", "UNLISTEN", "DISCARD")

_Base = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]


class _Statement:
    """One statement's report to the current operation."""

    def __init__(self, connection: _Base, query: object, *, unit: str | None = None) -> None:
        self._connection = connection
        self._operation = _named(current())
        self._verb = _verb(query)
        self._is_autocommit = False
        if self._operation is not None:
            self._before(self._operation)
            if unit is not None:
                self._operation.unit = unit

    def _before(self, operation: Operation) -> None:
        self._is_autocommit = self._connection.autocommit and self._connection.info.transaction_status == _IDLE
        operation.executing()
        if self._verb in _COMMIT:
            operation.committing()
        elif self._verb in _ROLLBACK:
            operation.rolling_back()
        elif self._is_autocommit and self._verb not in _BEGIN:
            operation.autocommit()
        elif operation.transaction != "open":
            operation.begun()

    def succeeded(self, tag: str | None) -> None:
        """The server answered. The tag tells what it really did with a COMMIT."""
        operation = self._operation
        is_ended = self._connection.info.transaction_status == _IDLE
        if self._verb in _COMMIT and tag == "ROLLBACK":
            if operation is not None:
                operation.transaction = "rolled_back"
            raise CommitRolledBack
        if operation is None:
            return
        if self._is_autocommit and self._verb not in _BEGIN:
            operation.fetching()
            if self._verb not in _SESSION:
                operation.applied()
        elif not is_ended:
            operation.fetching()
        elif tag == "ROLLBACK":
            operation.rolled_back()
        elif self._connection.info.pipeline_status == pq.PipelineStatus.OFF:
            operation.done()

    def failed(self) -> None:
        """The server or the connection failed."""
        if self._operation is not None and self._connection.info.transaction_status == _IN_ERROR:
            self._operation.failed()


class Cursor(psycopg.Cursor[Row]):
    """A cursor that reports its statements."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        """As psycopg's."""
        statement = _Statement(self.connection, query)
        try:
            super().execute(query, params, **options)
        except BaseException:
            statement.failed()
            raise
        statement.succeeded(self.statusmessage)
        return self

    def executemany(self, query: Any, params_seq: Iterable[Any], *, returning: bool = False) -> None:
        """As psycopg's."""
        statement = _Statement(self.connection, query, unit="batch")
        try:
            super().executemany(query, params_seq, returning=returning)
        except BaseException:
            statement.failed()
            raise
        statement.succeeded(self.statusmessage)

    @contextmanager
    def copy(self, statement: Any, params: Any = None, **options: Any) -> Iterator[Any]:
        """As psycopg's."""
        copied = _Statement(self.connection, statement, unit="many")
        try:
            with super().copy(statement, params, **options) as copy:
                yield copy
        except BaseException:
            copied.failed()
            raise
        copied.succeeded(self.statusmessage)


class AsyncCursor(psycopg.AsyncCursor[Row]):
    """As `Cursor`, for asynchronous code."""

    async def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        """As psycopg's."""
        statement = _Statement(self.connection, query)
        try:
            await super().execute(query, params, **options)
        except BaseException:
            statement.failed()
            raise
        statement.succeeded(self.statusmessage)
        return self

    async def executemany(self, query: Any, params_seq: Iterable[Any], *, returning: bool = False) -> None:
        """As psycopg's."""
        statement = _Statement(self.connection, query, unit="batch")
        try:
            await super().executemany(query, params_seq, returning=returning)
        except BaseException:
            statement.failed()
            raise
        statement.succeeded(self.statusmessage)

    @asynccontextmanager
    async def copy(self, statement: Any, params: Any = None, **options: Any) -> AsyncIterator[Any]:
        """As psycopg's."""
        copied = _Statement(self.connection, statement, unit="many")
        try:
            async with super().copy(statement, params, **options) as copy:
                yield copy
        except BaseException:
            copied.failed()
            raise
        copied.succeeded(self.statusmessage)


class Connection(psycopg.Connection[Row]):
    """A connection that reports its transaction and cleans up after a failure."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.cursor_factory = Cursor

    @classmethod
    def connect(cls, conninfo: str = "", **options: Any) -> Any:
        """As psycopg's."""
        _report_connecting()
        return super().connect(conninfo, **options)

    def commit(self) -> None:
        """As psycopg's.

        Raises:
            CommitRolledBack: The server had declared the transaction failed.
        """
        if self.info.transaction_status == _IN_ERROR:
            self.rollback()
            raise CommitRolledBack
        operation = _committing(self)
        super().commit()
        if operation is not None:
            operation.done()

    def rollback(self) -> None:
        """As psycopg's."""
        operation = _rolling_back(self)
        super().rollback()
        if operation is not None:
            operation.rolled_back()

    @contextmanager
    def transaction(self, savepoint_name: str | None = None, force_rollback: bool = False) -> Iterator[Any]:
        """As psycopg's.

        Raises:
            CommitRolledBack: The server had declared the transaction failed.
        """
        is_outermost = self.info.transaction_status == _IDLE
        with super().transaction(savepoint_name, force_rollback) as transaction:
            if is_outermost:
                _report_begun()
            yield transaction
            if is_outermost:
                _report_ending(self, force_rollback)
        if is_outermost:
            _report_ended(transaction)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._clean_up(error)
        try:
            super().__exit__(kind, error, traceback)
        except BaseException as failure:
            self._clean_up(failure)
            if getattr(self, "_pool", None) is None:
                self.close()
            raise

    def _clean_up(self, error: BaseException | None) -> None:
        cleanup = _cleanup(error)
        if cleanup == "cancel_then_discard":
            with suppress(Exception):
                self.cancel_safe(timeout=CANCEL_SECONDS)
        if cleanup in ("cancel_then_discard", "discard_connection"):
            # `close` would give a pooled connection back; a finished one is replaced by its pool.
            self.pgconn.finish()


class AsyncConnection(psycopg.AsyncConnection[Row]):
    """As `Connection`, for asynchronous code."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.cursor_factory = AsyncCursor

    @classmethod
    async def connect(cls, conninfo: str = "", **options: Any) -> Any:
        """As psycopg's."""
        _report_connecting()
        return await super().connect(conninfo, **options)

    async def commit(self) -> None:
        """As psycopg's.

        Raises:
            CommitRolledBack: The server had declared the transaction failed.
        """
        if self.info.transaction_status == _IN_ERROR:
            await self.rollback()
            raise CommitRolledBack
        operation = _committing(self)
        await super().commit()
        if operation is not None:
            operation.done()

    async def rollback(self) -> None:
        """As psycopg's."""
        operation = _rolling_back(self)
        await super().rollback()
        if operation is not None:
            operation.rolled_back()

    @asynccontextmanager
    async def transaction(
        self, savepoint_name: str | None = None, force_rollback: bool = False
    ) -> AsyncIterator[Any]:
        """As psycopg's.

        Raises:
            CommitRolledBack: The server had declared the transaction failed.
        """
        is_outermost = self.info.transaction_status == _IDLE
        async with super().transaction(savepoint_name, force_rollback) as transaction:
            if is_outermost:
                _report_begun()
            yield transaction
            if is_outermost:
                _report_ending(self, force_rollback)
        if is_outermost:
            _report_ended(transaction)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._clean_up(error)
        try:
            await super().__aexit__(kind, error, traceback)
        except BaseException as failure:
            await self._clean_up(failure)
            if getattr(self, "_pool", None) is None:
                await self.close()
            raise

    async def _clean_up(self, error: BaseException | None) -> None:
        cleanup = _cleanup(error)
        if cleanup == "cancel_then_discard":
            with suppress(Exception):
                await self.cancel_safe(timeout=CANCEL_SECONDS)
        if cleanup in ("cancel_then_discard", "discard_connection"):
            self.pgconn.finish()


class ConnectionPool(psycopg_pool.ConnectionPool[Connection[Any]]):
    """psycopg's pool, with connections that report."""

    def __init__(self, conninfo: Any = "", **options: Any) -> None:
        super().__init__(conninfo, **{"connection_class": Connection, **options})

    def getconn(self, timeout: float | None = None) -> Connection[Any]:
        """As psycopg's."""
        _report_acquiring()
        return super().getconn(timeout)


class AsyncConnectionPool(psycopg_pool.AsyncConnectionPool[AsyncConnection[Any]]):
    """As `ConnectionPool`, for asynchronous code."""

    def __init__(self, conninfo: Any = "", **options: Any) -> None:
        super().__init__(conninfo, **{"connection_class": AsyncConnection, **options})

    async def getconn(self, timeout: float | None = None) -> AsyncConnection[Any]:
        """As psycopg's."""
        _report_acquiring()
        return await super().getconn(timeout)


def _named(operation: Operation | None) -> Operation | None:
    """The operation, which now knows its system and driver."""
    if operation is not None:
        operation.system = operation.system or "postgresql"
        operation.driver = operation.driver or "psycopg"
    return operation


def _report_acquiring() -> None:
    operation = _named(current())
    if operation is not None:
        operation.acquiring()


def _report_connecting() -> None:
    operation = _named(current())
    if operation is not None:
        operation.connecting()


def _report_begun() -> None:
    operation = _named(current())
    if operation is not None:
        operation.begun()


def _report_ending(connection: _Base, force_rollback: bool) -> None:
    """The block of a transaction ends without an error: COMMIT follows, unless the transaction cannot commit."""
    operation = current()
    if force_rollback:
        return
    if connection.info.transaction_status == _IN_ERROR:
        raise CommitRolledBack
    if operation is not None:
        operation.committing()


def _report_ended(transaction: psycopg.Transaction | psycopg.AsyncTransaction) -> None:
    operation = current()
    if operation is None:
        return
    if transaction.status == transaction.Status.COMMITTED:
        operation.done()
    else:
        operation.rolled_back()


def _committing(connection: _Base) -> Operation | None:
    operation = _named(current())
    if operation is None or connection.info.transaction_status == _IDLE:
        return None
    operation.committing()
    return operation


def _rolling_back(connection: _Base) -> Operation | None:
    operation = _named(current())
    if operation is None or connection.info.transaction_status == _IDLE:
        return None
    operation.rolling_back()
    return operation


def _cleanup(error: BaseException | None) -> str:
    """What the connection needs before it leaves a failed block."""
    operation = current()
    if operation is None or error is None:
        return "none"
    return operation.judge(error).decision.cleanup


def _verb(query: object) -> str:
    """The first word of a statement that is a text; empty for composed ones, which transaction commands are not."""
    text = bytes(query[:64]).decode("ascii", "replace") if isinstance(query, bytes) else query
    words = text[:64].split(None, 1) if isinstance(text, str) else []
    return words[0].rstrip(";").upper() if words else ""
