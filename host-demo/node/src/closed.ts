/**
 * Failing closed: what this package answers where the module cannot. Nothing here makes a retry look safe, and
 * nothing lets a text through that was not looked at.
 */
import type { JsonFunction } from "./engine.js";
import type { Outcome, Report, Verdict } from "./types.js";

interface Row {
  code: string;
  category: "permanent" | "unknown_outcome";
  outcome: Outcome;
  next: "stop" | "escalate";
  reason: string;
  message: string;
}

/** The two verdicts, by whether the report says read. Texts as in the contract's table of codes. */
const READ: Row = {
  code: "DATABASE_ERROR",
  category: "permanent",
  outcome: "not_committed",
  next: "stop",
  reason: "unrecognised",
  message: "The database reported an error that a retry does not mend.",
};
const WRITE: Row = {
  code: "OUTCOME_UNKNOWN",
  category: "unknown_outcome",
  outcome: "unknown",
  next: "escalate",
  reason: "outcome_unknown",
  message: "It is not known whether the operation took effect. Do not repeat it before that is known.",
};

const TRACE_ID = /^[A-Za-z0-9._:-]{1,64}$/;
const NO_TRACE = "0".repeat(32);

/** The verdict on a report that the module could not judge. */
export function closedVerdict(report: Partial<Report>): Verdict {
  const isRead = report.operation?.effect === "read";
  const { reason, ...row } = isRead ? READ : WRITE;
  const claimed = report.context?.trace_id;
  const trace_id = typeof claimed === "string" && TRACE_ID.test(claimed) ? claimed : NO_TRACE;
  return {
    envelope: {
      code: row.code,
      category: row.category,
      retryable: false,
      outcome: row.outcome,
      trace_id,
      message: row.message,
      next: row.next,
    },
    decision: { action: row.next, scope: "operation", cleanup: "cancel_then_discard", reason, attempts_left: 0 },
    diagnostic: {
      trace_id,
      code: row.code,
      system: "_OTHER",
      rule: "module_fault",
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
      "error.type": row.code,
      "db.system.name": "_OTHER",
      "db.response.status_code": "_OTHER",
      "retort.attempt.number": 1,
      "retort.category": row.category,
      "retort.outcome": row.outcome,
      "retort.retryable": false,
      "retort.next": row.next,
      "retort.final": true,
    },
  };
}

/** The text that each function gives where the module could not; `undefined`: there is none that would be safe. */
export function closedText(name: JsonFunction, text: string): string | undefined {
  switch (name) {
    case "evaluate":
      return JSON.stringify(closedVerdict(readObject(text)));
    case "evaluate-many":
      return JSON.stringify(readArray(text).map(closedVerdict));
    case "reconcile":
      return JSON.stringify(closedVerdict({}));
    case "budget":
      return '{"tokens":0}';
    case "redact":
      return JSON.stringify({ text: "[unread]", findings: [whole(text)] });
    case "inspect":
      return JSON.stringify({ findings: [whole(text)] });
    case "render":
      return JSON.stringify(toolFailure(closedVerdict({})));
    default:
      return undefined;
  }
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
  return { kind: "unread", start: 0, end: new TextEncoder().encode(within(text)).length };
}

function readObject(text: string): Partial<Report> {
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
