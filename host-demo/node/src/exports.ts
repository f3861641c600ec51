/** What the package gives on every platform. */
export { capture, ConditionError } from "./capture.js";
export type { Json } from "./capture.js";
export { Contract, systemClock } from "./contract.js";
export type { Budget, Clock, ContractOptions, JsonContract, Limits, Settled } from "./contract.js";
export { LONGEST_TEXT } from "./engine.js";
export type { Core } from "./engine.js";
export {
  AuthError,
  ConflictError,
  NotFoundError,
  QueryError,
  RetortError,
  toError,
  UnknownOutcomeError,
} from "./errors.js";
export { Operation } from "./operation.js";
export type { CleanupHook, OperationOptions } from "./operation.js";
export type * from "./types.js";
