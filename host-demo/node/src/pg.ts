/**
 * The adapter for `pg`: a pool that tells the current operation how far it has come, does the cleanup that a decision
 * asks for, and raises COMMIT_ROLLED_BACK where COMMIT answers with ROLLBACK. Use it with promises; callbacks and
 * submittables (cursors, COPY) pass through unfollowed.
 */
import { ConditionError } from "./capture.js";
import { currentOperation } from "./current.js";
import type { Operation } from "./operation.js";
import type { Statement } from "./statement.js";
import { readStatement } from "./statement.js";
import type { Cleanup } from "./types.js";

/** What is used of a `pg` client. */
interface Client {
  query(...parameters: unknown[]): Promise<Answer>;
  release(destroy?: boolean | Error): void;
  on(event: "error", listener: () => void): unknown;
  off(event: "error", listener: () => void): unknown;
  getTransactionStatus?(): "I" | "T" | "E" | null;
  processID?: number | null;
}

/** What is used of a `pg` pool. */
export interface PoolLike {
  connect(): Promise<unknown>;
  query(...parameters: never[]): unknown;
  options?: unknown;
}

interface Answer {
  command?: string;
}

/** A fresh connection, to cancel what runs on another. */
interface Canceller {
  connect(): Promise<void>;
  query(text: string, values: unknown[]): Promise<unknown>;
  end(): Promise<void>;
}

/** How long a cancel may take, in milliseconds. */
const CANCEL_TIMEOUT = 2000;

const OPEN = new Set(["T", "E"]);

/** The same pool, followed. */
export function tracked<P extends PoolLike>(pool: P): P {
  return new Proxy(pool, {
    get(target, name) {
      if (name === "connect") return (...given: unknown[]) => connect(target, given);
      if (name === "query") return (...given: unknown[]) => queryOnce(target, given);
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

async function connect(pool: PoolLike, given: unknown[]): Promise<unknown> {
  const operation = currentOperation();
  if (operation === undefined || given.length > 0) return Reflect.apply(pool.connect, pool, given) as unknown;
  return (await Lease.of(pool, operation)).client();
}

/** `pool.query`: a connection for one statement, so that waiting and executing are told apart. */
async function queryOnce(pool: PoolLike, given: unknown[]): Promise<unknown> {
  const operation = currentOperation();
  if (operation === undefined || textOf(given) === undefined) return Reflect.apply(pool.query, pool, given as never[]);
  const lease = await Lease.of(pool, operation);
  try {
    return await lease.query(given);
  } finally {
    lease.release();
  }
}

/** The statement's text; `undefined` where the call is not followed. */
function textOf(given: unknown[]): string | undefined {
  const [first] = given;
  if (typeof given.at(-1) === "function") return undefined;
  if (typeof first === "string") return first;
  const isConfig = typeof first === "object" && first !== null && !("submit" in first) && "text" in first;
  return isConfig && typeof first.text === "string" ? first.text : undefined;
}

/** A client on loan from the pool for an operation. */
class Lease {
  readonly #pool: PoolLike;
  readonly #client: Client;
  readonly #operation: Operation;
  #isReleased = false;
  #isAbandoned = false;
  #running = 0;
  /** Without a listener, a connection that breaks between two queries ends the process. */
  readonly #onError = (): void => void (this.#isAbandoned = true);

  private constructor(pool: PoolLike, client: Client, operation: Operation) {
    this.#pool = pool;
    this.#client = client;
    this.#operation = operation;
    client.on("error", this.#onError);
    operation.onCleanup((cleanup) => this.#cleanup(cleanup));
  }

  static async of(pool: PoolLike, operation: Operation): Promise<Lease> {
    operation.uses("postgresql", "node-postgres");
    operation.acquiring();
    try {
      return new Lease(pool, (await pool.connect()) as Client, operation);
    } catch (error) {
      operation.failed(error);
      throw error;
    }
  }

  /** The client, followed. */
  client(): Client {
    return new Proxy(this.#client, {
      get: (target, name) => {
        if (name === "query") return (...given: unknown[]) => this.query(given);
        if (name === "release") return (destroy?: boolean | Error) => this.release(destroy);
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === "function" ? (member.bind(target) as unknown) : member;
      },
    });
  }

  async query(given: unknown[]): Promise<unknown> {
    const text = textOf(given);
    if (text === undefined) return Reflect.apply(this.#client.query, this.#client, given) as unknown;
    const statement = readStatement(text);
    this.#before(statement, text);
    this.#running += 1;
    try {
      const answer = await this.#client.query(...given);
      this.#after(statement, answer);
      return answer;
    } catch (error) {
      this.#isAbandoned ||= !leavesConnection(error) && !(error instanceof ConditionError);
      this.#operation.failed(error);
      throw error;
    } finally {
      this.#running -= 1;
    }
  }

  /** A connection with unfinished work never goes back to the pool: ending it rolls the work back. */
  release(destroy?: boolean | Error): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const isDirty = this.#isAbandoned || this.#running > 0 || this.#isOpen();
    const isEnded = destroy === undefined || destroy === false ? isDirty : destroy;
    if (isEnded === false) this.#client.off("error", this.#onError);
    this.#client.release(isEnded);
  }

  #before(statement: Statement, text: string): void {
    const operation = this.#operation;
    if (statement.kind === "commit") return operation.committing();
    if (statement.kind === "rollback") return operation.rollingBack();
    operation.executing(text, statement.unit);
    if (statement.kind === "several" || statement.kind === "prepare") return operation.transactionUnknown();
    if (operation.transaction === "committing") return;
    const status = this.#client.getTransactionStatus?.();
    if (status === "T") operation.begun();
    if (status === "E") operation.transactionFailed();
  }

  #after(statement: Statement, answer: Answer): void {
    const operation = this.#operation;
    switch (statement.kind) {
      case "begin":
        return operation.begun();
      case "commit":
        if (answer.command === "ROLLBACK") throw new ConditionError("COMMIT_ROLLED_BACK");
        return operation.committed();
      case "rollback":
        return operation.rolledBack();
      case "prepare":
        return operation.prepared();
      case "statement":
        return this.#isOpen() ? undefined : operation.applied();
      default:
        return undefined;
    }
  }

  #isOpen(): boolean {
    return OPEN.has(this.#client.getTransactionStatus?.() ?? "");
  }

  async #cleanup(cleanup: Cleanup): Promise<void> {
    if (cleanup === "cancel_then_discard" || this.#isAbandoned) await this.#cancel();
    if (this.#isReleased) return;
    if (cleanup === "rollback" && !this.#isAbandoned && this.#isOpen()) {
      await this.#client.query("ROLLBACK").catch(() => undefined);
    }
    if (cleanup !== "none") this.release(cleanup !== "rollback");
  }

  /** Asks the server to stop what still runs on the connection; the connection is ended in any case. */
  async #cancel(): Promise<void> {
    const Maker = (this.#pool as { Client?: new (options: unknown) => Canceller }).Client;
    const options = this.#pool.options;
    if (Maker === undefined || typeof options !== "object" || typeof this.#client.processID !== "number") return;
    const canceller = new Maker({ ...options, connectionTimeoutMillis: CANCEL_TIMEOUT, query_timeout: CANCEL_TIMEOUT });
    try {
      await canceller.connect();
      await canceller.query("SELECT pg_cancel_backend($1)", [this.#client.processID]);
    } finally {
      await canceller.end();
    }
  }
}

/** SQLSTATEs after which the server ends the connection. */
const ENDS_CONNECTION = /^(?:08|57P)/;

/** The server's own errors carry a severity; after any other one, or a fatal one, the connection is of no use. */
function leavesConnection(error: unknown): boolean {
  if (typeof error !== "object" || error === null || !("severity" in error)) return false;
  const code: unknown = Reflect.get(error, "code");
  return !(typeof code === "string" && ENDS_CONNECTION.test(code));
}
