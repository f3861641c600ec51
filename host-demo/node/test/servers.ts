/** The example servers, each read through an official client. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldStdioTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as OldHttpTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { packageFolder, repository } from "./paths.js";

/** MCP's result, whichever client read it. */
export interface Result {
  isError?: boolean;
  content: { type: string; text?: string }[];
  _meta?: Record<string, unknown>;
}

/** A client that is connected to a server. */
export interface Reader {
  call(name: string, given: object): Promise<Result>;
  close(): Promise<void>;
}

/** How to start a server. */
export type Command = [program: string, ...given: string[]];

/** The Pythons that have this product's package and the official SDK: its present generation, and the one before. */
export const python = join(repository, "target/python-venv/bin/python");
const oldPython = join(repository, "target/python-venv-mcp1/bin/python");

export const typescriptServer: Command = [process.execPath, join(packageFolder, "target/test/examples/mcp-server.js")];
export const oldServer: Command = [process.execPath, join(packageFolder, "target/test/test/old-server.js")];
const pythonExample = join(repository, "host-demo/python/examples/mcp_server.py");
export const pythonServer: Command = [python, pythonExample];
export const oldPythonServer: Command = [oldPython, pythonExample];

/** The official TypeScript client. */
export async function readWithTypescript([command, ...args]: Command, dsn: string): Promise<Reader> {
  const client = new Client({ name: "test", version: "1.0.0" });
  const env = { ...process.env, RETORT_DSN: dsn } as Record<string, string>;
  await client.connect(new StdioClientTransport({ command, args, env }));
  return {
    call: async (name, given) => (await client.callTool({ name, arguments: { ...given } })) as Result,
    close: () => client.close(),
  };
}

/** The official TypeScript client of the generation before. */
export async function readWithOldTypescript([command, ...args]: Command, dsn: string): Promise<Reader> {
  const env = { ...process.env, RETORT_DSN: dsn } as Record<string, string>;
  return oldReader(new OldStdioTransport({ command, args, env }));
}

async function oldReader(transport: OldStdioTransport | OldHttpTransport): Promise<Reader> {
  const client = new OldClient({ name: "test", version: "1.0.0" });
  // The SDK's own types disagree about optional members.
  await client.connect(transport as Parameters<OldClient["connect"]>[0]);
  return {
    call: async (name, given) => (await client.callTool({ name, arguments: { ...given } })) as Result,
    close: () => client.close(),
  };
}

/** Starts a server that listens, and reads it by its address. */
function overHttp(connect: (address: string) => Promise<Reader>): (server: Command, dsn: string) => Promise<Reader> {
  return async ([program, ...given], dsn) => {
    const env = { ...process.env, RETORT_DSN: dsn };
    const server = spawn(program, [...given, "--http"], { env, stdio: ["ignore", "pipe", "inherit"] });
    const [address] = (await once(createInterface({ input: server.stdout }), "line")) as [string];
    const reader = await connect(address);
    return {
      call: (name, input) => reader.call(name, input),
      close: async () => {
        await reader.close();
        server.kill();
        await once(server, "exit");
      },
    };
  };
}

/** The older client, and Python's, of a server over HTTP. */
export const readOverHttp = overHttp((address) => oldReader(new OldHttpTransport(new URL(address))));
export const readOverHttpWithPython = overHttp((address) => readWithPython([address], ""));

/** The official Python client, in a process of its own. */
export const readWithPython = (server: Command, dsn: string): Promise<Reader> => pythonReader(python, server, dsn);
export const readWithOldPython = (server: Command, dsn: string): Promise<Reader> => pythonReader(oldPython, server, dsn);

async function pythonReader(interpreter: string, server: Command, dsn: string): Promise<Reader> {
  const script = join(packageFolder, "test/read_with_python.py");
  const reader = spawn(interpreter, [script, ...server], {
    env: { ...process.env, RETORT_DSN: dsn },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const waiting = new Map<number, (result: Result) => void>();
  createInterface({ input: reader.stdout }).on("line", (line) => {
    const { number, result } = JSON.parse(line) as { number: number; result: Result };
    waiting.get(number)?.(result);
  });
  let calls = 0;
  return {
    call: (name, given) =>
      new Promise((resolve) => {
        waiting.set(calls, resolve);
        calls += 1;
        reader.stdin.write(`${JSON.stringify({ name, arguments: given })}\n`);
      }),
    close: async () => {
      const ended = new Promise((resolve) => reader.once("exit", resolve));
      reader.stdin.end();
      await ended;
    },
  };
}
