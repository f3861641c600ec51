import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "node:test";

import { transpileBytes } from "@bytecodealliance/jco-transpile";
import { contract } from "retort-contract";

import { goldenVerdicts } from "./golden.js";
import { packageFolder, repository } from "./paths.js";

type Functions = Record<string, (...texts: string[]) => string>;
type Instantiate = (getCore: (name: string) => WebAssembly.Module, imports: object) => Record<string, Functions>;

/** The component as jco loads it: the generated glue, instantiated anew each time it is asked. */
async function transpiled(): Promise<{ instantiate: () => Functions; glueBytes: number }> {
  const component = process.env["RETORT_COMPONENT"] ?? join(repository, "target/retort/retort.component.wasm");
  const options = { name: "retort", instantiation: "sync", noTypescript: true } as const;
  const { files } = await transpileBytes(readFileSync(component), options as never);
  const folder = join(packageFolder, "target", "jco");
  const contents = Object.entries(files as Record<string, Uint8Array>);
  for (const [name, bytes] of contents) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), bytes);
  }
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  const glue = (await import(pathToFileURL(join(folder, "retort.js")).href)) as { instantiate: Instantiate };
  const getCore = (name: string): WebAssembly.Module => new WebAssembly.Module(readFileSync(join(folder, name)));
  return {
    glueBytes: contents.find(([name]) => name === "retort.js")?.[1].length ?? 0,
    instantiate: () => glue.instantiate(getCore, {})["retort:contract/json@0.1.0"] as Functions,
  };
}

test("the component loads through jco and gives the same bytes as the core module by hand", async () => {
  const { instantiate, glueBytes } = await transpiled();
  const json = instantiate();
  for (const { name, report, verdict } of goldenVerdicts()) assert.equal(json["evaluate"]?.(report), verdict, name);
  assert.equal(json["codes"]?.(), contract.json.codes());
  assert.equal(instantiate()["version"]?.(), contract.version());
  assert.ok(glueBytes > 0);
});
