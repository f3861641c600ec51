import assert from "node:assert/strict";
import { test } from "node:test";

import { capture, ConditionError } from "retort-contract";

class DatabaseError extends Error {}

test("an error gives its name, class, message and own members, hidden ones included", () => {
  const error = Object.assign(new DatabaseError("duplicate key"), { code: "23505", severity: "ERROR" });
  Object.defineProperty(error, "constraint", { value: "account_pkey", enumerable: false });
  assert.deepEqual(capture(error), {
    message: "duplicate key",
    code: "23505",
    severity: "ERROR",
    constraint: "account_pkey",
    name: "Error",
    className: "DatabaseError",
  });
});

test("statements, parameters, rows and stacks stay out", () => {
  const secret = "4111 1111 1111 1111";
  const error = Object.assign(new Error("failed"), {
    query: secret,
    parameters: [secret],
    params: [secret],
    bindings: [secret],
    args: [secret],
    sql: secret,
    values: [secret],
    keyValue: { card: secret },
    command: { name: "set", args: [secret] },
    config: { headers: { authorization: secret } },
    writeErrors: [{ code: 11000, err: { op: { card: secret } } }],
  });
  Object.defineProperty(error, "parameters", { value: [secret], enumerable: false });
  const text = JSON.stringify(capture(error));
  assert.equal(text.includes(secret), false);
  assert.deepEqual(JSON.parse(text), {
    message: "failed",
    command: { name: "set" },
    writeErrors: [{ code: 11000, err: {} }],
    name: "Error",
  });
});

test("every way to a cause is followed", () => {
  const driver = Object.assign(new Error("inner"), { errno: 1062 });
  const inner = { message: "inner", errno: 1062, name: "Error" };
  for (const name of ["cause", "original", "originalError", "parent", "driverError", "reason"]) {
    const captured = capture(Object.assign(new Error("outer"), { [name]: driver }));
    assert.deepEqual(captured, { message: "outer", [name]: inner, name: "Error" });
  }
  const several = capture(new AggregateError([driver, new TypeError("other")], "all"));
  assert.deepEqual(several, {
    message: "all",
    errors: [inner, { message: "other", name: "TypeError" }],
    name: "AggregateError",
  });
});

test("cycles, deep chains and getters that throw are passed over", () => {
  const error = new Error("loop") as Error & { self?: unknown };
  error.cause = { back: error };
  Object.defineProperty(error, "trap", {
    enumerable: true,
    get() {
      throw new Error("no");
    },
  });
  assert.deepEqual(capture(error), { message: "loop", cause: {}, name: "Error" });
  let deep: unknown = "bottom";
  for (let level = 0; level < 10_000; level += 1) deep = { cause: deep };
  assert.ok(JSON.stringify(capture(deep)).length < 200);
  const hostile = new Proxy(
    {},
    {
      ownKeys() {
        throw new Error("no");
      },
    },
  );
  assert.equal(capture(hostile), null);
});

test("values that JSON lacks have a plain form", () => {
  const value = {
    big: 12n,
    huge: 2n ** 70n,
    none: undefined,
    nan: Number.NaN,
    symbol: Symbol("state"),
    call: () => 1,
    at: new Date(0),
    bytes: new Uint8Array(4),
    map: new Map([["code", 5]]),
    set: new Set([1]),
    headers: new Headers({ "retry-after": "3" }),
  };
  assert.deepEqual(capture(value), {
    big: 12,
    huge: (2n ** 70n).toString(),
    nan: null,
    symbol: "state",
    at: "1970-01-01T00:00:00.000Z",
    map: { code: 5 },
    set: [1],
    headers: { "retry-after": "3" },
  });
  assert.deepEqual([capture("text"), capture(undefined), capture(null), capture(7)], ["text", null, null, 7]);
});

test("size is bounded, head and tail of a long text are kept", () => {
  const long = `head${"x".repeat(1_000_000)}tail`;
  const { message } = capture(new Error(long)) as { message: string };
  assert.equal(message.length, 65_536);
  assert.ok(message.startsWith("head") && message.endsWith("tail"));
  const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`member${index}`, long]));
  assert.ok(JSON.stringify(capture(wide)).length < 200_000);
});

test("a condition that the host knows is reported as such", () => {
  assert.deepEqual(capture(new ConditionError("POOL_BUSY")), { condition: "POOL_BUSY" });
});

test("an error whose members stand on its prototype keeps them", () => {
  class LabelledError extends Error {
    get code(): number {
      return 112;
    }
    get errorLabels(): string[] {
      return ["TransientTransactionError"];
    }
  }
  assert.deepEqual(capture(new LabelledError("m")), {
    message: "m",
    name: "Error",
    code: 112,
    errorLabels: ["TransientTransactionError"],
    className: "LabelledError",
  });
});
