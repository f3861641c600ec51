"""Reads a server with Python's official MCP client: a line of JSON {"name", "arguments"} in, a line with its result out.

    python read_with_python.py COMMAND ARGUMENT…
    python read_with_python.py http://ADDRESS
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def call(session: ClientSession, number: int, request: dict) -> None:
    result = await session.call_tool(request["name"], request["arguments"])
    dumped = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    print(json.dumps({"number": number, "result": dumped}), flush=True)


async def main() -> None:
    if sys.argv[1].startswith("http://"):
        server = streamable_http_client(sys.argv[1])
    else:
        server = stdio_client(StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ)))
    async with server as streams, ClientSession(*streams) as session, asyncio.TaskGroup() as group:
        await session.initialize()
        number = 0
        while line := await asyncio.to_thread(sys.stdin.readline):
            group.create_task(call(session, number, json.loads(line)))
            number += 1


asyncio.run(main())
