/**
 * MCP tools that answer with the envelope instead of throwing: one text block, the same object in `_meta`, and
 * `isError`. Serves handlers of `@modelcontextprotocol/server` 2.x and of `@modelcontextprotocol/sdk` 1.x.
 */
import { contract as ofThisProcess } from "#contract";

import { ConditionError } from "./capture.js";
import type { Contract } from "./contract.js";
import type { OperationOptions } from "./operation.js";
import { present } from "./operation.js";
import type { Context, ToolFailure } from "./types.js";

/** What is known of a tool before it is called. */
export interface ToolOptions extends Omit<OperationOptions, "operation_key"> {
  /** The tool's name, for metrics and logs. */
  tool?: string;
  /** The argument that holds the operation key; `operation_key` where absent. */
  key_argument?: string;
  /** How often the handler may be run within one call where the decisions allow it; 1 where absent. */
  attempts?: number;
  /** What the host knows of the caller: identity, policy, whether it may learn what exists. */
  contextOf?: (extra: unknown) => Context;
  contract?: Contract;
}

/** The parts of a handler's last parameter that are read: 2.x keeps them under `mcpReq`, 1.x at the top. */
interface Extra {
  signal?: AbortSignal;
  _meta?: { traceparent?: unknown };
  mcpReq?: { signal?: AbortSignal; _meta?: { traceparent?: unknown } };
}

/** What an operation key is made of: 1 to 256 visible ASCII characters. */
const KEY = /^[!-~]{1,256}$/;

/**
 * Wraps a tool's handler. Adapters follow what it does; without one, the handler moves `currentOperation()` along.
 * With `attempts`, a failed attempt is repeated as the decision allows; the envelope leaves only once the loop is over.
 * A write with `dedupe` is refused without an operation key, before the handler runs.
 */
export function withContract<P extends unknown[], R>(
  handler: (...parameters: P) => R | Promise<R>,
  options: ToolOptions = {},
): (...parameters: P) => Promise<R | ToolFailure> {
  const contract = options.contract ?? ofThisProcess;
  return async (...parameters) => {
    const extra = (parameters.at(-1) ?? {}) as Extra;
    const signal = extra.mcpReq?.signal ?? extra.signal;
    const key = keyOf(options, parameters.length > 1 ? parameters[0] : undefined);
    const operation = optionsOf(options, key, extra);
    const work = (): R | Promise<R> => {
      requireKey(options, key);
      return handler(...parameters);
    };
    const settled = await contract.settle(operation, work, { signal, attempts: options.attempts ?? 1 });
    return settled.ok ? settled.value : contract.toolFailure(settled.verdict.envelope);
  };
}

function keyOf(options: ToolOptions, given: unknown): unknown {
  const name = options.key_argument ?? "operation_key";
  return typeof given === "object" && given !== null ? Reflect.get(given, name) : undefined;
}

function requireKey({ effect, dedupe }: ToolOptions, key: unknown): void {
  if (effect === "read" || dedupe === undefined || dedupe === "none") return;
  if (key === undefined) throw new ConditionError("MISSING_ARGUMENT");
  if (typeof key !== "string" || !KEY.test(key)) throw new ConditionError("INVALID_KEY");
}

function optionsOf(options: ToolOptions, key: unknown, extra: Extra): OperationOptions {
  const { tool, key_argument: _, attempts: __, contextOf, contract: ___, ...known } = options;
  const traceparent = extra.mcpReq?._meta?.traceparent ?? extra._meta?.traceparent;
  const context = present({
    traceparent: typeof traceparent === "string" ? traceparent : undefined,
    tool,
    boundary: "mcp",
    ...known.context,
    ...contextOf?.(extra),
  });
  return { ...known, context, ...(typeof key === "string" ? { operation_key: key } : {}) };
}
