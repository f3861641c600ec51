import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";

import { goldenCalls, goldenVerdicts } from "./golden.js";
import { packageFolder, repository } from "./paths.js";

const component = join(repository, "target/retort/retort.sidecar.wasm");
const json = { "content-type": "application/json" };
let server: ChildProcess;
let address: string;

before(async () => {
  const script = join(packageFolder, "test/serve_wasi_http.mjs");
  const given = [script, component, join(packageFolder, "target/wasi-http")];
  server = spawn(process.execPath, given, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(createInterface({ input: server.stdout! }), "line")) as [string];
  address = line;
});

after(async () => {
  server.kill();
  await once(server, "exit");
});

async function post(path: string, body: string): Promise<string> {
  const response = await fetch(`${address}/${path}`, { method: "POST", headers: json, body });
  assert.equal(response.status, 200);
  return response.text();
}

test("every golden verdict comes through wasi:http byte for byte", async () => {
  for (const { name, report, verdict } of goldenVerdicts()) assert.equal(await post("evaluate", report), verdict, name);
});

test("every golden call comes through wasi:http byte for byte", async () => {
  for (const { name, function: called, input, output } of goldenCalls()) {
    const isConstant = called === "codes" || called === "version";
    const answer = isConstant ? await (await fetch(`${address}/${called}`)).text() : await post(called, input);
    assert.equal(answer, output, name);
  }
});

test("what is no call is refused with a reason", async () => {
  const refused = [
    { path: "nothing", init: { method: "POST", headers: json, body: "{}" }, status: 404, allow: null },
    { path: "evaluate", init: {}, status: 405, allow: "POST" },
    { path: "codes", init: { method: "POST", headers: json, body: "{}" }, status: 405, allow: "GET" },
    { path: "evaluate", init: { method: "POST", body: "{}" }, status: 415, allow: null },
    { path: "evaluate", init: { method: "POST", headers: json, body: " ".repeat((2 << 20) + 1) }, status: 413, allow: null },
  ];
  for (const { path, init, status, allow } of refused) {
    const response = await fetch(`${address}/${path}`, init);
    const problem = (await response.json()) as { status: number };
    assert.deepEqual([response.status, response.headers.get("allow"), problem.status], [status, allow, status]);
    assert.equal(response.headers.get("content-type"), "application/problem+json");
  }
});
