/** The verdict as an exception, for programs that would rather throw: one class per kind, the envelope in each. */
import type { Envelope, Verdict } from "./types.js";

/** The base of all of them. Its message is the envelope's constant text; it holds no cause, as causes leak. */
export class RetortError extends Error {
  override readonly name: string = "RetortError";
  readonly verdict: Verdict;

  constructor(verdict: Verdict) {
    super(`${verdict.envelope.code}: ${verdict.envelope.message}`);
    this.verdict = verdict;
  }

  /** What may be published. */
  get envelope(): Envelope {
    return this.verdict.envelope;
  }

  /** The public code. */
  get code(): string {
    return this.envelope.code;
  }

  /** Printing or serialising the error gives the envelope only. */
  toJSON(): Envelope {
    return this.envelope;
  }
}

/** Refused: the kind that HTTP answers with 401 or 403. */
export class AuthError extends RetortError {
  override readonly name = "AuthError";
}

/** What was asked for does not exist. */
export class NotFoundError extends RetortError {
  override readonly name = "NotFoundError";
}

/** The data's present state is in the way. */
export class ConflictError extends RetortError {
  override readonly name = "ConflictError";

  /** The operation of a batch that failed, counted from 0. */
  get opIndex(): number | undefined {
    return this.envelope.op_index;
  }
}

/** Malformed, not possible now, or not possible at all; no effect is left in doubt. */
export class QueryError extends RetortError {
  override readonly name = "QueryError";
}

/** Nobody knows whether the write took effect: never repeat it blindly. */
export class UnknownOutcomeError extends RetortError {
  override readonly name = "UnknownOutcomeError";
}

const CLASSES = {
  validation: QueryError,
  clarification: QueryError,
  authorization: AuthError,
  not_found: NotFoundError,
  conflict: ConflictError,
  transient: QueryError,
  permanent: QueryError,
  unknown_outcome: UnknownOutcomeError,
} as const;

/** The typed error of a verdict. */
export function toError(verdict: Verdict): RetortError {
  return new CLASSES[verdict.envelope.category](verdict);
}
