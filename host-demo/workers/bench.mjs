// Measures verdicts through the real workerd, HTTP on loopback included. Prints one JSON object.
import { serve } from "./serve.mjs";

const report = JSON.stringify({
  error: { name: "error", severity: "ERROR", code: "23505", message: "duplicate key value violates unique constraint" },
  system: "postgresql",
  operation: { effect: "write", phase: "execute", transaction: "open" },
  context: { trace_id: "t" },
});
const start = performance.now();
const worker = await serve("worker.capnp");
await (await worker.post("/evaluate", report)).text();
const first = performance.now() - start;
const times = [];
for (let call = 0; call < 2000; call += 1) {
  const begun = performance.now();
  await (await worker.post("/evaluate", report)).text();
  times.push((performance.now() - begun) * 1000);
}
times.sort((a, b) => a - b);
await worker.stop();
console.log(JSON.stringify({ host: "workerd", start_ms: Math.round(first), http_us: Math.round(times[times.length >> 1]) }));
