/**
 * One operation as the host sees it: which phase it is in and what is known of its transaction. Adapters move it
 * along; where there is none, the tool's code does (`operation.acquiring()`, `.executing()`, `.committing()`, ...).
 */
import type { Json } from "./capture.js";
import { capture } from "./capture.js";
import type {
  AttemptReport,
  Cancel,
  Cleanup,
  OperationReport,
  Phase,
  Report,
  Transaction,
  Unit,
  Verdict,
} from "./types.js";

/** What is known before the operation begins. */
export interface OperationOptions
  extends Omit<OperationReport, "phase" | "transaction" | "steps_done">,
    Pick<Report, "system" | "driver" | "context" | "policy" | "violations"> {
  /** The whole budget in milliseconds from the operation's start. */
  deadline_ms?: number;
  /** How long one attempt usually takes, in milliseconds. */
  expected_ms?: number;
}

/** Where an operation stands. */
interface State {
  phase: Phase;
  transaction: Transaction;
  steps_done: number;
  unit: Unit | undefined;
  statement: string | undefined;
  cancel: Cancel;
  system: string | undefined;
  driver: string | undefined;
}

/** An error, and where the operation stood when it came. */
interface Failure {
  error: unknown;
  state: State;
}

/** Does with a connection what the decision says; is told so before any envelope leaves the host. */
export type CleanupHook = (cleanup: Cleanup) => Promise<void>;

const AT_FIRST: State = {
  phase: "validate",
  transaction: "none",
  steps_done: 0,
  unit: undefined,
  statement: undefined,
  cancel: "none",
  system: undefined,
  driver: undefined,
};

/** How far `cause` and its like are followed from a thrown error. */
const LONGEST_CHAIN = 16;

/** The members under which wrappers keep the driver's error. */
const CAUSES = ["cause", "original", "originalError", "parent", "driverError"];

/** Follows one operation through its attempts. */
export class Operation {
  readonly options: OperationOptions;
  readonly #now: () => number;
  readonly #start: number;
  #state: State = { ...AT_FIRST };
  #failures = new WeakMap<object, Failure>();
  #last: Failure | undefined;
  #hooks = new Set<CleanupHook>();
  #number = 1;
  #prior: AttemptReport["prior"];

  /** `now` gives milliseconds. */
  constructor(options: OperationOptions, now: () => number) {
    this.options = options;
    this.#now = now;
    this.#start = now();
  }

  get phase(): Phase {
    return this.#state.phase;
  }

  get transaction(): Transaction {
    return this.#state.transaction;
  }

  /** Which attempt this is, from 1. */
  get number(): number {
    return this.#number;
  }

  /** Says which system and driver work for this operation. */
  uses(system: string, driver: string): void {
    this.#move({ system, driver });
  }

  /** Waits for a connection of a pool. */
  acquiring(): void {
    this.#move({ phase: "acquire" });
  }

  /** Opens a connection. */
  connecting(): void {
    this.#move({ phase: "connect" });
  }

  /** Sends a statement, or waits for its answer. `unit` says what the statement may touch. */
  executing(statement?: string, unit?: Unit): void {
    this.#settleCommitted();
    this.#move({ phase: "execute", statement, unit });
  }

  /** Reads rows. */
  fetching(): void {
    this.#move({ phase: "fetch" });
  }

  /** A transaction is open. */
  begun(): void {
    this.#settleCommitted();
    this.#move({ transaction: "open" });
  }

  /** The server refuses everything in this transaction but its end. */
  transactionFailed(): void {
    this.#move({ transaction: "failed" });
  }

  /** A statement may have opened or ended a transaction without our knowing. */
  transactionUnknown(): void {
    this.#move({ transaction: "unknown" });
  }

  /** The transaction is prepared for a later decision. */
  prepared(): void {
    this.#move({ phase: "unknown", transaction: "prepared" });
  }

  /** COMMIT is about to be sent. */
  committing(): void {
    this.#move({ phase: "commit", transaction: "committing" });
  }

  /** COMMIT was acknowledged. */
  committed(): void {
    this.#move({ phase: "done", transaction: "committed" });
  }

  /** ROLLBACK is about to be sent. After a failed COMMIT it proves nothing, so the transaction stays as it is. */
  rollingBack(): void {
    this.#move({ phase: "rollback" });
  }

  /** ROLLBACK was acknowledged. */
  rolledBack(): void {
    this.#last = undefined;
    if (this.#state.transaction !== "committing") this.#move({ transaction: "rolled_back" });
  }

  /** Statements took effect in autocommit; what comes next is not known. */
  applied(statements = 1): void {
    const steps_done = this.#state.steps_done + statements;
    this.#move({ phase: "unknown", transaction: "none", steps_done });
  }

  /** All that the operation writes is committed. */
  finished(): void {
    this.#move({ phase: "done" });
  }

  /** Somebody asked for the statement to be cancelled. */
  cancelling(cancel: Cancel = "requested"): void {
    this.#move({ cancel });
  }

  /**
   * Remembers where the operation stood when this error came, for what is done afterwards must not blur it. An error
   * of ROLLBACK stands for the one that made it necessary.
   */
  failed(error: unknown): void {
    const failure =
      this.#state.phase === "rollback" && this.#last !== undefined ? this.#last : { error, state: { ...this.#state } };
    this.#last = failure;
    if (isObject(error) && !this.#failures.has(error)) this.#failures.set(error, failure);
  }

  /** Is called once the verdict is known, and on success with `none`. */
  onCleanup(hook: CleanupHook): void {
    this.#hooks.add(hook);
  }

  /** Carries out a decision's cleanup on all connections of this attempt. Never throws. */
  async cleanup(cleanup: Cleanup): Promise<void> {
    const hooks = [...this.#hooks];
    this.#hooks.clear();
    await Promise.allSettled(hooks.map((hook) => hook(cleanup)));
  }

  /** Begins the next attempt, which cannot forget what the last one left behind. */
  retried(verdict: Verdict): void {
    this.#number += 1;
    this.#prior = verdict.envelope.outcome;
    this.#state = { ...AT_FIRST };
    this.#last = undefined;
  }

  /** Milliseconds since the operation's start. */
  elapsed(): number {
    return Math.max(0, Math.round(this.#now() - this.#start));
  }

  /** The report on an error of this operation. */
  report(thrown: unknown): Report & { error: Json } {
    const { system, driver, context, policy, violations, deadline_ms, expected_ms, ...known } = this.options;
    const { error, state } = this.#failureOf(thrown);
    const attempt = {
      number: this.#number,
      elapsed_ms: this.elapsed(),
      deadline_ms,
      expected_ms,
      prior: this.#prior,
    };
    const operation = {
      ...known,
      phase: state.phase,
      transaction: state.transaction,
      steps_done: state.steps_done,
      unit: known.unit ?? state.unit,
      statement: known.statement ?? state.statement,
    };
    return {
      error: capture(error),
      ...present({
        system: system ?? state.system,
        driver: driver ?? state.driver,
        operation: present(operation) as OperationReport,
        attempt: present(attempt) as AttemptReport,
        cancel: state.cancel === "none" ? this.#state.cancel : state.cancel,
        violations,
        context,
        policy,
      }),
    } as Report & { error: Json };
  }

  /** What is known of this error or of one beneath it; the present state where no adapter saw it. */
  #failureOf(thrown: unknown): Failure {
    let inner = thrown;
    for (let depth = 0; depth < LONGEST_CHAIN && isObject(inner); depth += 1) {
      const failure = this.#failures.get(inner);
      if (failure !== undefined) return inner === failure.error ? { ...failure, error: thrown } : failure;
      inner = beneath(inner);
    }
    return { error: thrown, state: this.#state };
  }

  /** A transaction that was committed earlier in this operation is a step that has been done. */
  #settleCommitted(): void {
    if (this.#state.transaction !== "committed") return;
    this.#move({ transaction: "none", steps_done: this.#state.steps_done + 1 });
  }

  #move(change: Partial<State>): void {
    Object.assign(this.#state, change);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function beneath(error: object): unknown {
  for (const name of CAUSES) {
    try {
      const inner: unknown = Reflect.get(error, name);
      if (isObject(inner) && inner !== error) return inner;
    } catch {
      continue;
    }
  }
  return undefined;
}

/** The members that have a value. */
export function present<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
