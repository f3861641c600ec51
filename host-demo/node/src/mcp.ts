/**
 * MCP tools that answer with the envelope instead of throwing: one text block, the same object in `_meta`, and
 * `isError`. Serves handlers of `@modelcontextprotocol/server` 2.x and of `@modelcontextprotocol/sdk` 1.x.
 */
import { contract as ofThisProcess } from "#contract";

import type { Contract } from "./contract.js";
import type { Operation, OperationOptions } from "./operation.js";
import { present } from "./operation.js";
import type { Context, ToolFailure } from "./types.js";

/** What is known of a tool before it is called. */
export interface ToolOptions extends Omit<OperationOptions, "operation_key"> {
  /** The tool's name, for metrics and logs. */
  tool?: string;
  /** The argument that holds the operation key. */
  key_argument?: string;
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

/**
 * Wraps a tool's handler. Adapters follow what it does; without one, the handler moves `currentOperation()` along.
 * A failed attempt is repeated as the decision allows; the envelope leaves only once the loop is over.
 */
export function withContract<P extends unknown[], R>(
  handler: (...parameters: P) => R | Promise<R>,
  options: ToolOptions = {},
): (...parameters: P) => Promise<R | ToolFailure> {
  const contract = options.contract ?? ofThisProcess;
  return async (...parameters) => {
    const extra = (parameters.at(-1) ?? {}) as Extra;
    const signal = extra.mcpReq?.signal ?? extra.signal;
    const operation = optionsOf(options, parameters.length > 1 ? parameters[0] : undefined, extra);
    const settled = await contract.settle(operation, async (_: Operation) => handler(...parameters), signal);
    return settled.ok ? settled.value : contract.toolFailure(settled.verdict.envelope);
  };
}

function optionsOf(options: ToolOptions, given: unknown, extra: Extra): OperationOptions {
  const { tool, key_argument, contextOf, contract: _, ...known } = options;
  const key = typeof given === "object" && given !== null ? Reflect.get(given, key_argument ?? "operation_key") : undefined;
  const traceparent = extra.mcpReq?._meta?.traceparent ?? extra._meta?.traceparent;
  const context = present({
    traceparent: typeof traceparent === "string" ? traceparent : undefined,
    tool,
    boundary: "mcp",
    ...known.context,
    ...contextOf?.(extra),
  });
  return {
    ...known,
    context,
    ...(typeof key === "string" ? { operation_key: key } : {}),
  };
}
