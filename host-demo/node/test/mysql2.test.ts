import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import type { Pool, PoolConnection, PoolOptions, RowDataPacket } from "mysql2/promise";
import { createPool } from "mysql2/promise";
import { contract as base } from "retort-contract";
import type { OperationOptions, Verdict } from "retort-contract";
import { tracked } from "retort-contract/mysql2";

import type { Service } from "./services.js";
import { startMariadb } from "./services.js";

let server: Service;
let pool: Pool;

const contract = base.with({ clock: { now: () => 0, sleep: async () => undefined } });
const once = { effect: "write", policy: { max_attempts: 1 } } as const;

function poolOf(options: PoolOptions = {}): Pool {
  return tracked(createPool({ host: "127.0.0.1", port: server.port, user: "retort", database: "test", ...options }));
}

before(async () => {
  server = await startMariadb();
  pool = poolOf();
  await pool.query("CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL) ENGINE=InnoDB");
});

after(async () => {
  await pool.end();
  await server.stop();
});

async function fails(options: OperationOptions, work: () => Promise<unknown>): Promise<Verdict> {
  const settled = await contract.settle(options, work);
  assert.equal(settled.ok, false);
  return (settled as { verdict: Verdict }).verdict;
}

function brief({ envelope, diagnostic, decision }: Verdict): unknown[] {
  return [envelope.code, envelope.outcome, diagnostic.phase, diagnostic.transaction, decision.cleanup];
}

async function ids(): Promise<number[]> {
  const [rows] = await pool.query<RowDataPacket[]>("SELECT id FROM account ORDER BY id");
  return rows.map((row) => row["id"] as number);
}

async function inTransaction(work: (connection: PoolConnection) => Promise<unknown>): Promise<void> {
  const connection = await pool.getConnection();
  try {
    await connection.beginTransaction();
    await work(connection);
    await connection.commit();
  } catch (error) {
    await connection.rollback();
    throw error;
  } finally {
    connection.release();
  }
}

test("a duplicate key in a transaction has no effect", async () => {
  await pool.query("INSERT INTO account VALUES (1, 10)");
  const verdict = await fails({ effect: "write" }, () =>
    inTransaction((connection) => connection.execute("INSERT INTO account VALUES (?, ?)", [1, 20])),
  );
  assert.deepEqual(brief(verdict), ["UNIQUE_VIOLATION", "not_committed", "execute", "open", "rollback"]);
  assert.equal(verdict.diagnostic.driver, "mysql2");
});

test("a COMMIT after a deadlock that rolled the transaction back is an error", async () => {
  await pool.query("INSERT INTO account VALUES (10, 1), (11, 1)");
  const rival = await pool.getConnection();
  await rival.beginTransaction();
  // The server rolls back the transaction that changed fewer rows.
  await rival.query("INSERT INTO account SELECT seq, 1 FROM seq_100_to_200");
  await rival.query("UPDATE account SET balance = 2 WHERE id = 11");
  const verdict = await fails(once, async () => {
    const connection = await pool.getConnection();
    try {
      await connection.beginTransaction();
      await connection.query("UPDATE account SET balance = 3 WHERE id = 10");
      const blocked = rival.query("UPDATE account SET balance = 2 WHERE id = 10");
      await assert.rejects(connection.query("UPDATE account SET balance = 3 WHERE id = 11"), { errno: 1213 });
      await blocked;
      await connection.commit();
    } finally {
      connection.release();
    }
  });
  await rival.rollback();
  rival.release();
  assert.deepEqual(brief(verdict).slice(0, 4), ["COMMIT_ROLLED_BACK", "not_committed", "commit", "committing"]);
});

test("a COMMIT after a statement that failed alone commits the rest", async () => {
  const settled = await contract.settle(once, async () => {
    const connection = await pool.getConnection();
    try {
      await connection.beginTransaction();
      await connection.query("INSERT INTO account VALUES (12, 1)");
      await assert.rejects(connection.query("INSERT INTO account VALUES (12, 1)"), { errno: 1062 });
      await connection.commit();
      return true;
    } finally {
      connection.release();
    }
  });
  assert.deepEqual(settled, { ok: true, value: true });
  assert.equal((await ids()).includes(12), true);
});

test("DDL inside a transaction commits what went before it", async () => {
  const verdict = await fails(once, () =>
    inTransaction(async (connection) => {
      await connection.query("INSERT INTO account VALUES (13, 1)");
      await connection.query("CREATE TABLE other (id int)");
      await connection.query("INSERT INTO account VALUES (13, 1)");
    }),
  );
  assert.equal(verdict.envelope.outcome, "unknown");
  assert.equal((await ids()).includes(13), true);
});

test("an error after COMMIT is a lost result", async () => {
  const verdict = await fails(once, async () => {
    await inTransaction((connection) => connection.query("INSERT INTO account VALUES (14, 1)"));
    throw new TypeError("cannot read properties of undefined");
  });
  assert.deepEqual(brief(verdict).slice(0, 4), ["RESULT_LOST", "committed", "done", "committed"]);
});

test("a connection killed in mid-write leaves an unknown outcome", async () => {
  setTimeout(() => {
    void pool
      .query<RowDataPacket[]>("SELECT id FROM information_schema.processlist WHERE info LIKE 'INSERT%sleep(20)'")
      .then(([rows]) => pool.query(`KILL ${rows[0]?.["id"]}`));
  }, 200);
  const verdict = await fails({ effect: "write" }, () => pool.query("INSERT INTO account SELECT 15, sleep(20)"));
  assert.deepEqual(brief(verdict).slice(0, 4), ["OUTCOME_UNKNOWN", "unknown", "execute", "none"]);
});

test("a client-side timeout stops the statement before the verdict leaves", async () => {
  const verdict = await fails({ effect: "write" }, () => pool.query({ sql: "DO sleep(20)", timeout: 200 }));
  assert.equal(verdict.envelope.outcome, "unknown");
  // The server has been told; it needs a moment to obey.
  const running = "SELECT id FROM information_schema.processlist WHERE info = 'DO sleep(20)'";
  for (let look = 0; look < 500 && (await pool.query<RowDataPacket[]>(running))[0].length > 0; look += 1);
  assert.deepEqual((await pool.query(running))[0], []);
});

test("a connection with an open transaction never goes back to the pool", async () => {
  const settled = await contract.settle({ effect: "write" }, async () => {
    const connection = await pool.getConnection();
    await connection.query("START TRANSACTION");
    await connection.query("INSERT INTO account VALUES (16, 1)");
    const thread = connection.threadId;
    connection.release();
    return thread;
  });
  assert.equal(settled.ok, true);
  assert.equal((await ids()).includes(16), false);
});

test("a pool that cannot connect has not started", async () => {
  const astray = poolOf({ port: 1 });
  const verdict = await fails(once, () => astray.query("INSERT INTO account VALUES (17, 1)"));
  await astray.end();
  assert.deepEqual(brief(verdict), ["CONNECTION_FAILED", "not_started", "acquire", "none", "none"]);
});
