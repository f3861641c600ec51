/** `retort-contract` for Node: raw driver error in, safe public error envelope out. */
import { readFileSync } from "node:fs";

import { Contract } from "./contract.js";
import type { Core } from "./engine.js";
import { enter } from "./current.js";

export * from "./exports.js";
export { currentOperation, enter } from "./current.js";

let module: WebAssembly.Module | undefined;

/** A fresh instance; the module is compiled once per process, on first use. */
function instantiate(): Core {
  module ??= new WebAssembly.Module(readFileSync(new URL("./retort.core.wasm", import.meta.url)));
  return new WebAssembly.Instance(module).exports;
}

/** The contract of this process. */
export const contract = new Contract({ instantiate, enter });
