// Measures the built package: start-up, a warm verdict, a fresh instance. Prints one JSON object.
import { readFileSync } from "node:fs";

import { contract } from "retort-contract";

const report = readFileSync(new URL("../../bench/report.json", import.meta.url), "utf8");

/** The best of several rounds, in microseconds of processor time a call: the machine may be busy with other things. */
function microseconds(calls, run) {
  const rounds = [];
  for (let round = 0; round < 25; round += 1) {
    const start = process.cpuUsage();
    for (let call = 0; call < calls; call += 1) run();
    const { user, system } = process.cpuUsage(start);
    rounds.push((user + system) / calls);
  }
  return Number(Math.min(...rounds).toFixed(2));
}

const start = process.cpuUsage();
contract.json.evaluate(report);
const { user, system } = process.cpuUsage(start);
const object = JSON.parse(report);

console.log(
  JSON.stringify({
    host: "node",
    first_call_ms: Number(((user + system) / 1000).toFixed(2)),
    json_us: microseconds(2000, () => contract.json.evaluate(report)),
    object_us: microseconds(2000, () => contract.evaluate(object)),
    fresh_instance_us: microseconds(20, () => contract.with({}).json.evaluate(report)),
  }),
);
