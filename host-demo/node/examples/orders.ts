/**
 * Tools for orders in PostgreSQL, by pg.
 *
 * The pool is small and impatient and the statement timeout short, so that errors are easy to provoke. A write leaves a
 * receipt in its own transaction; `order_receipt` looks it up.
 */
import type { McpServer } from "@modelcontextprotocol/server";
import pg from "pg";
import { ConditionError } from "retort-contract";
import { withContract } from "retort-contract/mcp";
import { tracked } from "retort-contract/pg";
import { z } from "zod";

const SCHEMA = `
CREATE TABLE IF NOT EXISTS orders (
    id int PRIMARY KEY,
    amount int NOT NULL CHECK (amount > 0));
CREATE TABLE IF NOT EXISTS receipts (
    key text CONSTRAINT receipts_key PRIMARY KEY,
    order_id int NOT NULL);
`;

const pool = tracked(
  new pg.Pool({
    connectionString: process.env["RETORT_DSN"],
    max: 1,
    connectionTimeoutMillis: 500,
    statement_timeout: 1500,
  }),
);
pool.on("error", () => undefined);
await pool.query(SCHEMA);

const order = z.object({
  id: z.number().int(),
  amount: z.number().int(),
  operation_key: z.string().describe("Chosen once per order, repeated on a retry."),
  seconds: z.number().default(0).describe("How long the write takes."),
});

/** Who calls. Over stdio there is one principal, and it may know which orders exist. */
const contextOf = (): { authorized: boolean } => ({ authorized: true });

function text(value: string): { content: { type: "text"; text: string }[] } {
  return { content: [{ type: "text", text: value }] };
}

/** Adds the tools to a server. */
export function addTools(server: Pick<McpServer, "registerTool">): void {
  server.registerTool(
    "add_order",
    { description: "Adds an order. The write takes `seconds`.", inputSchema: order },
    withContract(
      async ({ id, amount, operation_key, seconds }) => {
        const client = await pool.connect();
        try {
          await client.query("BEGIN");
          await client.query("INSERT INTO receipts VALUES ($1, $2)", [operation_key, id]);
          await client.query("INSERT INTO orders SELECT $1, $2 FROM pg_sleep($3)", [id, amount, seconds]);
          await client.query("COMMIT");
        } finally {
          client.release();
        }
        return text(`order ${id} added`);
      },
      { tool: "add_order", effect: "write", dedupe: "receipt", key_constraint: "receipts_key", contextOf },
    ),
  );

  server.registerTool(
    "add_order_at_once",
    { description: "Adds an order in autocommit, without a receipt.", inputSchema: order },
    withContract(
      async ({ id, amount, seconds }) => {
        await pool.query("INSERT INTO orders SELECT $1, $2 FROM pg_sleep($3)", [id, amount, seconds]);
        return text(`order ${id} added`);
      },
      { tool: "add_order_at_once", effect: "write", contextOf },
    ),
  );

  server.registerTool(
    "get_order",
    { description: "One order.", inputSchema: z.object({ id: z.number().int() }) },
    withContract(
      async ({ id }) => {
        const answer = await pool.query("SELECT id, amount FROM orders WHERE id = $1", [id]);
        if (answer.rowCount === 0) throw new ConditionError("NOT_FOUND");
        return text(JSON.stringify(answer.rows[0]));
      },
      { tool: "get_order", effect: "read", contextOf },
    ),
  );

  server.registerTool(
    "order_receipt",
    { description: "What became of a write: committed or absent.", inputSchema: z.object({ operation_key: z.string() }) },
    withContract(
      async ({ operation_key }) => {
        const answer = await pool.query("SELECT 1 FROM receipts WHERE key = $1", [operation_key]);
        return text(answer.rowCount === 0 ? "absent" : "committed");
      },
      { tool: "order_receipt", effect: "read", contextOf },
    ),
  );
}
