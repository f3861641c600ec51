/**
 * The adapter for `mysql2/promise`: a pool that tells the current operation how far it has come, does the cleanup that
 * a decision asks for, and raises COMMIT_ROLLED_BACK where the server had already rolled the transaction back (after a
 * deadlock, say), as COMMIT itself does not tell.
 */
import { ConditionError } from "./capture.js";
import { currentOperation } from "./current.js";
import type { Operation } from "./operation.js";
import type { Statement } from "./statement.js";
import { readStatement } from "./statement.js";
import type { Cleanup } from "./types.js";

/** What is used of a connection of `mysql2/promise`. */
interface Connection {
  query(...parameters: unknown[]): Promise<unknown>;
  execute(...parameters: unknown[]): Promise<unknown>;
  beginTransaction(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  release(): void;
  destroy(): void;
  threadId?: number | null;
}

/** What is used of a pool of `mysql2/promise`. */
export interface PoolLike {
  getConnection(): Promise<unknown>;
  query(...parameters: never[]): unknown;
  execute(...parameters: never[]): unknown;
}

/** The flag of the server's status that says: a transaction is open. */
const IN_TRANSACTION = 1;

/** How long a cancel may wait for a connection, in milliseconds. */
const CANCEL_TIMEOUT = 2000;

/** Which server a connection leads to, asked once for each. */
const SERVERS = new WeakMap<object, string>();

/** Statements by the name of the method that sends them. */
const METHODS: Readonly<Record<string, string>> = {
  beginTransaction: "BEGIN",
  commit: "COMMIT",
  rollback: "ROLLBACK",
};

/** The same pool, followed. */
export function tracked<P extends PoolLike>(pool: P): P {
  return new Proxy(pool, {
    get(target, name) {
      const operation = currentOperation();
      if (operation !== undefined && name === "getConnection") {
        return async () => (await Lease.of(target, operation)).connection();
      }
      if (operation !== undefined && (name === "query" || name === "execute")) {
        return (...given: unknown[]) => once(target, operation, name, given);
      }
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

/** `pool.query`: a connection for one statement, so that waiting and executing are told apart. */
async function once(
  pool: PoolLike,
  operation: Operation,
  method: "query" | "execute",
  given: unknown[],
): Promise<unknown> {
  const lease = await Lease.of(pool, operation);
  try {
    return await lease.send(method, given);
  } finally {
    lease.release();
  }
}

/** Which server a connection leads to: a thread's number says nothing on another one, as behind a balancer. */
async function serverOf(connection: Connection): Promise<string | undefined> {
  // The pool gives out a new wrapper each time.
  const inner: unknown = Reflect.get(connection, "connection");
  const key = typeof inner === "object" && inner !== null ? inner : connection;
  const known = SERVERS.get(key);
  if (known !== undefined) return known;
  try {
    const answer = (await connection.query("SELECT CONCAT(@@hostname, ' ', @@port) AS server")) as [{ server: string }[]];
    const server = answer[0][0]?.server;
    if (server !== undefined) SERVERS.set(key, server);
    return server;
  } catch {
    return undefined;
  }
}

function textOf([first]: unknown[]): string {
  if (typeof first === "string") return first;
  const sql: unknown = typeof first === "object" && first !== null ? Reflect.get(first, "sql") : undefined;
  return typeof sql === "string" ? sql : "";
}

/** A connection on loan from the pool for an operation. */
class Lease {
  readonly #pool: PoolLike;
  readonly #connection: Connection;
  readonly #operation: Operation;
  readonly #server: string | undefined;
  #isReleased = false;
  #isAbandoned = false;
  #isOpen = false;
  #hasFailed = false;
  #running = 0;

  private constructor(pool: PoolLike, connection: Connection, operation: Operation, server: string | undefined) {
    this.#pool = pool;
    this.#connection = connection;
    this.#operation = operation;
    this.#server = server;
    operation.onCleanup((cleanup) => this.#cleanup(cleanup));
  }

  static async of(pool: PoolLike, operation: Operation): Promise<Lease> {
    operation.uses("mysql", "mysql2");
    operation.acquiring();
    try {
      const connection = (await pool.getConnection()) as Connection;
      return new Lease(pool, connection, operation, await serverOf(connection));
    } catch (error) {
      operation.failed(error);
      throw error;
    }
  }

  /** The connection, followed. */
  connection(): Connection {
    return new Proxy(this.#connection, {
      get: (target, name) => {
        if (name === "query" || name === "execute") return (...given: unknown[]) => this.send(name, given);
        if (name === "release") return () => this.release();
        if (name === "destroy") return () => this.#end();
        const method = typeof name === "string" ? METHODS[name] : undefined;
        if (method !== undefined) return async () => void (await this.send("query", [method]));
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === "function" ? (member.bind(target) as unknown) : member;
      },
    });
  }

  async send(method: "query" | "execute", given: unknown[]): Promise<unknown> {
    const text = textOf(given);
    const statement = readStatement(text);
    this.#running += 1;
    try {
      await this.#before(statement, text);
      const answer = await this.#connection[method](...given);
      this.#after(statement, answer);
      return answer;
    } catch (error) {
      this.#hasFailed = true;
      this.#isAbandoned ||= !isFromServer(error) && !(error instanceof ConditionError);
      this.#operation.failed(error);
      throw error;
    } finally {
      this.#running -= 1;
    }
  }

  /** A connection with unfinished work never goes back to the pool: ending it rolls the work back. */
  release(): void {
    if (this.#isReleased) return;
    if (this.#isAbandoned || this.#running > 0 || this.#isOpen) return this.#end();
    this.#isReleased = true;
    this.#connection.release();
  }

  #end(): void {
    this.#isReleased = true;
    this.#connection.destroy();
  }

  async #before(statement: Statement, text: string): Promise<void> {
    const operation = this.#operation;
    if (statement.kind === "commit") {
      operation.committing();
      const wasOpen = this.#isOpen;
      if (wasOpen && this.#hasFailed) await this.#look();
      if (wasOpen && !this.#isOpen) throw new ConditionError("COMMIT_ROLLED_BACK");
      return;
    }
    if (statement.kind === "rollback") return operation.rollingBack();
    operation.executing(text, statement.unit);
    if (statement.kind === "several") operation.transactionUnknown();
  }

  #after(statement: Statement, answer: unknown): void {
    const operation = this.#operation;
    const wasOpen = this.#isOpen;
    const status = statusOf(answer);
    if (status !== undefined) this.#isOpen = (status & IN_TRANSACTION) !== 0;
    switch (statement.kind) {
      case "begin":
        this.#isOpen = true;
        this.#hasFailed = false;
        return operation.begun();
      case "commit":
        this.#isOpen = false;
        return operation.committed();
      case "rollback":
        this.#isOpen = false;
        return operation.rolledBack();
      case "statement":
        // A statement that ends the transaction (DDL) has committed what went before it, too.
        if (!this.#isOpen) operation.applied(wasOpen ? 2 : 1);
        else operation.begun();
        return;
      default:
        return;
    }
  }

  /** Asks the server whether the transaction is still open, with a statement that does nothing. */
  async #look(): Promise<void> {
    const status = statusOf(await this.#connection.query("DO 0"));
    if (status !== undefined) this.#isOpen = (status & IN_TRANSACTION) !== 0;
  }

  async #cleanup(cleanup: Cleanup): Promise<void> {
    if (cleanup === "cancel_then_discard" || this.#isAbandoned) await this.#cancel();
    if (this.#isReleased || cleanup === "none") return;
    if (cleanup === "rollback" && !this.#isAbandoned && this.#isOpen) {
      await this.#connection.rollback().then(() => (this.#isOpen = false), () => (this.#isAbandoned = true));
    }
    if (cleanup === "rollback") this.release();
    else this.#end();
  }

  /** Asks the server to stop what still runs on the connection; the connection is ended in any case. */
  async #cancel(): Promise<void> {
    const thread = this.#connection.threadId;
    if (typeof thread !== "number" || this.#server === undefined) return;
    const other = this.#pool.getConnection() as Promise<Connection>;
    const killed = other.then(async (connection) => {
      try {
        if ((await serverOf(connection)) === this.#server) await connection.query(`KILL QUERY ${thread}`);
      } finally {
        connection.release();
      }
    });
    await Promise.race([killed, new Promise((resolve) => setTimeout(resolve, CANCEL_TIMEOUT).unref())]);
  }
}

/** The server's status flags in an answer without rows. */
function statusOf(answer: unknown): number | undefined {
  const [header] = Array.isArray(answer) ? (answer as unknown[]) : [];
  const status: unknown = typeof header === "object" && header !== null ? Reflect.get(header, "serverStatus") : undefined;
  return typeof status === "number" ? status : undefined;
}

/** The server's own errors carry a SQLSTATE; after any other one the connection's state is not known. */
function isFromServer(error: unknown): boolean {
  const state: unknown = typeof error === "object" && error !== null ? Reflect.get(error, "sqlState") : undefined;
  return typeof state === "string" && state !== "";
}
