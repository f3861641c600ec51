/** What goes wrong on a real PostgreSQL while a server's tools are called. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

import type pg from "pg";
import type { Envelope } from "retort-contract";

import type { Reader, Result } from "./servers.js";

/** One way to fail, and what the envelope says then. */
export interface Scenario {
  name: string;
  provoke(reader: Reader, admin: pg.Pool): Promise<Result>;
  expected: Partial<Envelope>;
}

function order(id: number, seconds = 0): object {
  return { id, amount: 1, operation_key: `key-${id}`, seconds };
}

/** The process id of the backend that runs the slow INSERT. */
async function writer(admin: pg.Pool): Promise<number> {
  const running = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'INSERT INTO orders%' AND state = 'active'";
  for (let tries = 0; tries < 500; tries += 1) {
    const answer = await admin.query<{ pid: number }>(running);
    const [row] = answer.rows;
    if (row !== undefined) return row.pid;
    await sleep(20);
  }
  return assert.fail("no statement is running");
}

/** Waits until a killed backend is seen no more, so that it is not taken for a later one. */
async function ended(admin: pg.Pool, pid: number): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    const answer = await admin.query("SELECT 1 FROM pg_stat_activity WHERE pid = $1", [pid]);
    if (answer.rowCount === 0) return;
    await sleep(20);
  }
  assert.fail("the killed backend lives on");
}

/** The table of scenarios. */
export const scenarios: Scenario[] = [
  {
    name: "a duplicate key is a conflict without effect",
    provoke: async (reader) => {
      await reader.call("add_order", order(1));
      return reader.call("add_order", { ...order(1), operation_key: "another-key" });
    },
    expected: { code: "UNIQUE_VIOLATION", category: "conflict", outcome: "not_committed", retryable: false },
  },
  {
    name: "a repeated operation key has been applied already",
    provoke: async (reader) => reader.call("add_order", { ...order(2), operation_key: "key-1" }),
    expected: { code: "ALREADY_APPLIED", category: "permanent", outcome: "committed", next: "done" },
  },
  {
    name: "a statement timeout has no effect",
    provoke: async (reader) => reader.call("add_order", order(3, 30)),
    expected: { code: "DB_TIMEOUT", category: "transient", outcome: "not_committed" },
  },
  {
    name: "a backend killed in mid-write leaves an unknown outcome that nobody may repeat",
    provoke: async (reader, admin) => {
      const call = reader.call("add_order_at_once", order(4, 1.4));
      const pid = await writer(admin);
      await admin.query("SELECT pg_terminate_backend($1)", [pid]);
      const result = await call;
      await ended(admin, pid);
      return result;
    },
    expected: {
      code: "OUTCOME_UNKNOWN",
      category: "unknown_outcome",
      outcome: "unknown",
      retryable: false,
      next: "reconcile",
      operation_key: "key-4",
    },
  },
  {
    name: "an exhausted pool has not started",
    provoke: async (reader, admin) => {
      const held = reader.call("add_order_at_once", order(6, 1.4));
      await writer(admin);
      const refused = await reader.call("add_order", order(5));
      await held;
      return refused;
    },
    expected: { code: "POOL_BUSY", category: "transient", outcome: "not_started" },
  },
  {
    name: "a missing order is not found",
    provoke: async (reader) => reader.call("get_order", { id: 99 }),
    expected: { code: "NOT_FOUND", category: "not_found", outcome: "not_committed", retryable: false },
  },
];

/** The envelope, which must be the same in the one text block and in `_meta`, and tell nothing of the statement. */
export function envelopeOf(result: Result): Envelope {
  assert.equal(result.isError, true, JSON.stringify(result));
  assert.equal(result.content.length, 1);
  const envelope = JSON.parse(result.content[0]?.text ?? "") as Envelope;
  assert.deepEqual(result._meta?.["dev.retort/error"], envelope);
  assert.equal(/orders|receipts|INSERT|127\.0\.0\.1/.test(JSON.stringify(envelope)), false);
  return envelope;
}
