/** The shapes of the contract: the JSON spelling of `wit/retort.wit`. Every word is a string; unknown words get the cautious reading. */

export type Category =
  | "validation"
  | "clarification"
  | "authorization"
  | "not_found"
  | "conflict"
  | "transient"
  | "permanent"
  | "unknown_outcome";

export type Outcome = "not_started" | "not_committed" | "committed" | "unknown";
export type Effect = "read" | "idempotent_write" | "write";
export type Phase =
  | "validate"
  | "authorize"
  | "acquire"
  | "connect"
  | "send"
  | "execute"
  | "fetch"
  | "commit"
  | "rollback"
  | "done"
  | "unknown";
export type Transaction =
  | "none"
  | "open"
  | "committing"
  | "committed"
  | "rolled_back"
  | "failed"
  | "prepared"
  | "unknown";
export type Unit = "statement" | "many" | "batch" | "procedure" | "ddl";
export type Cleanup = "none" | "rollback" | "discard_connection" | "cancel_then_discard";
export type Next = "fix" | "clarify" | "escalate" | "refresh" | "retry" | "resubmit" | "reconcile" | "done" | "stop";
export type Cancel = "none" | "requested" | "confirmed" | "failed";
export type Receipt = "none" | "committed" | "absent" | "pending" | "expired" | "unavailable";

/** One finding of the host's own argument check. */
export interface Violation {
  argument: string;
  /** A JSON Schema keyword, such as `maximum`. */
  rule: string;
}

/** What was being done when the error came. */
export interface OperationReport {
  effect?: Effect;
  phase?: Phase;
  transaction?: Transaction;
  unit?: Unit;
  steps_done?: number;
  origin?: "tool" | "model";
  operation_key?: string;
  dedupe?: "none" | "receipt" | "enforced";
  key_expires_ms?: number;
  receipt?: Receipt;
  fenced?: boolean;
  replays?: "none" | "possible";
  key_constraint?: string;
  /** Restricted: fingerprinted, never published. */
  statement?: string;
  op_index?: number;
}

/** Which try of the operation met the error, and what is left. */
export interface AttemptReport {
  number?: number;
  max?: number;
  elapsed_ms?: number;
  deadline_ms?: number;
  expected_ms?: number;
  server_retry_after_ms?: number;
  tokens?: number;
  prior?: "none" | Outcome;
}

/** Who asked. The host's word; nothing in it may come from the model's arguments. */
export interface Context {
  trace_id?: string;
  traceparent?: string;
  operation_id?: string;
  attempt_id?: string;
  tool?: string;
  tool_version?: string;
  policy_version?: string;
  boundary?: string;
  reference?: string;
  authorized?: boolean;
}

/** The numbers that backoff works with; times in milliseconds. */
export interface Policy {
  base_ms?: number;
  cap_ms?: number;
  max_attempts?: number;
  capacity?: number;
  conceal_conflicts?: boolean;
}

/** One error, and all that the host knows of the operation that met it. */
export interface Report {
  /** The driver's error as it was thrown, or `{ condition: "POOL_BUSY" }` where the host knows the condition. */
  error: unknown;
  /** OpenTelemetry's `db.system.name` or a common alias; guessed from the error's shape where absent. */
  system?: string;
  driver?: string;
  operation?: OperationReport;
  attempt?: AttemptReport;
  cancel?: Cancel;
  violations?: Violation[];
  context?: Context;
  policy?: Policy;
  seed?: number;
}

/** For the model. Safe to publish: nothing in it comes from the driver's text. */
export interface Envelope {
  code: string;
  category: Category;
  retryable: boolean;
  retry_after_ms?: number;
  outcome: Outcome;
  trace_id: string;
  message: string;
  next: Next;
  operation_key?: string;
  check_after_ms?: number;
  op_index?: number;
  arguments?: Violation[];
  reference?: string;
}

/** For the program. */
export interface Decision {
  action: Next;
  delay_ms?: number;
  scope: "statement" | "transaction" | "operation";
  /** What to do with the connection before any envelope leaves the host. */
  cleanup: Cleanup;
  reason: string;
  attempts_left: number;
  tokens_left?: number;
}

/** For the operator. Restricted, yet without credentials, row values or SQL literals. */
export interface Diagnostic {
  trace_id: string;
  operation_id?: string;
  attempt_id?: string;
  code: string;
  system: string;
  driver?: string;
  rule: string;
  proof: string;
  native_codes: string[];
  phase: Phase;
  phase_conflict: boolean;
  transaction: Transaction;
  cancel: Cancel;
  connection: "alive" | "lost" | "unknown" | "none";
  message: string;
  causes: string[];
  statement_fingerprint?: string;
  statement_summary?: string;
  attempt_number: number;
  elapsed_ms?: number;
  deadline_ms?: number;
  tool?: string;
  tool_version?: string;
  policy_version?: string;
  boundary?: string;
}

/** One attempt as flat OpenTelemetry attributes: `error.type`, `db.system.name`, `retort.outcome` and so on. */
export type AttemptRecord = Record<string, string | number | boolean>;

/** What the error means, for each of its readers. */
export interface Verdict {
  envelope: Envelope;
  decision: Decision;
  diagnostic: Diagnostic;
  attempt: AttemptRecord;
}

/** An earlier verdict and what the look-up of its operation key said. */
export interface Reconciliation {
  verdict: Verdict | Envelope;
  receipt: Receipt;
  fenced?: boolean;
  payload_differs?: boolean;
  operation?: OperationReport;
  attempt?: AttemptReport;
  context?: Context;
  policy?: Policy;
  seed?: number;
}

/** A place in a text that should not be published, in bytes of its UTF-8. */
export interface Finding {
  kind: string;
  start: number;
  end: number;
}

/** A text without what should not be published. */
export interface Redaction {
  text: string;
  findings: Finding[];
}

/** A statement without its literals. */
export interface Fingerprint {
  fingerprint: string;
  shape: string;
  operation: string;
  summary: string;
}

/** A row of the table of public codes. */
export interface CodeRow {
  code: string;
  category: Category;
  transient: boolean;
  next: Next;
  message: string;
}

/** An envelope as MCP's CallToolResult. */
export interface ToolFailure {
  [key: string]: unknown;
  content: [{ type: "text"; text: string }];
  isError: true;
  _meta: { "dev.retort/error": Envelope; [key: string]: unknown };
}
