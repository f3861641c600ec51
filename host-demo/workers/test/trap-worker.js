/** The worker for the test of traps: the first instance of each request reads beyond its memory, for real. */
import module from "retort-contract/retort.core.wasm";
import { Contract } from "retort-contract";

export default {
  /** @param {Request} request */
  async fetch(request) {
    let instances = 0;
    const contract = new Contract({
      instantiate: () => {
        instances += 1;
        const core = new WebAssembly.Instance(module).exports;
        const name = "retort:contract/json@0.1.0#evaluate";
        return instances > 1 ? core : { ...core, [name]: () => core[name](0xffff_0000, 0xffff) };
      },
    });
    const report = await request.text();
    return Response.json([contract.json.evaluate(report), contract.json.evaluate(report), instances]);
  },
};
