// Node's drivers for the checks: a line of JSON asks, a line answers; errors come back as the Node package captures them.
import { createInterface } from "node:readline";
import { capture } from "../../host-demo/node/dist/index.js";

/** Each opens a session: `execute`, `many`, `close`, and `look` where only this process can look. */
const drivers = {
  async pg(login) {
    const { default: pg } = await import("pg");
    const client = new pg.Client(login);
    client.on("error", () => {});
    await client.connect();
    return {
      id: client.processID,
      async execute(statement, parameters) {
        const result = await client.query(statement, parameters ?? undefined);
        return Array.isArray(result) ? result.at(-1).command : result.command;
      },
      async many(statement, rows) {
        for (const row of rows) await client.query(statement, row);
      },
      close: () => client.end(),
    };
  },
  async mysql2(login) {
    const { createConnection } = await import("mysql2/promise");
    const { timeout, ...options } = login;
    const connection = await createConnection({ multipleStatements: true, ...options });
    connection.on("error", () => {});
    return {
      id: connection.threadId,
      async execute(statement, parameters) {
        await connection.query({ sql: statement, values: parameters ?? undefined, timeout });
      },
      async many(statement, rows) {
        for (const row of rows) await connection.execute(statement, row);
      },
      close: async () => connection.destroy(),
    };
  },
  async "duckdb-node"(login) {
    const { DuckDBInstance } = await import("@duckdb/node-api");
    const instance = await DuckDBInstance.create(login.path, login.settings ?? {});
    const connection = await instance.connect();
    const beside = await instance.connect();
    return {
      async execute(statement, parameters) {
        await connection.run(statement, parameters ?? undefined);
      },
      async many(statement, rows) {
        for (const row of rows) await connection.run(statement, row);
      },
      async beside(statement) {
        const reader = await beside.runAndReadAll(statement);
        return reader.getRowsJson();
      },
      interrupt: async () => connection.interrupt(),
      async close() {
        connection.closeSync();
        beside.closeSync();
        instance.closeSync();
      },
    };
  },
  async ioredis(login) {
    const { default: Redis } = await import("ioredis");
    const client = new Redis({ lazyConnect: true, retryStrategy: () => null, ...login });
    client.on("error", (error) => (client.lastError = error));
    try {
      await client.connect();
    } catch (error) {
      // The reason is an event; the promise only says that the connection is closed.
      throw client.lastError ?? error;
    }
    return {
      execute: async ([command, ...args]) => void (await client.call(command, ...args)),
      async watched([key], [beside, commands]) {
        await client.watch(key);
        const other = client.duplicate();
        await other.call(...beside);
        other.disconnect();
        const replies = await commands.reduce((multi, command) => multi.call(...command), client.multi()).exec();
        return replies === null ? "conflict" : "done";
      },
      async pipeline(commands) {
        const replies = await commands.reduce((multi, command) => multi.call(...command), client.multi()).exec();
        const failed = replies.find(([error]) => error !== null);
        if (failed !== undefined) throw failed[0];
      },
      close: async () => client.disconnect(),
    };
  },
};

const sessions = new Map();

async function answer({ session, call, args }) {
  if (call === "open") {
    const opened = await drivers[args[0]](args[1]);
    sessions.set(session, opened);
    return opened.id ?? null;
  }
  return (await sessions.get(session)[call](...args)) ?? null;
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  answer(asked).then(
    (value) => console.log(JSON.stringify({ id: asked.id, value })),
    (error) => console.log(JSON.stringify({ id: asked.id, error: capture(error) })),
  );
}
