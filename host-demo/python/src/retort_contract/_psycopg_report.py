"""What psycopg connections and cursors report to the current operation."""

from __future__ import annotations

import re
from typing import Any

import psycopg
from psycopg import pq

from .operation import CommitRolledBack, Operation, current

Base = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]

_IDLE = pq.TransactionStatus.IDLE
_IN_ERROR = pq.TransactionStatus.INERROR

_BEGIN = ("BEGIN", "START")
_COMMIT = ("COMMIT", "END")
_ROLLBACK = ("ROLLBACK", "ABORT")
#: Commands that change no data.
_SESSION = ("SET", "SHOW", "RESET", "EXPLAIN", "LISTEN", "UNLISTEN", "DISCARD")
#: Comments before a statement, and its first word.
_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*([A-Za-z]+)", re.DOTALL)
#: How far the first word is looked for.
_LONGEST_HEAD = 4096


class Statement:
    """One statement's report to the current operation."""

    def __init__(self, connection: Base, query: object, *, unit: str | None = None) -> None:
        self._connection = connection
        self._operation = _named(current())
        self._verb = _verb(query)
        self._is_autocommit = False
        if self._operation is not None:
            self._before(self._operation)
            if unit is not None:
                self._operation.unit = unit

    def _before(self, operation: Operation) -> None:
        self._is_autocommit = self._connection.autocommit and not _is_inside(self._connection)
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
        is_ended = is_idle(self._connection)
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
            if operation.transaction == "failed" and not is_failed(self._connection):
                # It rolled back to a savepoint.
                operation.begun()
        elif tag == "ROLLBACK":
            operation.rolled_back()
        elif not is_pipelined(self._connection):
            operation.done()

    def failed(self) -> None:
        """The server or the connection failed."""
        if self._operation is not None and is_failed(self._connection):
            self._operation.failed()


def _named(operation: Operation | None) -> Operation | None:
    """The operation, which now knows its system and driver."""
    if operation is not None:
        operation.system = operation.system or "postgresql"
        operation.driver = operation.driver or "psycopg"
    return operation


def acquiring() -> None:
    """A pooled connection is waited for."""
    operation = _named(current())
    if operation is not None:
        operation.acquiring()


def acquired() -> None:
    """A connection is there. What happens on it past these classes' eyes must not look as if nothing was sent."""
    operation = current()
    if operation is not None:
        operation.acquired()


def is_idle(connection: Base) -> bool:
    """Is no transaction open?"""
    return connection.info.transaction_status == _IDLE


def is_pipelined(connection: Base) -> bool:
    """Are statements sent without waiting for the answers before them? Then the driver cannot tell where it is."""
    return connection.info.pipeline_status != pq.PipelineStatus.OFF


def _is_inside(connection: Base) -> bool:
    """Is a transaction open for certain?"""
    return connection.info.transaction_status in (pq.TransactionStatus.INTRANS, _IN_ERROR)


def is_failed(connection: Base) -> bool:
    """Has the server declared the transaction failed, so that COMMIT would roll back?"""
    return connection.info.transaction_status == _IN_ERROR


def prepared() -> None:
    """The transaction's fate is decided elsewhere from here on, also where the answer is missing."""
    operation = _named(current())
    if operation is not None:
        operation.transaction = "prepared"


def finished() -> None:
    """The second phase of a commit was confirmed."""
    operation = current()
    if operation is not None:
        operation.done()


def connecting() -> None:
    """A connection is being opened."""
    operation = _named(current())
    if operation is not None:
        operation.connecting()


def begun() -> None:
    """A transaction's block has begun."""
    operation = _named(current())
    if operation is not None:
        operation.begun()


def ending(connection: Base, force_rollback: bool) -> None:
    """The block of a transaction ends without an error: COMMIT follows, unless the transaction cannot commit."""
    operation = current()
    if force_rollback:
        return
    if is_failed(connection):
        raise CommitRolledBack
    if operation is not None:
        operation.committing()


def unclear() -> None:
    """A pipelined block has ended: it may have committed, or only have released a savepoint."""
    operation = current()
    if operation is not None:
        operation.applied()
        operation.acquired()
        operation.transaction = "unknown"


def ended(transaction: psycopg.Transaction | psycopg.AsyncTransaction) -> None:
    """A transaction's block has ended without an error."""
    operation = current()
    if operation is None:
        return
    if transaction.status == transaction.Status.COMMITTED:
        operation.done()
    else:
        operation.rolled_back()


def committing(connection: Base) -> Operation | None:
    """COMMIT is being written; the operation, where there is one and something to commit."""
    operation = _named(current())
    if operation is None or is_idle(connection):
        return None
    operation.committing()
    return operation


def rolling_back(connection: Base) -> Operation | None:
    """ROLLBACK is being written; the operation, where there is one and something to roll back."""
    operation = _named(current())
    if operation is None or is_idle(connection):
        return None
    operation.rolling_back()
    return operation


def cleanup(error: BaseException | None) -> str:
    """What the connection needs before it leaves a failed block."""
    operation = current()
    if operation is None or error is None:
        return "none"
    return operation.judge(error).decision.cleanup


def _verb(query: object) -> str:
    """The first word of a statement that is a text; empty for composed ones, which transaction commands are not."""
    head = query[:_LONGEST_HEAD] if isinstance(query, (str, bytes)) else ""
    text = head.decode("ascii", "replace") if isinstance(head, bytes) else head
    match = _FIRST_WORD.match(text)
    return match[1].upper() if match else ""
