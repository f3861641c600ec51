import assert from "node:assert/strict";
import { test } from "node:test";

import type { JsonContract } from "retort-contract";
import { contract } from "retort-contract";

import { goldenCalls, goldenVerdicts } from "./golden.js";

/** Function of the contract → its name here. */
const NAMES: Readonly<Record<string, keyof JsonContract>> = { "evaluate-many": "evaluateMany" };

test("every golden report gives its golden verdict, byte for byte", () => {
  const cases = goldenVerdicts();
  assert.ok(cases.length > 100, `${cases.length} cases`);
  for (const { name, report, verdict } of cases) assert.equal(contract.json.evaluate(report), verdict, name);
});

test("every golden call gives its golden output, byte for byte", () => {
  const calls = goldenCalls();
  assert.ok(calls.length > 10, `${calls.length} calls`);
  for (const { name, function: called, input, output } of calls) {
    const run = contract.json[NAMES[called] ?? (called as keyof JsonContract)];
    assert.equal(run(input), output, name);
  }
});
