/**
 * Anything thrown → plain JSON that the contract reads. Never throws, never runs on: depth, members and text are
 * bounded, cycles and getters that throw are passed over, and members that hold statements or their parameters are
 * left out, as nothing in them says what went wrong.
 */

/** A condition that the host itself found out, such as `COMMIT_ROLLED_BACK` or `POOL_BUSY`: a published code. */
export class ConditionError extends Error {
  override readonly name = "ConditionError";

  constructor(readonly condition: string) {
    super(condition);
  }
}

/** What a captured error is made of. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

const DEEPEST = 8;
const MOST_MEMBERS = 512;
const LONGEST_TEXT = 64 * 1024;
const MOST_TEXT = 128 * 1024;

/** Members that hold parameters, rows, statements, stacks, or the driver's own machinery. In lower case. */
const LEFT_OUT = new Set([
  "agent",
  "args",
  "binds",
  "bindings",
  "client",
  "config",
  "connection",
  "doc",
  "document",
  "fields",
  "item",
  "keyvalue",
  "op",
  "parameters",
  "params",
  "password",
  "pool",
  "query",
  "req",
  "request",
  "rows",
  "socket",
  "sql",
  "stack",
  "statement",
  "types",
  "values",
]);

/** Members that drivers keep on an error's prototype. */
const INHERITED = ["name", "message", "code", "errorLabels"];

/** Captures a thrown value. Plain JSON comes back as it is, but for what is left out. */
export function capture(thrown: unknown): Json {
  return new Capture().value(thrown, 0) ?? null;
}

class Capture {
  #members = 0;
  #text = 0;
  readonly #path = new Set<object>();

  /** `undefined`: nothing that could be said about it. */
  value(value: unknown, depth: number): Json | undefined {
    switch (typeof value) {
      case "string":
        return this.#cut(value);
      case "number":
        return Number.isFinite(value) ? value : null;
      case "boolean":
        return value;
      case "bigint":
        return Number.isSafeInteger(Number(value)) ? Number(value) : this.#cut(value.toString());
      case "symbol":
        return this.#cut(value.description ?? "");
      case "object":
        return value === null ? null : this.#guarded(value, depth);
      default:
        return undefined;
    }
  }

  /** An object, unless it is being captured already, lies too deep, or defends itself. */
  #guarded(value: object, depth: number): Json | undefined {
    if (depth > DEEPEST || this.#path.has(value)) return undefined;
    this.#path.add(value);
    try {
      return this.#object(value, depth);
    } catch {
      return undefined;
    } finally {
      this.#path.delete(value);
    }
  }

  #object(value: object, depth: number): Json | undefined {
    if (value instanceof ConditionError) return { condition: value.condition };
    if (Array.isArray(value)) return this.#array(value, depth);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return undefined;
    if (value instanceof Map) return this.#record(value.entries(), depth);
    if (value instanceof Set) return this.#array([...value], depth);
    if (isHeaders(value)) return this.#record(value.entries(), depth);
    const captured = this.#record(ownMembers(value), depth);
    if (value instanceof Error || "message" in captured) this.#identify(value, captured);
    return captured;
  }

  #array(items: readonly unknown[], depth: number): Json[] {
    const captured: Json[] = [];
    for (const item of items) {
      if (this.#isFull()) break;
      captured.push(this.value(item, depth + 1) ?? null);
    }
    return captured;
  }

  #record(members: Iterable<[unknown, unknown]>, depth: number): { [name: string]: Json } {
    const captured: { [name: string]: Json } = {};
    for (const [name, member] of members) {
      if (typeof name !== "string" || LEFT_OUT.has(name.toLowerCase())) continue;
      if (this.#isFull()) break;
      const json = this.value(member, depth + 1);
      if (json !== undefined) Object.defineProperty(captured, name, { value: json, enumerable: true });
    }
    return captured;
  }

  /** An error's identity often stands on its prototype: name, code, and the name of its class. */
  #identify(error: object, captured: { [name: string]: Json }): void {
    for (const name of INHERITED) {
      if (name in captured) continue;
      const json = this.value(read(error, name), DEEPEST);
      if (json !== undefined && json !== "") captured[name] = json;
    }
    const prototype: unknown = Object.getPrototypeOf(error);
    const maker = typeof prototype === "object" && prototype !== null ? read(prototype, "constructor") : undefined;
    const className = typeof maker === "function" ? maker.name : "";
    if (className !== "" && className !== "Object" && className !== captured["name"] && !("className" in captured)) {
      captured["className"] = this.#cut(className);
    }
  }

  #isFull(): boolean {
    this.#members += 1;
    return this.#members > MOST_MEMBERS || this.#text > MOST_TEXT;
  }

  /** Keeps the head and the tail of a long text. */
  #cut(text: string): string {
    const most = Math.min(LONGEST_TEXT, Math.max(0, MOST_TEXT - this.#text));
    const kept = text.length <= most ? text : text.slice(0, most - (most >> 1)) + text.slice(text.length - (most >> 1));
    this.#text += kept.length;
    return kept;
  }
}

/** Own members with string names, enumerable or not; a getter that throws is passed over. */
function* ownMembers(value: object): Generator<[string, unknown]> {
  for (const name of Object.getOwnPropertyNames(value)) {
    const member = read(value, name);
    if (member !== undefined) yield [name, member];
  }
}

function read(value: object, name: string): unknown {
  try {
    return Reflect.get(value, name) as unknown;
  } catch {
    return undefined;
  }
}

function isHeaders(value: object): value is { entries(): Iterable<[string, string]> } {
  return typeof Headers === "function" && value instanceof Headers;
}
