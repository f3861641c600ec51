// Serves the component that exports wasi:http/incoming-handler by jco, on a free port of the loopback, and prints its
// address: `node serve_wasi_http.mjs COMPONENT FOLDER`.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

import { transpileBytes } from "@bytecodealliance/jco-transpile";
import { HTTPServer } from "@bytecodealliance/preview2-shim/http";

const [component, folder] = process.argv.slice(2);
const { files } = await transpileBytes(readFileSync(component), { name: "sidecar", noTypescript: true });
for (const [name, bytes] of Object.entries(files)) {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), bytes);
}
writeFileSync(join(folder, "package.json"), '{"type":"module"}');
const { incomingHandler } = await import(pathToFileURL(join(folder, "sidecar.js")).href);
const server = new HTTPServer(incomingHandler);
server.listen(0, "127.0.0.1");
console.log(`http://127.0.0.1:${server.address().port}`);
