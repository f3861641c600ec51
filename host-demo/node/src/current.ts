/** The operation that the present asynchronous work belongs to: how adapters find it without being handed it. */
import { AsyncLocalStorage } from "node:async_hooks";

import type { Operation } from "./operation.js";

const storage = new AsyncLocalStorage<Operation>();

/** Runs work as part of an operation. */
export function enter<T>(operation: Operation, work: () => T): T {
  return storage.run(operation, work);
}

/** The operation that the caller belongs to. */
export function currentOperation(): Operation | undefined {
  return storage.getStore();
}
