// Measures the built package: start-up, a warm verdict, a fresh instance. Prints one JSON object.
import { contract } from "retort-contract";

const report = JSON.stringify({
  error: {
    name: "error",
    severity: "ERROR",
    code: "23505",
    message: 'duplicate key value violates unique constraint "account_pkey"',
    detail: "Key (id)=(1) already exists.",
    table: "account",
    constraint: "account_pkey",
  },
  system: "postgresql",
  driver: "node-postgres",
  operation: { effect: "write", phase: "execute", transaction: "open" },
  context: { trace_id: "4bf92f3577b34da6a3ce929d0e0e4736", tool: "transfer" },
  seed: 7,
});

/** The best of several rounds, in microseconds a call: the machine may be busy. */
function microseconds(calls, run) {
  const rounds = [];
  for (let round = 0; round < 15; round += 1) {
    const start = performance.now();
    for (let call = 0; call < calls; call += 1) run();
    rounds.push(((performance.now() - start) * 1000) / calls);
  }
  return Number(Math.min(...rounds).toFixed(2));
}

const start = performance.now();
contract.json.evaluate(report);
const first = performance.now() - start;
const object = JSON.parse(report);

console.log(
  JSON.stringify({
    host: "node",
    first_call_ms: Number(first.toFixed(2)),
    json_us: microseconds(2000, () => contract.json.evaluate(report)),
    object_us: microseconds(2000, () => contract.evaluate(object)),
    fresh_instance_us: microseconds(20, () => contract.with({}).json.evaluate(report)),
  }),
);
