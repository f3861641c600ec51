"""An MCP server for orders: the official SDK, psycopg 3 and PostgreSQL, over stdio.

    RETORT_DSN=postgresql://user@host/database python mcp_server.py

The pool is small and impatient and the statement timeout short, so that errors are easy to provoke. A write leaves a
receipt in its own transaction; `order_receipt` looks it up. Works with `mcp` 1.x and 2.x.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from retort_contract import ConditionError, Contract
from retort_contract.psycopg import AsyncConnectionPool

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server  # type: ignore[no-redef, attr-defined, import-not-found, unused-ignore]

SCHEMA = """
CREATE TABLE IF NOT EXISTS orders (
    id int PRIMARY KEY,
    amount int NOT NULL CHECK (amount > 0));
CREATE TABLE IF NOT EXISTS receipts (
    key text CONSTRAINT receipts_key PRIMARY KEY,
    order_id int NOT NULL);
"""

server = Server("orders")
pool = AsyncConnectionPool(
    os.environ["RETORT_DSN"],
    min_size=1,
    max_size=1,
    timeout=0.5,
    open=False,
    kwargs={"options": "-c statement_timeout=1500"},
)


def caller(session: Any) -> Mapping[str, Any]:
    """Who calls. Over stdio there is one principal, and it may know which orders exist."""
    return {"principal": "local", "authorized": True, "boundary": "mcp"}


contract = Contract(context=caller)


async def _open() -> AsyncConnectionPool:
    if pool.closed:
        await pool.open()
        async with pool.connection(timeout=10) as connection:
            await connection.execute(SCHEMA)
    return pool


@server.tool()
@contract.tool(effect="write", dedupe="receipt", key_constraint="receipts_key")
async def add_order(id: int, amount: int, operation_key: str, seconds: float = 0.0) -> str:
    """Adds an order. The write takes `seconds`."""
    async with (await _open()).connection() as connection:
        await connection.execute("INSERT INTO receipts VALUES (%s, %s)", [operation_key, id])
        await connection.execute("INSERT INTO orders SELECT %s, %s FROM pg_sleep(%s)", [id, amount, seconds])
    return f"order {id} added"


@server.tool()
@contract.tool(effect="write")
async def add_order_at_once(id: int, amount: int, operation_key: str, seconds: float = 0.0) -> str:
    """Adds an order in autocommit, without a receipt. The write takes `seconds`."""
    async with (await _open()).connection() as connection:
        await connection.set_autocommit(True)
        try:
            await connection.execute("INSERT INTO orders SELECT %s, %s FROM pg_sleep(%s)", [id, amount, seconds])
        finally:
            if not connection.closed:
                await connection.set_autocommit(False)
    return f"order {id} added"


@server.tool()
@contract.tool(effect="read")
async def get_order(id: int) -> dict[str, int]:
    """One order."""
    async with (await _open()).connection() as connection:
        row = await (await connection.execute("SELECT id, amount FROM orders WHERE id = %s", [id])).fetchone()
    if row is None:
        raise ConditionError("NOT_FOUND")
    return {"id": row[0], "amount": row[1]}


@server.tool()
@contract.tool(effect="read")
async def order_receipt(operation_key: str) -> str:
    """What became of a write: committed or absent."""
    async with (await _open()).connection() as connection:
        found = await connection.execute("SELECT 1 FROM receipts WHERE key = %s", [operation_key])
        return "committed" if await found.fetchone() else "absent"


if __name__ == "__main__":
    server.run()
