// Measures a verdict of the real workerd and one of `retort sidecar`, HTTP on the loopback included, and the start of each.
// Prints a JSON object a line.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { serve } from "./serve.mjs";

const report = readFileSync(new URL("../bench/report.json", import.meta.url));
const agent = new Agent({ keepAlive: true });
const headers = { "content-type": "application/json", "content-length": report.length };

async function evaluate(address) {
  const asked = request(`${address}/evaluate`, { method: "POST", agent, headers });
  asked.end(report);
  const [response] = await once(asked, "response");
  for await (const _ of response);
}

/** `retort sidecar` on a free port. */
async function sidecar() {
  const command = fileURLToPath(new URL("../../target/release/retort", import.meta.url));
  const process = spawn(command, ["sidecar", "--http", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
  const [line] = await once(createInterface({ input: process.stderr }), "line");
  const stop = async () => {
    process.kill();
    await once(process, "exit");
  };
  return { address: line.replace("serving ", ""), stop };
}

async function workerd() {
  const { url, stop } = await serve("worker.capnp");
  return { address: url(""), stop };
}

for (const [host, start] of Object.entries({ workerd, sidecar })) {
  const begun = performance.now();
  const { address, stop } = await start();
  await evaluate(address);
  const first = performance.now() - begun;
  // The best of many short rounds, since everything that disturbs one makes it longer.
  let best = Infinity;
  for (let round = 0; round < 100; round += 1) {
    const start = performance.now();
    for (let call = 0; call < 50; call += 1) await evaluate(address);
    best = Math.min(best, (performance.now() - start) * 20);
  }
  await stop();
  console.log(JSON.stringify({ host, first_call_ms: Math.round(first), json_us: Math.round(best) }));
}
agent.destroy();
