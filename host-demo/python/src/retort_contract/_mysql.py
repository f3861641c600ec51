"""What MySQL and MariaDB need from an adapter beside what every server does.

A client that is gone stops nothing there, some errors end the transaction without a word, and so does DDL.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, MutableMapping
from contextlib import closing, suppress
from contextvars import Context
from typing import Any

from sqlalchemy.pool import ConnectionPoolEntry, Pool
from sqlalchemy.util import await_only, greenlet_spawn

CANCEL_SECONDS = 5.0
"""How long a cancel may take before the connection is closed anyway."""

#: Remembers the number that the server knows a connection by, and which server that is.
_BACKEND = "retort_contract.backend"
#: Remembers whether a transaction was open before a statement.
_OPEN = "retort_contract.open"
#: A number says nothing on another server, as behind a balancer.
_ASK_BACKEND = "SELECT CONNECTION_ID(), @@hostname, @@port"
#: The flag of the server's status that says: a transaction is open.
_IN_TRANSACTION = 1
#: ER_LOCK_DEADLOCK, which ends the transaction; for drivers that keep the server's status to themselves.
_DEADLOCK = 1213
#: What goes on after it was waited for: a loop alone would not keep it.
_ACTIONS: set[asyncio.Future[None]] = set()

#: What is remembered beside a connection.
Marks = MutableMapping[Any, Any]


def ask_backend(driver: Any, entry: ConnectionPoolEntry) -> None:
    """Asks a new connection what it is called."""
    with suppress(Exception), closing(driver.cursor()) as cursor:
        cursor.execute(_ASK_BACKEND)
        entry.info[_BACKEND] = tuple(cursor.fetchone())


def stop(pool: Pool, marks: Marks, is_async: bool) -> None:
    """Stops what a connection still runs, in `CANCEL_SECONDS` at most."""
    backend = marks.get(_BACKEND)
    if backend is not None:
        _in_time(lambda: _kill(pool, backend), is_async)


def before(driver: Any, marks: Marks) -> None:
    """A statement follows."""
    marks[_OPEN] = _is_open(driver)


def has_committed(driver: Any, marks: Marks) -> bool:
    """Did the statement that succeeded end the transaction before it, as DDL does?"""
    return marks.get(_OPEN) is True and _is_open(driver) is False


def has_rolled_back(driver: Any, marks: Marks, error: BaseException) -> bool:
    """Did the statement's failure end the transaction, as a deadlock does?

    Asked at once: without autocommit the next statement opens a new transaction, which looks the same.
    """
    was_open = marks.get(_OPEN)
    if was_open is None:
        return error.args[:1] == (_DEADLOCK,)
    with suppress(Exception), closing(driver.cursor()) as cursor:
        cursor.execute("DO 0")
    return was_open is True and _is_open(driver) is False


def _is_open(driver: Any) -> bool | None:
    """Does the server's last answer say that a transaction is open? `None` where the driver does not tell."""
    status = getattr(getattr(driver, "driver_connection", driver), "server_status", None)
    return bool(status & _IN_TRANSACTION) if isinstance(status, int) else None


def _kill(pool: Pool, backend: tuple[int, str, int]) -> None:
    """Through a connection of its own: the pool's may all be taken."""
    pool = pool.recreate()
    with suppress(Exception), closing(pool.connect()) as connection:
        if connection.info.get(_BACKEND, ())[1:] == backend[1:]:
            with closing(connection.cursor()) as cursor:
                cursor.execute(f"KILL QUERY {int(backend[0])}")
    pool.dispose()


def _in_time(action: Callable[[], None], is_async: bool) -> None:
    """In a context of its own, so that it reports to no operation."""
    if is_async:
        task = Context().run(asyncio.ensure_future, greenlet_spawn(action))
        _ACTIONS.add(task)
        task.add_done_callback(_ACTIONS.discard)
        await_only(asyncio.wait({task}, timeout=CANCEL_SECONDS))
    else:
        thread = threading.Thread(target=action, daemon=True)
        thread.start()
        thread.join(CANCEL_SECONDS)
