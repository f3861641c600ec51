// Starts the real workerd on a free loopback port.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));

async function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Serves a configuration until `stop`; `post` sends a text to a path. */
export async function serve(config) {
  const port = await freePort();
  const workerd = spawn("node_modules/.bin/workerd", ["serve", config, "--socket-addr", `http=127.0.0.1:${port}`], {
    cwd: here,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const url = (path) => `http://127.0.0.1:${port}${path}`;
  for (let tries = 0; ; tries += 1) {
    if (await fetch(url("/"), { method: "POST" }).catch(() => undefined)) break;
    if (workerd.exitCode !== null || tries > 1500) throw new Error("workerd does not answer");
    await sleep(10);
  }
  return {
    url,
    post: async (path, body) => fetch(url(path), { method: "POST", body }),
    stop: async () => {
      const ended = new Promise((resolve) => workerd.once("exit", resolve));
      workerd.kill();
      await ended;
    },
  };
}
