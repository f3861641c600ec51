/** Real servers for tests, from Debian's packages: in a folder of their own, on a free port, never as root. */
import type { ChildProcess } from "node:child_process";
import { execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** A server that runs until `stop`. */
export interface Service {
  port: number;
  stop(): Promise<void>;
}

interface Account {
  uid?: number;
  gid?: number;
}

/** Servers refuse to run as root, so root lends them an account without rights. */
function account(): Account {
  if (process.getuid?.() !== 0) return {};
  const number = (flag: string): number => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: number("-u"), gid: number("-g") };
}

function folder(owner: Account): string {
  const path = mkdtempSync(join(tmpdir(), "retort-node-"));
  if (owner.uid !== undefined && owner.gid !== undefined) chownSync(path, owner.uid, owner.gid);
  return path;
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

async function until(isReady: () => Promise<boolean>, server: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`);
    if (await isReady().catch(() => false)) return;
    await sleep(50);
  }
  throw new Error("the server does not answer");
}

function stopper(server: ChildProcess, path: string, signal: NodeJS.Signals): () => Promise<void> {
  return async () => {
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill(signal);
    await ended;
    rmSync(path, { recursive: true, force: true });
  };
}

/** PostgreSQL with the superuser `retort` and no password. */
export async function startPostgres(settings: string[] = []): Promise<Service> {
  const base = "/usr/lib/postgresql";
  const versions = existsSync(base) ? readdirSync(base).sort((a, b) => Number(a) - Number(b)) : [];
  const bin = join(base, versions.at(-1) ?? "", "bin");
  const owner = account();
  const path = folder(owner);
  const data = join(path, "data");
  const options = { ...owner, cwd: path, stdio: "ignore" as const };
  execFileSync(join(bin, "initdb"), ["-D", data, "-U", "retort", "-A", "trust", "-E", "UTF8", "--no-sync"], options);
  const port = await freePort();
  const flags = ["fsync=off", "max_prepared_transactions=5", `unix_socket_directories=${path}`, "listen_addresses=127.0.0.1"];
  const given = [...flags, ...settings].flatMap((setting) => ["-c", setting]);
  const server = spawn(join(bin, "postgres"), ["-D", data, "-p", String(port), ...given], options);
  const ready = ["-h", "127.0.0.1", "-p", String(port), "-q"];
  await until(async () => (execFileSync(join(bin, "pg_isready"), ready, { stdio: "ignore" }), true), server);
  return { port, stop: stopper(server, path, "SIGINT") };
}

/** MariaDB with the user `retort` and no password, and the database `test`. */
export async function startMariadb(): Promise<Service> {
  const owner = account();
  const path = folder(owner);
  const data = join(path, "data");
  const options = { ...owner, cwd: path, env: { ...process.env, HOME: path }, stdio: "ignore" as const };
  const install = ["--no-defaults", `--datadir=${data}`, "--auth-root-authentication-method=normal", "--skip-test-db"];
  execFileSync("mariadb-install-db", install, options);
  const port = await freePort();
  const socket = join(path, "socket");
  const flags = [
    "--no-defaults",
    `--datadir=${data}`,
    `--port=${port}`,
    `--socket=${socket}`,
    `--pid-file=${join(path, "pid")}`,
    "--bind-address=127.0.0.1",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-lock-wait-timeout=1",
  ];
  const program = existsSync("/usr/sbin/mariadbd") ? "/usr/sbin/mariadbd" : "mariadbd";
  const server = spawn(program, flags, options);
  const setup = "CREATE DATABASE test; CREATE USER retort@localhost; GRANT ALL ON *.* TO retort@localhost;";
  const client = ["--no-defaults", "-u", "root", "-S", socket, "-e", setup];
  await until(async () => (execFileSync("mariadb", client, { stdio: "ignore" }), true), server);
  return { port, stop: stopper(server, path, "SIGTERM") };
}
