/** What a statement does to the transaction, as far as its first words tell. No parser: what is unclear is `several`. */
import type { Unit } from "./types.js";

/** The kinds that adapters tell apart. */
export type Kind = "begin" | "commit" | "rollback" | "prepare" | "several" | "read" | "statement";

/** A statement's kind, and what it may touch. */
export interface Statement {
  kind: Kind;
  unit: Unit | undefined;
}

/** First word → kind. */
const KINDS: Readonly<Record<string, Kind>> = {
  BEGIN: "begin",
  START: "begin",
  COMMIT: "commit",
  END: "commit",
  ROLLBACK: "rollback",
  ABORT: "rollback",
  SELECT: "read",
  SHOW: "read",
  SET: "read",
  EXPLAIN: "read",
  SAVEPOINT: "read",
  RELEASE: "read",
};

/** First word → unit. */
const UNITS: Readonly<Record<string, Unit>> = {
  CALL: "procedure",
  DO: "procedure",
  ALTER: "ddl",
  CREATE: "ddl",
  DROP: "ddl",
  RENAME: "ddl",
  TRUNCATE: "ddl",
};

const LEADING = /^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|;)+/;
const WORDS = /^([A-Za-z]+)(?:\s+([A-Za-z]+))?/;
const ENDS_TRANSACTION = /\b(?:commit|rollback|begin|end|abort|start)\b/i;

/** Reads a statement's first words. Several statements in one text that may end a transaction are `several`. */
export function readStatement(text: string): Statement {
  const body = text.replace(LEADING, "");
  const [, first = "", second = ""] = WORDS.exec(body) ?? [];
  const [word, next] = [first.toUpperCase(), second.toUpperCase()];
  const semicolon = body.indexOf(";");
  const isSeveral = semicolon >= 0 && body.slice(semicolon).replace(LEADING, "") !== "";
  if (isSeveral) return { kind: ENDS_TRANSACTION.test(body) ? "several" : "statement", unit: "batch" };
  if (word === "PREPARE" && next === "TRANSACTION") return { kind: "prepare", unit: undefined };
  if (word === "ROLLBACK" && next === "TO") return { kind: "read", unit: undefined };
  return { kind: KINDS[word] ?? "statement", unit: UNITS[word] };
}
