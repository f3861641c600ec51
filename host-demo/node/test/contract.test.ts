import assert from "node:assert/strict";
import { test } from "node:test";

import type { Budget, Clock, Verdict } from "retort-contract";
import {
  AuthError,
  ConditionError,
  ConflictError,
  contract as base,
  NotFoundError,
  QueryError,
  RetortError,
  toError,
  UnknownOutcomeError,
} from "retort-contract";

/** Time that passes only while somebody sleeps. */
function handClock(): Clock & { waits: number[] } {
  let time = 0;
  const waits: number[] = [];
  return {
    waits,
    now: () => time,
    sleep: async (milliseconds) => {
      waits.push(milliseconds);
      time += milliseconds;
    },
  };
}

const busy = new ConditionError("POOL_BUSY");

test("each kind of verdict is thrown as its own class, with the envelope and without the cause", () => {
  const kinds = [
    ["NOT_AUTHORIZED", AuthError],
    ["NOT_FOUND", NotFoundError],
    ["VERSION_CONFLICT", ConflictError],
    ["INVALID_QUERY", QueryError],
    ["CONTRACT_BROKEN", QueryError],
    ["POOL_BUSY", QueryError],
    ["OUTCOME_UNKNOWN", UnknownOutcomeError],
  ] as const;
  for (const [condition, kind] of kinds) {
    const report = {
      error: new ConditionError(condition),
      operation: { phase: "execute", transaction: "none", op_index: 4 },
      context: { authorized: true },
    } as const;
    assert.throws(() => base.check(report), (error) => {
      assert.ok(error instanceof kind && error instanceof RetortError, condition);
      assert.equal(error.cause, undefined);
      assert.deepEqual(JSON.parse(JSON.stringify(error)), error.envelope);
      if (error instanceof ConflictError) assert.deepEqual([error.code, error.opIndex], ["VERSION_CONFLICT", 4]);
      return true;
    });
  }
});

test("a transient failure without effect is repeated after its delay, and the attempts are counted", async () => {
  const clock = handClock();
  const seen: Verdict[] = [];
  const contract = base.with({ clock, observe: (verdict) => void seen.push(verdict) });
  const value = await contract.run({ effect: "write" }, (operation) => {
    operation.acquiring();
    if (operation.number < 3) throw busy;
    return operation.number;
  });
  assert.equal(value, 3);
  assert.deepEqual(clock.waits, seen.map((verdict) => verdict.decision.delay_ms));
  const folded = contract.summarise(seen.map((verdict) => verdict.attempt));
  assert.equal(folded["retort.attempts"], 2);
});

test("a write whose outcome is unknown is never repeated", async () => {
  let calls = 0;
  const work = (): never => {
    calls += 1;
    throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
  };
  const contract = base.with({ clock: handClock() });
  await assert.rejects(
    contract.run({ effect: "write" }, (operation) => {
      operation.executing();
      return work();
    }),
    UnknownOutcomeError,
  );
  assert.equal(calls, 1);
});

test("the deadline ends the loop", async () => {
  const clock = handClock();
  const settled = await base.with({ clock }).settle({ effect: "read", deadline_ms: 1 }, (operation) => {
    operation.acquiring();
    throw busy;
  });
  assert.equal(settled.ok, false);
  assert.equal((settled as { verdict: Verdict }).verdict.decision.reason, "deadline");
  assert.deepEqual(clock.waits, []);
});

test("retries cost tokens, a success gives one back, and an empty budget ends the loop", async () => {
  const budget: Budget = { tokens: 7, capacity: 500 };
  const contract = base.with({ clock: handClock(), budget });
  const flaky = () =>
    contract.settle({ effect: "read" }, (operation) => {
      operation.acquiring();
      if (operation.number === 1) throw busy;
    });
  assert.equal((await flaky()).ok, true);
  assert.equal(budget.tokens, 3);
  const refused = await flaky();
  assert.equal((refused as { verdict: Verdict }).verdict.decision.reason, "budget");
  assert.equal(budget.tokens, 3);
});

test("an aborted caller ends the loop and counts as a cancel", async () => {
  const controller = new AbortController();
  const settled = await base.with({ clock: handClock() }).settle(
    { effect: "read" },
    (operation) => {
      operation.acquiring();
      controller.abort();
      throw busy;
    },
    { signal: controller.signal },
  );
  assert.equal((settled as { verdict: Verdict }).verdict.diagnostic.cancel, "requested");
});

test("cleanup runs before the verdict leaves, and its failure changes nothing", async () => {
  const done: string[] = [];
  const settled = await base.settle({ effect: "write" }, (operation) => {
    operation.onCleanup(async (cleanup) => {
      done.push(cleanup);
      throw new Error("rollback failed");
    });
    operation.begun();
    operation.executing();
    throw new Error("unheard of");
  });
  assert.equal(settled.ok, false);
  assert.deepEqual(done, ["rollback"]);
});

test("an attempt after an unknown one cannot forget it", async () => {
  const contract = base.with({ clock: handClock() });
  const settled = await contract.settle({ effect: "idempotent_write" }, (operation) => {
    operation.executing();
    throw new ConditionError(operation.number === 1 ? "CONNECTION_LOST" : "UNIQUE_VIOLATION");
  });
  assert.equal((settled as { verdict: Verdict }).verdict.envelope.outcome, "unknown");
});

test("nothing of the driver's text is in the envelope, the attempt or the typed error", () => {
  const secret = "alice@example.com";
  const verdict = base.evaluate({ error: Object.assign(new Error(`Key (mail)=(${secret})`), { code: "23505", detail: secret }) });
  const error = toError(verdict);
  for (const text of [JSON.stringify(verdict.envelope), JSON.stringify(verdict.attempt), error.message, String(error.stack)]) {
    assert.equal(text.includes(secret), false);
  }
});

test("a reconciled receipt settles an unknown outcome", () => {
  const verdict = base.evaluate({
    error: new ConditionError("CONNECTION_LOST"),
    operation: { effect: "write", phase: "commit", transaction: "committing", operation_key: "k-1", dedupe: "receipt" },
  });
  assert.equal(verdict.envelope.next, "reconcile");
  const later = base.reconcile({ verdict, receipt: "committed" });
  assert.deepEqual([later.envelope.code, later.envelope.outcome], ["ALREADY_APPLIED", "committed"]);
});
