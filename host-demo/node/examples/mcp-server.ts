/**
 * An MCP server over PostgreSQL whose tools answer with the error envelope.
 *
 *     DATABASE_URL=postgres://… node mcp-server.js
 *
 * Lines that adopt the contract: the two imports, `tracked(…)` and `withContract(…)`.
 */
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import pg from "pg";
import { withContract } from "retort-contract/mcp";
import { tracked } from "retort-contract/pg";
import { z } from "zod";

const pool = tracked(
  new pg.Pool({
    connectionString: process.env["DATABASE_URL"],
    max: 2,
    connectionTimeoutMillis: 300,
    statement_timeout: 1500,
  }),
);

pool.on("error", () => undefined);

function createServer(): McpServer {
  const server = new McpServer({ name: "ledger", version: "1.0.0" });

  server.registerTool(
    "add_entry",
    {
      description: "Adds an entry to the ledger. Choose the operation key once per entry and repeat it on a retry.",
      inputSchema: z.object({
        operation_key: z.string(),
        id: z.number().int(),
        note: z.string(),
        seconds: z.number().default(0).describe("How long the database takes over it."),
      }),
    },
    withContract(
      async ({ id, note, seconds }) => {
        await pool.query("INSERT INTO ledger SELECT $1, $2 FROM pg_sleep($3)", [id, note, seconds]);
        return { content: [{ type: "text" as const, text: JSON.stringify({ id }) }] };
      },
      { tool: "add_entry", effect: "write", policy: { max_attempts: 2, base_ms: 20 } },
    ),
  );

  server.registerTool(
    "count_entries",
    { description: "Counts the ledger's entries.", inputSchema: z.object({}) },
    withContract(
      async () => {
        const answer = await pool.query<{ count: string }>("SELECT count(*) FROM ledger");
        return { content: [{ type: "text" as const, text: JSON.stringify({ count: Number(answer.rows[0]?.count) }) }] };
      },
      { tool: "count_entries", effect: "read" },
    ),
  );
  return server;
}

serveStdio(createServer);
