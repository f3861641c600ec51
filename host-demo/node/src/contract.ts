/** The contract for programs: the functions of the interface `json`, typed, and what a host builds on them. */
import { capture } from "./capture.js";
import { closedText, closedVerdict } from "./closed.js";
import type { Core, JsonFunction } from "./engine.js";
import { Engine } from "./engine.js";
import { RetortError, toError } from "./errors.js";
import type { OperationOptions } from "./operation.js";
import { Operation } from "./operation.js";
import type {
  AttemptRecord,
  CodeRow,
  Envelope,
  Finding,
  Fingerprint,
  Reconciliation,
  Redaction,
  Report,
  ToolFailure,
  Verdict,
} from "./types.js";

/** Time as the host sees it; injected, so that tests need not wait. */
export interface Clock {
  /** Milliseconds; only differences count. */
  now(): number;
  /** Waits, but no longer than until the signal fires. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** Retry tokens that operations share: a plain object, so that its owner can keep it wherever replicas meet. */
export interface Budget {
  tokens: number;
  capacity: number;
}

/** What a contract needs from its host, and what it may be told. */
export interface ContractOptions {
  /** Makes a fresh instance of the core module and gives its exports. */
  instantiate: () => Core;
  clock?: Clock;
  /** Fills bytes with random values, for trace ids and seeds. */
  random?: (bytes: Uint8Array) => Uint8Array;
  /** Receives every verdict: the place to log the diagnostic and to export the attempt record. */
  observe?: (verdict: Verdict) => void;
  budget?: Budget;
  /** Runs work so that adapters find its operation. */
  enter?: <T>(operation: Operation, work: () => T) => T;
}

/** What bounds a loop beside the decisions. */
export interface Limits {
  /** Ends the loop, and counts as a cancel. */
  signal?: AbortSignal | undefined;
  /** The most attempts within one call; the policy's where absent. */
  attempts?: number | undefined;
}

/** How an operation ended. */
export type Settled<T> = { ok: true; value: T } | { ok: false; verdict: Verdict };

/**
 * The functions of the interface `json`: text in, text out, the same bytes in every host. Where the module fails, they
 * fail closed: their answers are constants, and `version` is empty.
 */
export interface JsonContract {
  evaluate(report: string): string;
  evaluateMany(reports: string): string;
  reconcile(reconciliation: string): string;
  summarise(attempts: string): string;
  budget(change: string): string;
  redact(text: string): string;
  inspect(text: string): string;
  fingerprint(statement: string): string;
  render(envelope: string): string;
  codes(): string;
  version(): string;
}

/** Milliseconds and timers of the platform. */
export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) =>
    new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const timer = setTimeout(wake, milliseconds);
      signal?.addEventListener("abort", wake);
      if (signal?.aborted === true) wake();
    }),
};

/** Judges errors, follows operations, obeys decisions. */
export class Contract {
  /** The functions of the interface `json`. */
  readonly json: JsonContract;
  readonly #engine: Engine;
  readonly #options: ContractOptions;
  readonly #clock: Clock;
  readonly #random: (bytes: Uint8Array) => Uint8Array;

  constructor(options: ContractOptions) {
    this.#options = options;
    this.#engine = new Engine(options.instantiate);
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? ((bytes) => crypto.getRandomValues(bytes));
    const through = (name: JsonFunction) => (text: string) => this.#call(name, text);
    this.json = {
      evaluate: through("evaluate"),
      evaluateMany: through("evaluate-many"),
      reconcile: through("reconcile"),
      summarise: through("summarise"),
      budget: through("budget"),
      redact: through("redact"),
      inspect: through("inspect"),
      fingerprint: through("fingerprint"),
      render: through("render"),
      codes: () => this.#call("codes"),
      version: () => this.#call("version"),
    };
  }

  /** The same contract with other options. */
  with(options: Partial<ContractOptions>): Contract {
    return new Contract({ ...this.#options, ...options });
  }

  /** Bytes of memory that the module's present instance holds. */
  get memoryBytes(): number {
    return this.#engine.bytes;
  }

  /** Judges one error. Mints a trace id and a seed where the report has none. */
  evaluate(report: Report): Verdict {
    const complete = this.#complete(report);
    try {
      return this.#observed(JSON.parse(this.#engine.call("evaluate", JSON.stringify(complete))) as Verdict);
    } catch {
      return this.#observed(closedVerdict(complete));
    }
  }

  /** Judges several errors, in order. */
  evaluateMany(reports: readonly Report[]): Verdict[] {
    return reports.map((report) => this.evaluate(report));
  }

  /** Judges an error of an operation. */
  judge(error: unknown, operation: Operation): Verdict {
    if (error instanceof RetortError) return error.verdict;
    const report = operation.report(error);
    const budget = this.#options.budget;
    return this.evaluate(budget === undefined ? report : { ...report, attempt: { ...report.attempt, tokens: budget.tokens } });
  }

  /** Judges an earlier verdict anew, with what its receipt says. */
  reconcile(reconciliation: Reconciliation): Verdict {
    return JSON.parse(this.json.reconcile(JSON.stringify(reconciliation))) as Verdict;
  }

  /** Folds the attempts of one operation, in order, into one record. */
  summarise(attempts: readonly AttemptRecord[]): AttemptRecord {
    return JSON.parse(this.json.summarise(JSON.stringify(attempts))) as AttemptRecord;
  }

  /** Retry tokens after an event: `retry`, `retry_after_timeout`, `success`. */
  budget(tokens: number, event: string, capacity?: number): number {
    const change = JSON.stringify({ tokens, event, capacity });
    return (JSON.parse(this.json.budget(change)) as { tokens: number }).tokens;
  }

  /** Replaces what should not be published. `strict`: object names too. */
  redact(text: string, level: "diagnostic" | "strict" = "diagnostic"): Redaction {
    return JSON.parse(this.json.redact(JSON.stringify({ text, level }))) as Redaction;
  }

  /** Finds what should not be published: the gate for any tool output. */
  inspect(text: string): Finding[] {
    return (JSON.parse(this.json.inspect(JSON.stringify({ text }))) as { findings: Finding[] }).findings;
  }

  /** Strips a statement of literals and comments. */
  fingerprint(statement: string, dialect = ""): Fingerprint {
    return JSON.parse(this.json.fingerprint(JSON.stringify({ text: statement, dialect }))) as Fingerprint;
  }

  /** Writes an envelope for a carrier: `mcp`, `problem` (RFC 9457), `status` (google.rpc.Status), `text`. */
  render(envelope: Envelope, as: "mcp" | "problem" | "status" | "text"): string {
    return this.json.render(JSON.stringify({ envelope, as }));
  }

  /** An envelope as MCP's CallToolResult. */
  toolFailure(envelope: Envelope): ToolFailure {
    return JSON.parse(this.render(envelope, "mcp")) as ToolFailure;
  }

  /** The whole table of public codes. */
  codes(): CodeRow[] {
    return JSON.parse(this.json.codes()) as CodeRow[];
  }

  /** The version of the module. */
  version(): string {
    return this.json.version();
  }

  /**
   * Throws the verdict on an error as a typed error.
   *
   * @throws AuthError, NotFoundError, ConflictError, QueryError or UnknownOutcomeError: always one of them.
   */
  check(report: Report): never {
    throw toError(this.evaluate(report));
  }

  /** Follows a new operation. */
  operation(options: OperationOptions = {}): Operation {
    return new Operation(options, () => this.#clock.now());
  }

  /**
   * Runs work as one operation, as often as the decisions allow, each time after the cleanup that they ask for.
   * The verdict comes back only once the loop is over.
   */
  async settle<T>(
    options: OperationOptions,
    work: (operation: Operation) => T | Promise<T>,
    { signal, attempts }: Limits = {},
  ): Promise<Settled<T>> {
    const operation = this.operation(options);
    const enter = this.#options.enter ?? ((_, run) => run());
    for (;;) {
      try {
        const value = await enter(operation, async () => work(operation));
        await operation.cleanup("none");
        this.#spend("success");
        return { ok: true, value };
      } catch (error) {
        if (signal?.aborted === true) operation.cancelling();
        const verdict = this.judge(error, operation);
        await operation.cleanup(verdict.decision.cleanup);
        const isLast = signal?.aborted === true || operation.number >= (attempts ?? Infinity);
        if (isLast || !verdict.envelope.retryable) return { ok: false, verdict };
        this.#spendFor(verdict);
        await this.#clock.sleep(verdict.decision.delay_ms ?? 0, signal);
        operation.retried(verdict);
      }
    }
  }

  /**
   * As {@link settle}, but throws.
   *
   * @throws RetortError of the class that fits the last verdict.
   */
  async run<T>(
    options: OperationOptions,
    work: (operation: Operation) => T | Promise<T>,
    limits: Limits = {},
  ): Promise<T> {
    const settled = await this.settle(options, work, limits);
    if (!settled.ok) throw toError(settled.verdict);
    return settled.value;
  }

  #call(name: JsonFunction, text?: string): string {
    try {
      return this.#engine.call(name, text);
    } catch {
      return closedText(name, text ?? "");
    }
  }

  #complete(report: Report): Report {
    const context = report.context ?? {};
    const isTraced = context.trace_id !== undefined || context.traceparent !== undefined;
    return {
      ...report,
      error: capture(report.error),
      context: isTraced ? context : { ...context, trace_id: this.#traceId() },
      seed: report.seed ?? new DataView(this.#random(new Uint8Array(4)).buffer).getUint32(0),
    };
  }

  #traceId(): string {
    return Array.from(this.#random(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  #spend(event: string): void {
    const budget = this.#options.budget;
    if (budget !== undefined) budget.tokens = this.budget(budget.tokens, event, budget.capacity);
  }

  #spendFor(verdict: Verdict): void {
    const budget = this.#options.budget;
    if (budget !== undefined) budget.tokens = verdict.decision.tokens_left ?? budget.tokens;
  }

  #observed(verdict: Verdict): Verdict {
    try {
      this.#options.observe?.(verdict);
      return verdict;
    } catch {
      return verdict;
    }
  }
}
