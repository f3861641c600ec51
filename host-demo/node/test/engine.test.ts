import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import type { Core, Verdict } from "retort-contract";
import { Contract, contract, LONGEST_TEXT } from "retort-contract";

import { goldenFaults } from "./golden.js";

const path = new URL(import.meta.resolve("retort-contract/retort.core.wasm"));
const module = new WebAssembly.Module(readFileSync(path));

function fresh(): Core {
  return new WebAssembly.Instance(module).exports;
}

/** A contract whose first instance traps for real: it reads beyond its memory. */
function trapping(): { broken: Contract; instances: () => number } {
  let instances = 0;
  const instantiate = (): Core => {
    instances += 1;
    const core = fresh();
    if (instances > 1) return core;
    const entries = Object.entries(core).map(([name, run]) => {
      const isFunction = name.startsWith("retort:contract/json") && typeof run === "function";
      return [name, isFunction ? () => (run as (...range: number[]) => unknown)(0xffff_0000, 0xffff) : run] as const;
    });
    return Object.fromEntries(entries);
  };
  return { broken: new Contract({ instantiate }), instances: () => instances };
}

const write = JSON.stringify({ error: { code: "23505" }, context: { trace_id: "t-1" } });

test("a trap fails closed as an unknown outcome, and the next call meets a fresh instance", () => {
  const { broken, instances } = trapping();
  const closed = JSON.parse(broken.json.evaluate(write)) as Verdict;
  assert.deepEqual(closed.envelope, {
    code: "OUTCOME_UNKNOWN",
    category: "unknown_outcome",
    retryable: false,
    outcome: "unknown",
    trace_id: "t-1",
    message: "It is not known whether the operation took effect. Do not repeat it before that is known.",
    next: "escalate",
  });
  assert.equal(broken.json.evaluate(write), contract.json.evaluate(write));
  assert.equal(instances(), 2);
});

test("a trap on a read fails closed as a database error", () => {
  const closed = trapping().broken.evaluate({ error: new Error("x"), operation: { effect: "read" } });
  assert.deepEqual(
    [closed.envelope.code, closed.envelope.outcome, closed.envelope.retryable, closed.decision.cleanup],
    ["DATABASE_ERROR", "not_committed", false, "cancel_then_discard"],
  );
  assert.match(closed.envelope.trace_id, /^[0-9a-f]{32}$/);
});

test("the closed verdicts use the contract's own texts", () => {
  const messages = new Map(contract.codes().map((row) => [row.code, row]));
  for (const effect of ["read", "write"] as const) {
    const { envelope } = trapping().broken.evaluate({ error: null, operation: { effect } });
    const row = messages.get(envelope.code);
    assert.deepEqual([envelope.message, envelope.category], [row?.message, row?.category]);
  }
});

/** A contract whose module cannot even be instantiated. */
const broken = new Contract({
  instantiate: () => {
    throw new Error("no such file: /etc/secret");
  },
});

test("every function fails closed as every host does", () => {
  const { json } = broken;
  const functions = { ...json, "evaluate-many": json.evaluateMany } as Readonly<Record<string, (text: string) => string>>;
  const faults = goldenFaults();
  assert.ok(faults.length > 20);
  for (const { name, function: called, input, output } of faults) {
    const answer = functions[called]!(input).replaceAll(/[0-9a-f]{32}/g, "0".repeat(32));
    assert.deepEqual(JSON.parse(answer), JSON.parse(output), name);
  }
  assert.equal(broken.version(), "");
});

test("a failing module's typed answers hold nothing of what was asked", () => {
  assert.equal(broken.evaluate({ error: null }).envelope.code, "OUTCOME_UNKNOWN");
  assert.equal(broken.redact("pässword=x").text, "[withheld]");
  assert.equal(broken.budget(10, "success"), 0);
  assert.equal(broken.toolFailure(contract.evaluate({ error: 1 }).envelope).isError, true);
  assert.deepEqual(broken.codes(), []);
});

test("a text beyond the limit never reaches the module", () => {
  const verdict = JSON.parse(contract.json.evaluate("x".repeat(LONGEST_TEXT + 1))) as Verdict;
  assert.equal(verdict.diagnostic.rule, "host/fault");
});

test("memory stays bounded: the peak of one large report is not kept", () => {
  const own = contract.with({});
  own.json.evaluate(write);
  const small = own.memoryBytes;
  own.json.evaluate(JSON.stringify({ error: { message: "m".repeat(LONGEST_TEXT - 100) } }));
  assert.equal(own.memoryBytes, 0);
  for (let calls = 0; calls < 20_000; calls += 1) own.json.evaluate(write);
  assert.equal(own.memoryBytes, small);
});

test("more memory than an instance may have fails closed, and the next call meets a fresh instance", () => {
  const own = contract.with({});
  const verdicts = JSON.parse(own.json.evaluateMany(`[${Array(20_000).fill(write).join()}]`)) as Verdict[];
  assert.equal(verdicts.length, 20_000);
  const outcomes = new Set(verdicts.map(({ diagnostic, envelope }) => `${diagnostic.rule} ${envelope.code}`));
  assert.deepEqual([...outcomes], ["host/fault OUTCOME_UNKNOWN"]);
  assert.equal(own.json.evaluate(write), contract.json.evaluate(write));
});

test("strings beyond the basic plane and lone surrogates pass the boundary", () => {
  for (const message of ["𝕏 é 漢", "\ud800", "a\udc00b", "\ufeffbom"]) {
    const text = JSON.stringify({ error: { message }, context: { trace_id: "t" } });
    const fromText = JSON.parse(contract.json.evaluate(text)) as Verdict;
    assert.equal(fromText.envelope.trace_id, "t");
    assert.equal(contract.evaluate({ error: { message }, context: { trace_id: "t" } }).envelope.trace_id, "t");
    assert.equal(JSON.parse(contract.json.evaluate(`{"error":"${message}","context":{"trace_id":"t"}}`)).envelope.trace_id, "t");
  }
});

test("the same report gives the same bytes, whatever was judged before", () => {
  const first = contract.json.evaluate(write);
  contract.json.evaluate("not JSON");
  contract.json.redact("x".repeat(100_000));
  assert.equal(contract.json.evaluate(write), first);
});
