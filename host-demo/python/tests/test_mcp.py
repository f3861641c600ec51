"""Tools of the official MCP SDK: what a client reads when they fail. Runs with `mcp` 1.x and 2.x."""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NoReturn

import anyio
import psycopg
import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client

from retort_contract import ConditionError, Contract, current
from retort_contract.mcp import META_KEY

from conftest import ids

IS_2 = importlib.metadata.version("mcp").startswith("2.")
EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "mcp_server.py"

pytestmark = pytest.mark.anyio


def high_level(name: str) -> Any:
    if IS_2:
        from mcp.server.mcpserver import MCPServer

        return MCPServer(name)
    from mcp.server.fastmcp import FastMCP  # type: ignore[attr-defined, import-not-found, unused-ignore]

    return FastMCP(name)


@asynccontextmanager
async def client(server: Any) -> AsyncIterator[Any]:
    """The official client, connected to a server in this process."""
    if IS_2:
        from mcp import Client

        async with Client(server) as session:
            yield session
    else:
        from mcp.shared.memory import (  # type: ignore[attr-defined, import-not-found, unused-ignore]
            create_connected_server_and_client_session,
        )

        async with create_connected_server_and_client_session(server) as session:
            yield session


def wire(result: Any) -> dict[str, Any]:
    """The result as it goes over the wire."""
    written: dict[str, Any] = json.loads(result.model_dump_json(by_alias=True, exclude_none=True))
    return written


def envelope(result: Any) -> dict[str, Any]:
    """The envelope of a failed call, after everything that carries it has been checked."""
    written = wire(result)
    assert written["isError"] is True
    [block] = written["content"]
    assert block["type"] == "text"
    read: dict[str, Any] = json.loads(block["text"])
    assert written["_meta"][META_KEY] == read
    assert "structuredContent" not in written
    return read


class Unwritable:
    """Has no JSON."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def fail(*_: object) -> NoReturn:
    raise RuntimeError("secret text of a driver")


async def test_a_tool_s_failure_is_an_envelope_and_its_success_stays_as_it_is() -> None:
    server, contract = high_level("test"), Contract()

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    @contract.tool(effect="read")
    async def lookup(name: str) -> dict[str, str]:
        """Looks a name up."""
        return {"name": name} if name == "known" else fail()

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    @contract.tool(effect="write")
    def store(name: str) -> str:
        """Stores a name."""
        operation = current()
        assert operation is not None and operation.effect == "write"
        return f"{name} stored" if name == "known" else fail()

    async with client(server) as session:
        assert json.loads(wire(await session.call_tool("lookup", {"name": "known"}))["content"][0]["text"]) == {
            "name": "known"
        }
        failed = envelope(await session.call_tool("lookup", {"name": "other"}))
        assert (failed["code"], failed["outcome"]) == ("DATABASE_ERROR", "not_committed")
        stored = await session.call_tool("store", {"name": "known", "operation_key": "k-1"})
        assert wire(stored)["content"][0]["text"] == "known stored"
        result = await session.call_tool("store", {"name": "other", "operation_key": "k-2"})
        failed = envelope(result)
        assert (failed["code"], failed["next"], failed["operation_key"]) == ("OUTCOME_UNKNOWN", "reconcile", "k-2")
        assert "secret" not in result.model_dump_json()


async def test_a_plain_write_requires_a_key_and_hides_what_the_sdk_passes_in() -> None:
    server, contract = high_level("test"), Contract()

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    @contract.tool(effect="write")
    async def store(name: str) -> str:
        """Stores a name."""
        return name

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    @contract.tool(effect="idempotent_write")
    async def put(name: str) -> str:
        """Puts a name."""
        return name

    async with client(server) as session:
        schemas = {tool.name: wire(tool)["inputSchema"] for tool in (await session.list_tools()).tools}
        assert sorted(schemas["store"]["required"]) == ["name", "operation_key"]
        assert sorted(schemas["put"]["properties"]) == ["name"]
        result = await session.call_tool("store", {"name": "a", "operation_key": "no spaces"})
        assert envelope(result)["code"] == "INVALID_KEY"


async def test_an_output_schema_does_not_break_the_envelope() -> None:
    server, contract = high_level("test"), Contract()

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    @contract.tool(effect="read")
    async def count(name: str) -> int:
        """Counts."""
        return 3 if name == "known" else fail()

    async with client(server) as session:
        [tool] = (await session.list_tools()).tools
        assert ("outputSchema" in wire(tool)) == IS_2
        assert envelope(await session.call_tool("count", {"name": "other"}))["code"] == "DATABASE_ERROR"
        assert wire(await session.call_tool("count", {"name": "known"}))["content"][0]["text"] == "3"


async def test_a_success_whose_value_the_sdk_refuses_is_told_as_applied() -> None:
    contract = Contract()
    server = contract.guard(high_level("test"))

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    @contract.tool(effect="write")
    async def store(name: str) -> Any if not IS_2 else int:  # type: ignore[valid-type, unused-ignore]
        """Stores a name; gives what no schema admits."""
        return "not a number" if IS_2 else Unwritable()

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    async def plain() -> str:
        """A tool that is not wrapped."""
        return fail()

    async with client(server) as session:
        lost = envelope(await session.call_tool("store", {"name": "a", "operation_key": "k-1"}))
        assert (lost["code"], lost["outcome"], lost["next"]) == ("RESULT_LOST", "committed", "done")
        assert META_KEY not in wire(await session.call_tool("plain", {})).get("_meta", {})
        wrong = wire(await session.call_tool("store", {"operation_key": "k-2"}))
        assert wrong["isError"] is True and META_KEY not in wrong.get("_meta", {})


async def test_who_calls_is_asked_of_the_session_and_never_of_the_arguments() -> None:
    sessions: list[Any] = []

    def caller(session: Any) -> Mapping[str, Any]:
        sessions.append(session)
        return {"authorized": False, "reference": "policy-7"}

    server, contract = high_level("test"), Contract(context=caller)

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    @contract.tool(effect="read")
    async def lookup(authorized: bool, reference: str) -> str:
        """Looks something up."""
        raise ConditionError("NOT_FOUND")

    async with client(server) as session:
        result = await session.call_tool("lookup", {"authorized": True, "reference": "mine"})
        assert envelope(result)["code"] == "NOT_AUTHORIZED"
    assert [hasattr(seen, "request_context") for seen in sessions] == [True]


async def test_the_request_s_trace_id_comes_back() -> None:
    server, contract = high_level("test"), Contract()

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    @contract.tool(effect="read")
    async def lookup() -> str:
        """Looks something up."""
        return fail()

    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    parent = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}
    async with client(server) as session:
        assert envelope(await session.call_tool("lookup", {}, meta=parent))["trace_id"] == trace_id
        assert envelope(await session.call_tool("lookup", {}))["trace_id"] != trace_id


async def test_repeated_calls_of_a_read_are_attempts_of_one_operation() -> None:
    class Busy(Exception):
        sqlstate = "40001"

    server, contract = high_level("test"), Contract(system="postgresql")

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    @contract.tool(effect="read")
    async def lookup(name: str) -> str:
        """Looks a name up."""
        raise Busy

    async with client(server) as session:
        calls = [envelope(await session.call_tool("lookup", {"name": "a"}))["retryable"] for _ in range(4)]
        assert calls == [True, True, False, False]
        assert envelope(await session.call_tool("lookup", {"name": "b"}))["retryable"] is True


async def test_the_handler_of_a_low_level_server_is_wrapped_alike() -> None:
    contract = Contract()
    decorate = contract.tool({"lookup": "read", "store": "write"})
    schema = {"type": "object", "properties": {}}

    if IS_2:
        from mcp import types
        from mcp.server.lowlevel import Server

        async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
            tools = [types.Tool(name=name, input_schema=schema) for name in ("lookup", "store")]
            return types.ListToolsResult(tools=tools)

        @decorate
        async def call_tool(context: Any, params: Any) -> types.CallToolResult:
            return fail()

        server: Any = Server("test", on_list_tools=list_tools, on_call_tool=call_tool)
    else:
        from mcp import types as old
        from mcp.server.lowlevel import Server as OldServer

        server = OldServer("test")

        @server.list_tools()  # type: ignore[untyped-decorator, unused-ignore]
        async def listed() -> list[Any]:
            return [old.Tool(name=name, inputSchema=schema) for name in ("lookup", "store")]  # type: ignore[call-arg, unused-ignore]

        @server.call_tool()  # type: ignore[untyped-decorator, unused-ignore]
        @decorate
        async def called(name: str, arguments: dict[str, Any]) -> list[Any]:
            return fail()

    async with client(server) as session:
        assert envelope(await session.call_tool("lookup", {}))["code"] == "DATABASE_ERROR"
        assert envelope(await session.call_tool("store", {}))["code"] == "MISSING_ARGUMENT"
        failed = envelope(await session.call_tool("store", {"operation_key": "k-1"}))
        assert (failed["code"], failed["operation_key"]) == ("OUTCOME_UNKNOWN", "k-1")


# The example server as a process of its own, on a real PostgreSQL.


@asynccontextmanager
async def example(dsn: str) -> AsyncIterator[ClientSession]:
    environment = {**os.environ, "RETORT_DSN": dsn, "PYTHONWARNINGS": "ignore"}
    parameters = StdioServerParameters(command=sys.executable, args=[str(EXAMPLE)], env=environment)
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        await session.initialize()
        assert (
            wire(await session.call_tool("order_receipt", {"operation_key": "none"}))["content"][0]["text"] == "absent"
        )
        yield session


async def backend(connection: psycopg.Connection) -> int:
    """The server process that runs the example's slow INSERT."""
    running = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'INSERT INTO orders SELECT%' AND state = 'active'"
    while (row := connection.execute(running).fetchone()) is None:
        await anyio.sleep(0.02)
    pid: int = row[0]
    return pid


async def test_the_example_server_tells_every_failure_apart(dsn: str, orders: psycopg.Connection) -> None:
    orders.execute("DROP TABLE IF EXISTS receipts")
    async with example(dsn) as session:

        async def add(id: int, key: str, tool: str = "add_order", **more: float) -> Any:
            arguments = {"id": id, "amount": 5, "operation_key": key, **more}
            return await session.call_tool(tool, arguments)

        # A success, and its receipt.
        assert wire(await add(1, "k-1"))["content"][0]["text"] == "order 1 added"
        receipt = await session.call_tool("order_receipt", {"operation_key": "k-1"})
        assert wire(receipt)["content"][0]["text"] == "committed"

        # A duplicate key.
        duplicate = envelope(await add(1, "k-2"))
        assert (duplicate["code"], duplicate["outcome"]) == ("UNIQUE_VIOLATION", "not_committed")

        # The same operation again: its own receipt is in the way.
        again = envelope(await add(1, "k-1"))
        assert (again["code"], again["outcome"], again["next"]) == ("ALREADY_APPLIED", "committed", "done")

        # A statement timeout.
        slow = envelope(await add(2, "k-3", seconds=20.0))
        assert (slow["code"], slow["outcome"], slow["retryable"]) == ("DB_TIMEOUT", "not_committed", True)

        # An exhausted pool.
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: add(3, "k-4", seconds=1.2))
            await backend(orders)
            busy = envelope(await add(4, "k-5"))
        assert (busy["code"], busy["outcome"], busy["retryable"]) == ("POOL_BUSY", "not_started", True)

        # A backend killed in the middle of a transaction, and of a write in autocommit.
        killed: dict[str, dict[str, Any]] = {}

        async def kill(tool: str, id: int) -> None:
            killed[tool] = envelope(await add(id, f"k-{tool}", tool, seconds=20.0))

        for id, tool in ((5, "add_order"), (6, "add_order_at_once")):
            async with anyio.create_task_group() as group:
                group.start_soon(kill, tool, id)
                orders.execute("SELECT pg_terminate_backend(%s)", [await backend(orders)])
        assert (killed["add_order"]["outcome"], killed["add_order"]["category"]) == ("not_committed", "transient")
        unknown = killed["add_order_at_once"]
        assert (unknown["code"], unknown["outcome"], unknown["next"]) == ("OUTCOME_UNKNOWN", "unknown", "reconcile")
        assert unknown["operation_key"] == "k-add_order_at_once"

        # The next call works.
        assert wire(await add(7, "k-7"))["content"][0]["text"] == "order 7 added"
        missing = envelope(await session.call_tool("get_order", {"id": 99}))
        assert (missing["code"], missing["category"]) == ("NOT_FOUND", "not_found")
    assert ids(orders) == [1, 3, 7]
