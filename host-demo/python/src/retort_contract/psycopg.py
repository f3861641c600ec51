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
from psycopg.rows import Row

from . import _psycopg_report as report
from .operation import CommitRolledBack

CANCEL_SECONDS = 5.0
"""How long a cancel may take before the connection is closed anyway."""


class Cursor(psycopg.Cursor[Row]):
    """A cursor that reports its statements."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        """As psycopg's."""
        statement = report.Statement(self.connection, query)
        try:
            super().execute(query, params, **options)
        except BaseException:
            statement.failed()
            raise
        statement.succeeded(self.statusmessage)
        return self

    def executemany(self, query: Any, params_seq: Iterable[Any], *, returning: bool = False) -> None:
        """As psycopg's."""
        statement = report.Statement(self.connection, query, unit="batch")
        try:
            super().executemany(query, params_seq, returning=returning)
        except BaseException:
            statement.failed()
            raise
        statement.succeeded(self.statusmessage)

    @contextmanager
    def copy(self, statement: Any, params: Any = None, **options: Any) -> Iterator[Any]:
        """As psycopg's."""
        copied = report.Statement(self.connection, statement, unit="many")
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
        statement = report.Statement(self.connection, query)
        try:
            await super().execute(query, params, **options)
        except BaseException:
            statement.failed()
            raise
        statement.succeeded(self.statusmessage)
        return self

    async def executemany(self, query: Any, params_seq: Iterable[Any], *, returning: bool = False) -> None:
        """As psycopg's."""
        statement = report.Statement(self.connection, query, unit="batch")
        try:
            await super().executemany(query, params_seq, returning=returning)
        except BaseException:
            statement.failed()
            raise
        statement.succeeded(self.statusmessage)

    @asynccontextmanager
    async def copy(self, statement: Any, params: Any = None, **options: Any) -> AsyncIterator[Any]:
        """As psycopg's."""
        copied = report.Statement(self.connection, statement, unit="many")
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
        report.connecting()
        connection = super().connect(conninfo, **options)
        report.acquired()
        return connection

    def commit(self) -> None:
        """As psycopg's.

        Raises:
            CommitRolledBack: The server had declared the transaction failed.
        """
        if report.is_failed(self):
            self.rollback()
            raise CommitRolledBack
        operation = report.committing(self)
        super().commit()
        if operation is not None:
            operation.done()

    def rollback(self) -> None:
        """As psycopg's."""
        operation = report.rolling_back(self)
        super().rollback()
        if operation is not None:
            operation.rolled_back()

    @contextmanager
    def transaction(self, savepoint_name: str | None = None, force_rollback: bool = False) -> Iterator[Any]:
        """As psycopg's.

        Raises:
            CommitRolledBack: The server had declared the transaction failed.
        """
        is_pipelined = report.is_pipelined(self)
        is_outermost = report.is_idle(self) and not is_pipelined
        with super().transaction(savepoint_name, force_rollback) as transaction:
            if is_outermost:
                report.begun()
            yield transaction
            if is_outermost or is_pipelined:
                report.ending(self, force_rollback)
        if is_outermost:
            report.ended(transaction)
        elif is_pipelined:
            report.unclear()

    def tpc_prepare(self) -> None:
        """As psycopg's."""
        report.prepared()
        super().tpc_prepare()

    def tpc_commit(self, xid: psycopg.Xid | str | None = None) -> None:
        """As psycopg's."""
        report.prepared()
        super().tpc_commit(xid)
        report.finished()

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
        cleanup = report.cleanup(error)
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
        report.connecting()
        connection = await super().connect(conninfo, **options)
        report.acquired()
        return connection

    async def commit(self) -> None:
        """As psycopg's.

        Raises:
            CommitRolledBack: The server had declared the transaction failed.
        """
        if report.is_failed(self):
            await self.rollback()
            raise CommitRolledBack
        operation = report.committing(self)
        await super().commit()
        if operation is not None:
            operation.done()

    async def rollback(self) -> None:
        """As psycopg's."""
        operation = report.rolling_back(self)
        await super().rollback()
        if operation is not None:
            operation.rolled_back()

    @asynccontextmanager
    async def transaction(self, savepoint_name: str | None = None, force_rollback: bool = False) -> AsyncIterator[Any]:
        """As psycopg's.

        Raises:
            CommitRolledBack: The server had declared the transaction failed.
        """
        is_pipelined = report.is_pipelined(self)
        is_outermost = report.is_idle(self) and not is_pipelined
        async with super().transaction(savepoint_name, force_rollback) as transaction:
            if is_outermost:
                report.begun()
            yield transaction
            if is_outermost or is_pipelined:
                report.ending(self, force_rollback)
        if is_outermost:
            report.ended(transaction)
        elif is_pipelined:
            report.unclear()

    async def tpc_prepare(self) -> None:
        """As psycopg's."""
        report.prepared()
        await super().tpc_prepare()

    async def tpc_commit(self, xid: psycopg.Xid | str | None = None) -> None:
        """As psycopg's."""
        report.prepared()
        await super().tpc_commit(xid)
        report.finished()

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
        cleanup = report.cleanup(error)
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
        report.acquiring()
        connection = super().getconn(timeout)
        report.acquired()
        return connection


class AsyncConnectionPool(psycopg_pool.AsyncConnectionPool[AsyncConnection[Any]]):
    """As `ConnectionPool`, for asynchronous code."""

    def __init__(self, conninfo: Any = "", **options: Any) -> None:
        super().__init__(conninfo, **{"connection_class": AsyncConnection, **options})

    async def getconn(self, timeout: float | None = None) -> AsyncConnection[Any]:
        """As psycopg's."""
        report.acquiring()
        connection = await super().getconn(timeout)
        report.acquired()
        return connection
