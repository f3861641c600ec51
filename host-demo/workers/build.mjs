// Bundles the workers as a deployment would: the package resolves to its workerd entry, the module stays a file.
import { build } from "esbuild";

await build({
  entryPoints: ["src/worker.js", "test/trap-worker.js"],
  outdir: "dist",
  entryNames: "[name]",
  assetNames: "[name]",
  bundle: true,
  format: "esm",
  target: "es2022",
  conditions: ["workerd"],
  loader: { ".wasm": "copy" },
  logLevel: "warning",
});
