from __future__ import annotations

import os
from collections.abc import Iterator

import psycopg
import pytest

import postgres


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def private_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The compiled component of the tests, apart from the user's own."""
    os.environ["RETORT_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def dsn() -> Iterator[str]:
    """A real server."""
    with postgres.server() as conninfo:
        yield conninfo


@pytest.fixture
def orders(dsn: str) -> Iterator[psycopg.Connection]:
    """A fresh table, seen through a connection of the test's own."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS orders CASCADE")
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, amount int NOT NULL CHECK (amount > 0))")
        yield connection


def ids(connection: psycopg.Connection) -> list[int]:
    """The orders that are there."""
    return [row[0] for row in connection.execute("SELECT id FROM orders ORDER BY id")]
