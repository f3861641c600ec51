import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport as InMemoryV1 } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer as ServerV1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import pg from "pg";
import type { Envelope } from "retort-contract";
import { ConditionError, contract, currentOperation } from "retort-contract";
import { withContract } from "retort-contract/mcp";
import { z } from "zod";

import { packageFolder } from "./paths.js";
import type { Service } from "./services.js";
import { startPostgres } from "./services.js";

/** What a tool call gave: MCP's result, whichever client read it. */
interface Result {
  isError?: boolean;
  content: { type: string; text?: string }[];
  _meta?: Record<string, unknown>;
}

/** The envelope, which must be the same in the one text block and in `_meta`. */
function envelopeOf(given: unknown): Envelope {
  const result = given as Result;
  assert.equal(result.isError, true, JSON.stringify(result));
  assert.equal(result.content.length, 1);
  const envelope = JSON.parse(result.content[0]?.text ?? "") as Envelope;
  assert.deepEqual(result._meta?.["dev.retort/error"], envelope);
  return envelope;
}

describe("a server over PostgreSQL, read by the official client", () => {
  let service: Service;
  let admin: pg.Pool;
  let client: Client;
  let id = 0;

  before(async () => {
    service = await startPostgres();
    const url = `postgres://retort@127.0.0.1:${service.port}/postgres`;
    admin = new pg.Pool({ connectionString: url });
    await admin.query("CREATE TABLE ledger (id int PRIMARY KEY, note text)");
    client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [join(packageFolder, "target/test/examples/mcp-server.js")],
        env: { ...process.env, DATABASE_URL: url } as Record<string, string>,
      }),
    );
  });

  after(async () => {
    await client.close();
    await admin.end();
    await service.stop();
  });

  async function add(given: object): Promise<unknown> {
    id += 1;
    const entry = { operation_key: `key-${id}`, id, note: "secret note", seconds: 0, ...given };
    return client.callTool({ name: "add_entry", arguments: entry });
  }

  async function kill(): Promise<void> {
    for (let tries = 0; tries < 100; tries += 1) {
      const killed = await admin.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'INSERT INTO ledger%' AND state = 'active'",
      );
      if (killed.rowCount === 1) return;
      await sleep(20);
    }
    assert.fail("no statement was running");
  }

  test("a success passes through unchanged", async () => {
    const result = (await add({ id: 1000 })) as Result;
    assert.deepEqual([result.isError ?? false, result.content], [false, [{ type: "text", text: '{"id":1000}' }]]);
  });

  test("a duplicate key is a conflict without effect, and tells no value", async () => {
    const envelope = envelopeOf(await add({ id: 1000 }));
    assert.deepEqual(
      [envelope.code, envelope.category, envelope.outcome, envelope.retryable],
      ["UNIQUE_VIOLATION", "conflict", "not_committed", false],
    );
    assert.equal(JSON.stringify(envelope).includes("secret note"), false);
  });

  test("a statement timeout has no effect", async () => {
    const envelope = envelopeOf(await add({ seconds: 30 }));
    assert.deepEqual([envelope.code, envelope.category, envelope.outcome], ["DB_TIMEOUT", "transient", "not_committed"]);
  });

  test("a backend killed in mid-write leaves an unknown outcome that nobody may repeat", async () => {
    const [result] = await Promise.all([add({ seconds: 1 }), kill()]);
    const envelope = envelopeOf(result);
    assert.deepEqual(
      [envelope.code, envelope.category, envelope.outcome, envelope.retryable],
      ["OUTCOME_UNKNOWN", "unknown_outcome", "unknown", false],
    );
    assert.equal(envelope.operation_key, `key-${id}`);
  });

  test("an exhausted pool has not started", async () => {
    const slow = [add({ seconds: 1.4 }), add({ seconds: 1.4 })];
    await sleep(150);
    const envelope = envelopeOf(await add({}));
    await Promise.all(slow);
    assert.deepEqual([envelope.code, envelope.outcome], ["POOL_BUSY", "not_started"]);
  });

  test("the server lives on", async () => {
    const result = (await client.callTool({ name: "count_entries", arguments: {} })) as Result;
    assert.equal(result.isError ?? false, false);
  });
});

describe("withContract", () => {
  test("serves @modelcontextprotocol/sdk 1.x, with and without arguments, whose client drops nothing", async () => {
    const server = new ServerV1({ name: "old", version: "1.0.0" });
    const fail = (): never => {
      currentOperation()?.executing();
      throw Object.assign(new Error("password=hunter2"), { code: "ECONNRESET", syscall: "read" });
    };
    server.registerTool(
      "write",
      { inputSchema: { operation_key: z.string() } },
      withContract(async ({ operation_key: _ }) => fail(), { effect: "write" }),
    );
    server.registerTool("read", {}, withContract(async () => fail(), { effect: "read", policy: { max_attempts: 1 } }));
    const client = new ClientV1({ name: "test", version: "1.0.0" });
    const [near, far] = InMemoryV1.createLinkedPair();
    await Promise.all([server.connect(near), client.connect(far)]);
    const write = envelopeOf(await client.callTool({ name: "write", arguments: { operation_key: "k-9" } }));
    assert.deepEqual([write.code, write.operation_key], ["OUTCOME_UNKNOWN", "k-9"]);
    const read = envelopeOf(await client.callTool({ name: "read" }));
    assert.deepEqual([read.category, read.outcome], ["transient", "not_committed"]);
    assert.equal(JSON.stringify([write, read]).includes("hunter2"), false);
    await client.close();
  });

  test("takes the trace from the request, and the rest of the context from the host only", async () => {
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const tool = withContract(
      async (_given: { authorized: boolean }, _extra: object): Promise<void> => {
        throw new ConditionError("NOT_FOUND");
      },
      { effect: "read", contextOf: () => ({ reference: "help-desk" }) },
    );
    for (const extra of [{ _meta: { traceparent } }, { mcpReq: { _meta: { traceparent } } }]) {
      const envelope = envelopeOf(await tool({ authorized: true }, extra));
      assert.equal(envelope.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
      assert.deepEqual([envelope.code, envelope.reference], ["NOT_AUTHORIZED", undefined]);
    }
  });

  test("gives up where the caller has gone", async () => {
    const controller = new AbortController();
    let calls = 0;
    const tool = withContract(
      async (_extra: { signal: AbortSignal }): Promise<void> => {
        calls += 1;
        controller.abort();
        throw new ConditionError("POOL_BUSY");
      },
      { effect: "read", contract: contract.with({}) },
    );
    envelopeOf(await tool({ signal: controller.signal }));
    assert.equal(calls, 1);
  });
});
