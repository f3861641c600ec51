/** `retort-contract` for workerd, which compiles modules at deployment and only hands them over. */
import module from "./retort.core.wasm";

import { Contract } from "./contract.js";

export * from "./exports.js";

/** The contract of this isolate. */
export const contract = new Contract({ instantiate: () => new WebAssembly.Instance(module).exports });
