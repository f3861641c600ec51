"""Django wraps a driver's error in one of its own; the driver's codes are behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import django
import django.conf
import psycopg
import pytest
from django.db import IntegrityError, OperationalError
from django.db.utils import ConnectionHandler, DatabaseError

from retort_contract import Contract, capture

from conftest import ids


@pytest.fixture
def database(dsn: str, orders: psycopg.Connection) -> Iterator[Any]:
    """A connection of Django's to the real server."""
    parts = psycopg.conninfo.conninfo_to_dict(dsn)
    named = {"NAME": "dbname", "USER": "user", "HOST": "host", "PORT": "port"}
    settings = {name: parts[key] for name, key in named.items() if key in parts}
    if not django.conf.settings.configured:
        django.conf.settings.configure()
        django.setup()
    connection = ConnectionHandler({"default": {"ENGINE": "django.db.backends.postgresql", **settings}})["default"]
    yield connection
    connection.close()


def judged(contract: Contract, error: DatabaseError, **operation: str) -> tuple[str, str, list[str]]:
    verdict = contract.evaluate({"error": error, "operation": {"phase": "execute", **operation}})
    return verdict.envelope.code, verdict.envelope.outcome, list(verdict.diagnostic["native_codes"])


def test_the_driver_s_codes_are_read_through_django_s_wrapper(database: Any, orders: psycopg.Connection) -> None:
    contract, secret = Contract(), 987654321
    with database.cursor() as cursor:
        cursor.execute("INSERT INTO orders VALUES (%s, 1)", [secret])
        with pytest.raises(IntegrityError) as raised:
            cursor.execute("INSERT INTO orders VALUES (%s, 1)", [secret])
    assert capture(raised.value)["name"] == "django.db.utils.IntegrityError"
    assert judged(contract, raised.value, transaction="none") == ("UNIQUE_VIOLATION", "not_committed", ["23505"])
    verdict = contract.evaluate({"error": raised.value, "operation": {"phase": "execute"}})
    assert str(secret) not in str(verdict.envelope) + str(verdict.attempt)
    with database.cursor() as cursor, pytest.raises(OperationalError) as timed_out:
        cursor.execute("SET statement_timeout = '50ms'")
        cursor.execute("SELECT pg_sleep(20)")
    assert judged(contract, timed_out.value, effect="read") == ("DB_TIMEOUT", "not_committed", ["57014"])
    assert ids(orders) == [secret]
