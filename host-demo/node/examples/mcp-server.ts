/**
 * An MCP server for orders: the official SDK, pg and PostgreSQL, over stdio.
 *
 *     RETORT_DSN=postgresql://user@host/database node mcp-server.js
 */
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

import { addTools } from "./orders.js";

serveStdio(() => {
  const server = new McpServer({ name: "orders", version: "1.0.0" });
  addTools(server);
  return server;
});
