/** The Rust host's own MCP server, read through both languages' official clients. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { repository } from "./paths.js";
import type { Command } from "./servers.js";
import { readWithPython, readWithTypescript } from "./servers.js";

const server: Command = [join(repository, "target/release/retort"), "serve"];

for (const [language, read] of [["TypeScript", readWithTypescript], ["Python", readWithPython]] as const) {
  test(`the ${language} client reads what retort serve says`, async () => {
    const reader = await read(server, "");
    try {
      const refused = await reader.call("update_status", { order_id: 1, status: "open" });
      assert.equal(refused.isError, true);
      assert.equal(refused.content.length, 1);
      const envelope = JSON.parse(refused.content[0]?.text ?? "") as Record<string, unknown>;
      assert.deepEqual(refused._meta?.["dev.retort/error"], envelope);
      assert.equal(envelope.code, "MISSING_ARGUMENT");
      assert.equal(envelope.outcome, "not_started");
      assert.deepEqual(envelope.arguments, [{ argument: "operation_key", rule: "required" }]);

      const change = { operation_key: `client-${language}`, order_id: 1, status: "shipped" };
      for (const _ of [1, 2]) {
        const changed = await reader.call("update_status", change);
        assert.notEqual(changed.isError, true);
        assert.deepEqual(JSON.parse(changed.content[0]?.text ?? ""), { order_id: 1, status: "shipped" });
      }
      const reused = await reader.call("update_status", { ...change, status: "closed" });
      assert.equal((JSON.parse(reused.content[0]?.text ?? "") as { code: string }).code, "KEY_REUSED");
    } finally {
      await reader.close();
    }
  });
}
