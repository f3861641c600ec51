import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer as ServerV1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import pg from "pg";
import { ConditionError, currentOperation } from "retort-contract";
import { withContract } from "retort-contract/mcp";
import { z } from "zod";

import { envelopeOf, scenarios } from "./scenarios.js";
import type { Reader, Result } from "./servers.js";
import {
  oldPythonServer,
  oldServer,
  pythonServer,
  readOverHttp,
  readOverHttpWithPython,
  readWithOldPython,
  readWithOldTypescript,
  readWithPython,
  readWithTypescript,
  typescriptServer,
} from "./servers.js";
import type { Service } from "./services.js";
import { startPostgres } from "./services.js";

const pairs = [
  { name: "the TypeScript server, read by the TypeScript client", connect: readWithTypescript, server: typescriptServer },
  { name: "the TypeScript server, read by the Python client", connect: readWithPython, server: typescriptServer },
  { name: "the Python server, read by the TypeScript client", connect: readWithTypescript, server: pythonServer },
  { name: "the Python server on SDK 1.x, read by the TypeScript client", connect: readWithTypescript, server: oldPythonServer },
  { name: "the TypeScript server, read by the Python client of SDK 1.x", connect: readWithOldPython, server: typescriptServer },
  { name: "the TypeScript server on SDK 1.x, read by its own client", connect: readWithOldTypescript, server: oldServer },
  { name: "the TypeScript server on SDK 1.x, read by the Python client", connect: readWithPython, server: oldServer },
  { name: "the TypeScript server on SDK 1.x, over HTTP by its own client", connect: readOverHttp, server: oldServer },
  { name: "the TypeScript server on SDK 1.x, over HTTP by the Python client", connect: readOverHttpWithPython, server: oldServer },
];

for (const { name, connect, server } of pairs) {
  describe(name, () => {
    let service: Service;
    let admin: pg.Pool;
    let reader: Reader;

    before(async () => {
      service = await startPostgres();
      const dsn = `postgresql://retort@127.0.0.1:${service.port}/postgres`;
      admin = new pg.Pool({ connectionString: dsn });
      admin.on("error", () => undefined);
      reader = await connect(server, dsn);
    });

    after(async () => {
      await reader.close();
      await admin.end();
      await service.stop();
    });

    test("a success passes through", async () => {
      const result = await reader.call("add_order", { id: 1000, amount: 1, operation_key: "key-1000" });
      assert.deepEqual([result.isError ?? false, result.content[0]?.text], [false, "order 1000 added"]);
    });

    for (const scenario of scenarios) {
      test(scenario.name, async () => {
        const envelope = envelopeOf(await scenario.provoke(reader, admin));
        const named = Object.keys(scenario.expected).map((field) => [field, envelope[field as keyof typeof envelope]]);
        assert.deepEqual(Object.fromEntries(named), scenario.expected);
      });
    }

    test("the server lives on", async () => {
      const result = await reader.call("order_receipt", { operation_key: "key-1000" });
      assert.deepEqual([result.isError ?? false, result.content[0]?.text], [false, "committed"]);
    });
  });
}

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
    const [near, far] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(near), client.connect(far)]);
    const called = await client.callTool({ name: "write", arguments: { operation_key: "k-9" } });
    const write = envelopeOf(called as Result);
    assert.deepEqual([write.code, write.operation_key], ["OUTCOME_UNKNOWN", "k-9"]);
    const read = envelopeOf((await client.callTool({ name: "read" })) as Result);
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
      const envelope = envelopeOf((await tool({ authorized: true }, extra)) as Result);
      assert.equal(envelope.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
      assert.deepEqual([envelope.code, envelope.reference], ["NOT_AUTHORIZED", undefined]);
    }
  });

  test("refuses a deduplicated write without a key before anything is done", async () => {
    let calls = 0;
    const count = async (_given: { operation_key?: string }, _extra: object): Promise<void> => void (calls += 1);
    const tool = withContract(count, { effect: "write", dedupe: "receipt" });
    const codes = [];
    for (const given of [{}, { operation_key: "a b" }]) {
      const envelope = envelopeOf((await tool(given, {})) as unknown as Result);
      codes.push([envelope.code, envelope.outcome]);
    }
    assert.deepEqual(codes, [["MISSING_ARGUMENT", "not_started"], ["INVALID_KEY", "not_started"]]);
    assert.equal(calls, 0);
    await tool({ operation_key: "k-1" }, {});
    assert.equal(calls, 1);
  });

  test("repeats the handler only where it is told to", async () => {
    let calls = 0;
    const busy = async (_extra: object): Promise<void> => {
      calls += 1;
      throw new ConditionError("POOL_BUSY");
    };
    const once = envelopeOf((await withContract(busy, { effect: "read" })({})) as unknown as Result);
    assert.deepEqual([calls, once.retryable], [1, true]);
    const policy = { base_ms: 1, cap_ms: 2 };
    const often = envelopeOf((await withContract(busy, { effect: "read", attempts: 3, policy })({})) as unknown as Result);
    assert.deepEqual([calls, often.retryable], [4, false]);
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
      { effect: "read", attempts: 3 },
    );
    envelopeOf((await tool({ signal: controller.signal })) as unknown as Result);
    assert.equal(calls, 1);
  });
});
