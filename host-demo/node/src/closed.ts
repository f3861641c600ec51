/**
 * Failing closed: what this package answers where the module cannot. Nothing here makes a retry look safe, and
 * nothing lets a text through that was not looked at.
 */
import type { JsonFunction } from "./engine.js";
import type { Outcome, Reconciliation, Report, Verdict } from "./types.js";

interface Row {
  code: string;
  category: "permanent" | "unknown_outcome";
  outcome: Outcome;
  message: string;
}

/** The two verdicts, by whether the report says read. Texts as in the contract's table of codes. */
const READ: Row = {
  code: "DATABASE_ERROR",
  category: "permanent",
  outcome: "not_committed",
  message: "The database reported an error that a retry does not mend.",
};
const WRITE: Row = {
  code: "OUTCOME_UNKNOWN",
  category: "unknown_outcome",
  outcome: "unknown",
  message: "It is not known whether the operation took effect. Do not repeat it before that is known.",
};

/** How long to wait before the operation key is looked up, in milliseconds. */
const CHECK_AFTER_MS = 1000;

const TRACE_ID = /^[A-Za-z0-9._:/@+#-]{1,128}$/;
const KEY = /^[!-~]{1,256}$/;
const SELECT = /^\s*select\b/i;

/** The verdict on a report that the module could not judge. */
export function closedVerdict(report: Partial<Report>): Verdict {
  const { effect, statement, operation_key } = report.operation ?? {};
  // Only what says read and shows nothing else than a SELECT is one.
  const isRead = effect === "read" && SELECT.test(statement ?? "select");
  const { code, category, outcome, message } = isRead ? READ : WRITE;
  const key = isRead ? undefined : matching(KEY, operation_key);
  const next = isRead ? "stop" : key === undefined ? "escalate" : "reconcile";
  const trace_id = matching(TRACE_ID, report.context?.trace_id) ?? mintedTraceId();
  const lookUp = key === undefined ? {} : { operation_key: key, check_after_ms: CHECK_AFTER_MS };
  const delay = key === undefined ? {} : { delay_ms: CHECK_AFTER_MS };
  return {
    envelope: { code, category, retryable: false, outcome, trace_id, message, next, ...lookUp },
    decision: {
      action: next,
      ...delay,
      scope: "operation",
      cleanup: "cancel_then_discard",
      reason: "tool_fault",
      attempts_left: 0,
    },
    diagnostic: {
      trace_id,
      code,
      system: "_OTHER",
      rule: "host/fault",
      proof: "nothing",
      native_codes: [],
      phase: "unknown",
      phase_conflict: false,
      transaction: "unknown",
      cancel: "none",
      connection: "unknown",
      message: "",
      causes: [],
      attempt_number: 1,
    },
    attempt: {
      "error.type": code,
      "db.system.name": "_OTHER",
      "db.response.status_code": "_OTHER",
      "retort.attempt.number": 1,
      "retort.category": category,
      "retort.outcome": outcome,
      "retort.retryable": false,
      "retort.next": next,
      "retort.final": true,
    },
  };
}

/** A fold that claims nothing. */
const NO_RECORD = {
  "retort.attempts": 0,
  "retort.total_delay_ms": 0,
  "error.type": WRITE.code,
  "retort.category": WRITE.category,
  "retort.outcome": WRITE.outcome,
  "retort.duplicates_possible": true,
  "retort.final": true,
};

const ANSWERS: Readonly<Record<Exclude<JsonFunction, "version">, (text: string) => unknown>> = {
  evaluate: (text) => closedVerdict(readObject(text)),
  "evaluate-many": (text) => readArray(text).map(closedVerdict),
  reconcile: (text) => closedVerdict(reconciled(readObject(text))),
  summarise: () => NO_RECORD,
  budget: () => ({ tokens: 0 }),
  redact: (text) => ({ text: "[withheld]", findings: [whole(text)] }),
  inspect: (text) => ({ findings: [whole(text)] }),
  fingerprint: () => ({ fingerprint: "0".repeat(16), shape: "", operation: "", summary: "" }),
  render: () => toolFailure(closedVerdict({})),
  codes: () => [],
};

/** The text that each function gives where the module could not. */
export function closedText(name: JsonFunction, text: string): string {
  return name === "version" ? "" : JSON.stringify(ANSWERS[name](text));
}

/** An earlier verdict that could not be judged anew: a write, whose outcome stays open. */
function reconciled(given: Partial<Reconciliation>): Partial<Report> {
  const { operation, context, verdict } = given;
  const earlier = verdict !== undefined && "envelope" in verdict ? verdict.envelope : verdict;
  const operation_key = operation?.operation_key ?? earlier?.operation_key;
  return { operation: { ...(operation_key && { operation_key }) }, ...(context && { context }) };
}

function mintedTraceId(): string {
  return crypto.randomUUID().replaceAll("-", "");
}

function matching(pattern: RegExp, value: unknown): string | undefined {
  return typeof value === "string" && pattern.test(value) ? value : undefined;
}

function toolFailure({ envelope }: Verdict): object {
  const content = [{ type: "text", text: JSON.stringify(envelope) }];
  return { content, isError: true, _meta: { "dev.retort/error": envelope } };
}

/** The text inside `{"text"}`; any other text is itself. */
function within(text: string): string {
  const value = parse(text);
  const inner: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "text") : undefined;
  return typeof inner === "string" ? inner : text;
}

function whole(text: string): object {
  return { kind: "unreadable", start: 0, end: new TextEncoder().encode(within(text)).length };
}

function readObject(text: string): Partial<Report & Reconciliation> {
  const value = parse(text);
  return typeof value === "object" && value !== null ? value : {};
}

function readArray(text: string): Partial<Report>[] {
  const value = parse(text);
  return Array.isArray(value) ? value.map((item) => (typeof item === "object" && item !== null ? item : {})) : [{}];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
