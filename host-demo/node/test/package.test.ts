import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";

import { packageFolder } from "./paths.js";

/** Bytes that the package may weigh. */
const BUDGET = { scripts: 64 * 1024, entryGzipped: 24 * 1024, tarball: 320 * 1024 };

const dist = join(packageFolder, "dist");

describe("the package's size", () => {
  test("stays within its budget", () => {
    const scripts = readdirSync(dist).filter((name) => name.endsWith(".js"));
    const bytes = scripts.map((name) => readFileSync(join(dist, name)));
    const total = bytes.reduce((sum, file) => sum + file.length, 0);
    const gzipped = bytes.reduce((sum, file) => sum + gzipSync(file).length, 0);
    assert.ok(total <= BUDGET.scripts, `${total} bytes of scripts`);
    assert.ok(gzipped <= BUDGET.entryGzipped, `${gzipped} bytes of scripts, gzipped`);
  });
});

const readme = readFileSync(join(packageFolder, "README.md"), "utf8");

/** The README's snippets in a language. */
function snippets(language: string): string[] {
  return [...readme.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(([, snippet]) => snippet ?? "");
}

const compiler = join(packageFolder, "node_modules/typescript/bin/tsc");
const flags = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom"];

test("the README's tool in three lines is right by its types", () => {
  const given = `
import type { McpServer } from "@modelcontextprotocol/server";
import pg from "pg";
import { z } from "zod";
declare const server: McpServer;
const config = { description: "Adds an entry.", inputSchema: z.object({ id: z.number() }) };
const handler = async ({ id }: { id: number }): Promise<{ content: { type: "text"; text: string }[] }> => {
  await pool.query("INSERT INTO entries VALUES ($1)", [id]);
  return { content: [{ type: "text", text: "added" }] };
};
`;
  const [tool] = snippets("ts");
  assert.ok(tool?.includes("withContract(handler"));
  const folder = mkdtempSync(join(packageFolder, "target/readme-"));
  try {
    writeFileSync(join(folder, "tool.ts"), given + tool);
    execFileSync(process.execPath, [compiler, ...flags, join(folder, "tool.ts")], { cwd: packageFolder, stdio: "pipe" });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe("the package in an empty folder", () => {
  let folder: string;
  let tarball: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "retort-package-"));
    const packed = execFileSync("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], {
      cwd: packageFolder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    tarball = join(folder, (JSON.parse(packed) as { filename: string }[])[0]?.filename ?? "");
    writeFileSync(join(folder, "package.json"), '{"private":true,"type":"module"}');
    execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", tarball], { cwd: folder, stdio: "ignore" });
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  test("weighs no more than its budget", () => {
    const { size } = statSync(tarball);
    assert.ok(size <= BUDGET.tarball, `${size} bytes`);
  });

  test("runs the README's snippets", () => {
    const outputs = snippets("js").map((snippet, index) => {
      const file = join(folder, `snippet${index}.mjs`);
      writeFileSync(file, snippet);
      return execFileSync(process.execPath, [file], { cwd: folder, encoding: "utf8" });
    });
    assert.deepEqual(outputs, ["UNIQUE_VIOLATION not_committed fix\n", "unknown reconcile\n"]);
  });

  test("resolves to another entry in workerd", () => {
    const script = 'console.log(import.meta.resolve("retort-contract"))';
    const options = { cwd: folder, encoding: "utf8" as const };
    const workerd = execFileSync(process.execPath, ["--conditions=workerd", "--input-type=module", "-e", script], options);
    const node = execFileSync(process.execPath, ["--input-type=module", "-e", script], options);
    assert.match(workerd, /\/dist\/workerd\.js\n$/);
    assert.match(node, /\/dist\/index\.js\n$/);
  });

  test("has types that a strict program can use", () => {
    const program = `
import { contract, ConflictError } from "retort-contract";
import type { Envelope } from "retort-contract";
import { withContract } from "retort-contract/mcp";
const envelope: Envelope = contract.evaluate({ error: new Error("x"), operation: { effect: "read" } }).envelope;
const handler = withContract(async (given: { id: number }, _extra: object) => ({ id: given.id }), { effect: "read" });
export const both: [string, Promise<unknown>] = [envelope.code, handler({ id: 1 }, {})];
export const index = (error: ConflictError): number | undefined => error.opIndex;
`;
    writeFileSync(join(folder, "program.ts"), program);
    execFileSync(process.execPath, [compiler, ...flags, "program.ts"], { cwd: folder, stdio: "pipe" });
  });
});
