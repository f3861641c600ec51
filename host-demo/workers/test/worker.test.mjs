import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { serve } from "../serve.mjs";

const REPORT = ',"report":';
const VERDICT = ',"verdict":{"envelope":';

function lines(file) {
  const text = readFileSync(new URL(`../../../tests/corpus/${file}`, import.meta.url), "utf8");
  return text.split("\n").filter((line) => line !== "");
}

let worker;

before(async () => {
  worker = await serve("worker.capnp");
});

after(() => worker.stop());

test("every golden report gives its golden verdict, byte for byte, from the real workerd", async () => {
  const golden = lines("golden.jsonl");
  assert.ok(golden.length > 100, `${golden.length} cases`);
  for (const line of golden) {
    // The reports' own spelling must survive, so the line is cut, not parsed.
    const report = line.indexOf(REPORT);
    const verdict = line.lastIndexOf(VERDICT);
    const answer = await worker.post("/evaluate", line.slice(report + REPORT.length, verdict));
    const expected = line.slice(verdict + ',"verdict":'.length, -1);
    assert.equal(await answer.text(), expected, line.slice(0, report));
  }
});

test("every golden call gives its golden output, byte for byte", async () => {
  for (const line of lines("golden-calls.jsonl")) {
    const { name, function: called, input, output } = JSON.parse(line);
    const answer = await worker.post(`/${called}`, input);
    assert.equal(await answer.text(), output, name);
  }
});

for (const { path, fails, answers } of [
  { path: "/trap", fails: "a trap", answers: 1 },
  { path: "/memory", fails: "more memory than an instance may have", answers: 20_000 },
]) {
  test(`${fails} in workerd fails closed, and a fresh instance serves the next call`, async () => {
    const trap = await serve("test/trap.capnp");
    try {
      const report = '{"error":{"code":"23505"},"context":{"trace_id":"t-1"}}';
      const { closed, next, ...counted } = await (await trap.post(path, report)).json();
      assert.deepEqual(
        [closed.code, closed.outcome, closed.retryable, closed.trace_id],
        ["OUTCOME_UNKNOWN", "unknown", false, "t-1"],
      );
      assert.equal(next, await (await worker.post("/evaluate", report)).text());
      assert.deepEqual(counted, { outcomes: ["host/fault OUTCOME_UNKNOWN"], answers, instances: 2 });
    } finally {
      await trap.stop();
    }
  });
}

test("other paths, methods and sizes are refused", async () => {
  assert.equal((await worker.post("/toString", "")).status, 404);
  assert.equal((await fetch(worker.url("/evaluate"))).status, 405);
  assert.equal((await worker.post("/evaluate", "x".repeat(2 * 1024 * 1024 + 1))).status, 413);
});
