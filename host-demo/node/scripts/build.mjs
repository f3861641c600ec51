// Builds dist/: the compiled sources and, beside them, the core module that `make component` left.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL("..", import.meta.url));
const core = process.env.RETORT_CORE ?? fileURLToPath(new URL("../../../target/retort/retort.core.wasm", import.meta.url));

if (!existsSync(core)) throw new Error(`${core} is missing: run "make component"`);
rmSync(`${here}dist`, { recursive: true, force: true });
execFileSync(process.execPath, [`${here}node_modules/typescript/bin/tsc`, "-p", `${here}tsconfig.json`], { stdio: "inherit" });
copyFileSync(core, `${here}dist/retort.core.wasm`);
