/** The worker for the tests of traps: `POST /trap` and `POST /memory` make the module fail for real. */
import module from "retort-contract/retort.core.wasm";
import { Contract } from "retort-contract";

const EVALUATE = "retort:contract/json@0.1.0#evaluate";

/** A report, once more than the answers to it fit into an instance's memory. */
const MANY = 20_000;

export default {
  /** @param {Request} request */
  async fetch(request) {
    const isTrap = new URL(request.url).pathname === "/trap";
    let instances = 0;
    const contract = new Contract({
      instantiate: () => {
        instances += 1;
        const core = new WebAssembly.Instance(module).exports;
        // The first instance reads beyond its memory.
        return isTrap && instances === 1 ? { ...core, [EVALUATE]: () => core[EVALUATE](0xffff_0000, 0xffff) } : core;
      },
    });
    const report = await request.text();
    const closed = isTrap
      ? [JSON.parse(contract.json.evaluate(report))]
      : JSON.parse(contract.json.evaluateMany(`[${Array(MANY).fill(report)}]`));
    const outcomes = new Set(closed.map(({ diagnostic, envelope }) => `${diagnostic.rule} ${envelope.code}`));
    const next = contract.json.evaluate(report);
    return Response.json({ closed: closed[0].envelope, outcomes: [...outcomes], answers: closed.length, next, instances });
  },
};
