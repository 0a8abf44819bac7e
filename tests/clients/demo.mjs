// The demo server as a process of its own, for the tests of one file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { clearTimeout, setTimeout } from "node:timers";

import { root, venvBin } from "../../scripts/checkout.mjs";

// Milliseconds after which something hangs, on however slow and busy a machine.
export const PATIENCE_MS = 120_000;

// Starts a server on a free port and resolves once it answers: `url`, `effects(threadId)`, `kill()`,
// `restart()` on the same port and data, and `stop()`.
export async function startDemo(options = {}) {
  const folder = await mkdtemp(join(tmpdir(), "sayso-clients-"));
  const args = ["demo", "--no-open", "--data", folder, "--store", `sqlite:///${folder}/sayso.db`];
  for (const [name, value] of Object.entries(options)) args.push(`--${name}`, String(value));
  return begin(folder, args);
}

// The demo's agent as `tests/process/served.py` has it: between `hold()` and `release()` no slow work
// comes to its end.
export async function startHeld() {
  const folder = await mkdtemp(join(tmpdir(), "sayso-clients-"));
  const store = `sqlite:///${folder}/sayso.db`;
  const server = await begin(folder, ["serve", "tests.process.served:app", "--store", store], {
    PYTHONPATH: [join(root, "server"), root].join(delimiter),
    SAYSO_TEST_DATA: folder,
    SAYSO_TEST_LEASE: "10",
  });
  const hold = join(folder, "hold");
  return { ...server, hold: () => writeFile(hold, ""), release: () => rm(hold) };
}

async function begin(folder, args, env = {}) {
  args.push("--port", String(await freePort()));
  const { url, ...first } = await serve("sayso", args, env);
  let { child } = first;

  const end = async (signal) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  };
  return {
    url,
    agentUrl: `${url}/agents/ops`,
    async effects(threadId) {
      const response = await fetch(`${url}/demo/effects`);
      const { effects } = await response.json();
      return effects.filter((effect) => effect.threadId === threadId);
    },
    kill: () => end("SIGKILL"),
    async restart() {
      ({ child } = await serve("sayso", args, env));
    },
    async stop() {
      await end("SIGTERM");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

// A port below those that systems give out by themselves: it is nobody else's while a server that
// was killed is started again.
async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const server = createServer();
    try {
      await once(server.listen(port, "127.0.0.1"), "listening");
    } catch {
      continue;
    }
    await new Promise((closed) => server.close(closed));
    return port;
  }
}

// Starts a program that prints `Sayso http://…` once it serves there.
export async function serve(program, args, env = {}) {
  const stdio = ["ignore", "pipe", "pipe"];
  const child = spawn(venvBin(program), args, { stdio, env: { ...process.env, ...env } });
  const said = [];
  child.stderr.on("data", (data) => said.push(data));
  const started = new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      said.push(`${line}\n`);
      const url = /^Sayso (http:\S+)/.exec(line)?.[1];
      if (url) resolve(url);
    });
    child.once("exit", (code) =>
      reject(new Error(`the server ended with ${code}: ${said.join("")}`)),
    );
    child.once("error", reject);
  });
  return {
    child,
    url: await within(started, () => `no address from the server: ${said.join("")}`),
  };
}

// A promise's value, or an error that says what did not happen.
export async function within(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(what())), PATIENCE_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
