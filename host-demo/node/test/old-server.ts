/**
 * The example's tools on a server of `@modelcontextprotocol/sdk` 1.x: over stdio, or with `--http` on a free port of the
 * loopback, whose address is printed.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

import { addTools } from "../examples/orders.js";

const server = new McpServer({ name: "orders", version: "1.0.0" });
// The two generations take the same tools, under types of their own.
addTools(server as unknown as Parameters<typeof addTools>[0]);

if (process.argv.includes("--http")) {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
  await server.connect(transport);
  const listener = createServer((request, response) => void transport.handleRequest(request, response));
  await once(listener.listen(0, "127.0.0.1"), "listening");
  console.log(`http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp`);
} else {
  await server.connect(new StdioServerTransport());
}
