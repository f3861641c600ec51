import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import pg from "pg";
import { contract as base, currentOperation } from "retort-contract";
import type { OperationOptions, Verdict } from "retort-contract";
import { tracked } from "retort-contract/pg";

import type { Service } from "./services.js";
import { startPostgres } from "./services.js";

let server: Service;
let pool: pg.Pool;

const waits: number[] = [];
const contract = base.with({
  clock: { now: () => 0, sleep: async (milliseconds) => void waits.push(milliseconds) },
});

function poolOf(options: pg.PoolConfig = {}): pg.Pool {
  const made = new pg.Pool({ host: "127.0.0.1", port: server.port, user: "retort", database: "postgres", ...options });
  made.on("error", () => undefined);
  return tracked(made);
}

before(async () => {
  server = await startPostgres();
  pool = poolOf();
  await pool.query("CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL CHECK (balance >= 0))");
  await pool.query("CREATE TABLE entry (account int REFERENCES account DEFERRABLE INITIALLY DEFERRED)");
});

after(async () => {
  await pool.end();
  await server.stop();
});

/** What the last verdict of a failing operation says, in brief. */
async function fails(options: OperationOptions, work: () => Promise<unknown>, within = contract): Promise<Verdict> {
  const settled = await within.settle(options, work);
  assert.equal(settled.ok, false);
  return (settled as { verdict: Verdict }).verdict;
}

function brief({ envelope, diagnostic, decision }: Verdict): unknown[] {
  return [envelope.code, envelope.outcome, diagnostic.phase, diagnostic.transaction, decision.cleanup];
}

async function ids(): Promise<number[]> {
  const answer = await pool.query<{ id: number }>("SELECT id FROM account ORDER BY id");
  return answer.rows.map((row) => row.id);
}

async function inTransaction(work: (client: pg.PoolClient) => Promise<unknown>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    await work(client);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  } finally {
    client.release();
  }
}

test("a duplicate key in a transaction is judged where it happened, not where the rollback left off", async () => {
  await pool.query("INSERT INTO account VALUES (1, 10)");
  const verdict = await fails({ effect: "write" }, () =>
    inTransaction((client) => client.query("INSERT INTO account VALUES ($1, $2)", [1, 20])),
  );
  assert.deepEqual(brief(verdict), ["UNIQUE_VIOLATION", "not_committed", "execute", "open", "rollback"]);
  assert.equal(verdict.diagnostic.driver, "node-postgres");
});

test("a COMMIT that the server answers with ROLLBACK is an error", async () => {
  const verdict = await fails({ effect: "write", policy: { max_attempts: 1 } }, async () => {
    const client = await pool.connect();
    try {
      await client.query("BEGIN");
      await client.query("INSERT INTO account VALUES (2, 10)");
      await client.query("SELECT 1 / 0").catch(() => undefined);
      await client.query("COMMIT");
    } finally {
      client.release();
    }
  });
  assert.deepEqual(brief(verdict).slice(0, 4), ["COMMIT_ROLLED_BACK", "not_committed", "commit", "committing"]);
  assert.deepEqual(await ids(), [1]);
});

test("a deferred constraint fails at COMMIT, and nothing is committed", async () => {
  const verdict = await fails({ effect: "write" }, () =>
    inTransaction((client) => client.query("INSERT INTO entry VALUES (99)")),
  );
  assert.deepEqual(brief(verdict).slice(0, 4), ["FK_VIOLATION", "not_committed", "commit", "committing"]);
});

test("an error after COMMIT is a lost result, not a lost write", async () => {
  const verdict = await fails({ effect: "write" }, async () => {
    await inTransaction((client) => client.query("INSERT INTO account VALUES (3, 10)"));
    throw new TypeError("cannot read properties of undefined");
  });
  assert.deepEqual(brief(verdict).slice(0, 4), ["RESULT_LOST", "committed", "done", "committed"]);
  assert.deepEqual(await ids(), [1, 3]);
});

test("a failing second statement in autocommit leaves the first one standing", async () => {
  const verdict = await fails({ effect: "write" }, async () => {
    await pool.query("INSERT INTO account VALUES (4, 10)");
    await pool.query("INSERT INTO account VALUES (4, 10)");
  });
  assert.deepEqual(brief(verdict).slice(0, 4), ["PARTIAL_OUTCOME", "unknown", "execute", "none"]);
});

test("an exhausted pool is retried without effect, with the decision's delays", async () => {
  const small = poolOf({ max: 1 });
  const held = await small.connect();
  small.options.connectionTimeoutMillis = 50;
  waits.length = 0;
  const verdict = await fails({ effect: "write" }, () => small.query("INSERT INTO account VALUES (5, 10)"));
  held.release();
  await small.end();
  assert.deepEqual(brief(verdict), ["POOL_BUSY", "not_started", "acquire", "none", "none"]);
  assert.equal(verdict.diagnostic.attempt_number, 3);
  assert.equal(waits.length, 2);
});

test("a backend killed in mid-write leaves an unknown outcome, which is not retried", async () => {
  waits.length = 0;
  setTimeout(() => {
    void pool.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'INSERT%pg_sleep%'");
  }, 200);
  const verdict = await fails({ effect: "write" }, () =>
    pool.query("INSERT INTO account SELECT 6, 10 FROM (SELECT pg_sleep(30)) AS slow"),
  );
  assert.deepEqual(brief(verdict).slice(0, 4), ["OUTCOME_UNKNOWN", "unknown", "execute", "none"]);
  assert.deepEqual(waits, []);
});

test("a server's statement timeout in a transaction has no effect", async () => {
  const verdict = await fails({ effect: "write", policy: { max_attempts: 1 } }, () =>
    inTransaction(async (client) => {
      await client.query("SET LOCAL statement_timeout = 50");
      await client.query("INSERT INTO account SELECT 7, 10 FROM (SELECT pg_sleep(5)) AS slow");
    }),
  );
  assert.deepEqual(brief(verdict).slice(0, 4), ["DB_TIMEOUT", "not_committed", "execute", "open"]);
});

test("a client-side timeout stops the statement and ends the connection before the verdict leaves", async () => {
  const hasty = poolOf({ max: 1, query_timeout: 100 });
  const verdict = await fails({ effect: "write" }, () => hasty.query("SELECT pg_sleep(20), 'left running'"));
  assert.equal(verdict.envelope.outcome, "unknown");
  assert.equal(hasty.totalCount, 0);
  // The server has been told; it needs a moment to obey.
  const running = "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%left running%' AND state = 'active' AND pid <> pg_backend_pid()";
  for (let look = 0; look < 500 && (await pool.query(running)).rowCount !== 0; look += 1);
  assert.equal((await pool.query(running)).rowCount, 0);
  await hasty.end();
});

test("a ROLLBACK that fails stands for the error that made it necessary", async () => {
  const verdict = await fails({ effect: "write", policy: { max_attempts: 1 } }, () =>
    inTransaction((client) => client.query("SELECT pg_terminate_backend(pg_backend_pid())")),
  );
  assert.deepEqual(brief(verdict).slice(1, 4), ["not_committed", "execute", "open"]);
  assert.deepEqual(verdict.diagnostic.native_codes, ["57P01"]);
});

test("a connection with an open transaction never goes back to the pool", async () => {
  const single = poolOf({ max: 1 });
  const settled = await contract.settle({ effect: "write" }, async () => {
    const client = await single.connect();
    await client.query("BEGIN");
    await client.query("INSERT INTO account VALUES (8, 10)");
    client.release();
    return single.totalCount;
  });
  assert.deepEqual(settled, { ok: true, value: 0 });
  await single.end();
  assert.equal((await ids()).includes(8), false);
});

test("a serialization failure is retried as a whole until it succeeds", async () => {
  await pool.query("INSERT INTO account VALUES (20, 100)");
  let attempts = 0;
  const settled = await contract.settle({ effect: "write" }, async () => {
    attempts += 1;
    const client = await pool.connect();
    try {
      await client.query("BEGIN ISOLATION LEVEL SERIALIZABLE");
      await client.query("SELECT balance FROM account WHERE id = 20");
      const rival = new pg.Client({ host: "127.0.0.1", port: server.port, user: "retort", database: "postgres" });
      if (attempts === 1) {
        await rival.connect();
        await rival.query("UPDATE account SET balance = balance - 1 WHERE id = 20");
        await rival.end();
      }
      await client.query("UPDATE account SET balance = balance - 10 WHERE id = 20");
      await client.query("COMMIT");
      return currentOperation()?.number;
    } finally {
      client.release();
    }
  });
  assert.deepEqual(settled, { ok: true, value: 2 });
  const answer = await pool.query<{ balance: number }>("SELECT balance FROM account WHERE id = 20");
  assert.equal(answer.rows[0]?.balance, 89);
});

test("several statements with a COMMIT among them leave nothing certain", async () => {
  const verdict = await fails({ effect: "write" }, () =>
    pool.query("BEGIN; INSERT INTO account VALUES (9, 10); COMMIT; INSERT INTO account VALUES (9, 10)"),
  );
  assert.equal(verdict.envelope.outcome, "unknown");
  assert.equal((await ids()).includes(9), true);
});

test("outside an operation the pool behaves as ever", async () => {
  await assert.rejects(pool.query("SELECT 1 / 0"), { code: "22012" });
  const client = await pool.connect();
  assert.equal((await client.query("SELECT 1 AS one")).rowCount, 1);
  client.release();
});
