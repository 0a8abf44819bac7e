// Runs commands of the checkout, with their output shown or read.
import { spawn, spawnSync } from "node:child_process";
import { constants } from "node:os";

import { root } from "./checkout.mjs";
import { Failure, Interrupted } from "./failure.mjs";

// The exit code a shell would report for a child that ended by code or by signal.
export const exitCodeOf = (code, signal) => code ?? 128 + (constants.signals[signal] ?? 0);

// Without a terminal, whose Ctrl-C reaches what is run by itself, all three are passed on.
const SIGNALS = process.stdin.isTTY ? ["SIGTERM", "SIGHUP"] : ["SIGTERM", "SIGHUP", "SIGINT"];

// Runs to the end with the terminal shared and resolves to the exit code. What tells us to end tells
// the command as Ctrl-C would, upon which test suites put away what they have started; then rejects.
// What it says is shown at once, or goes to the list `said`.
export function run(command, args, { env = {}, cwd = root, said } = {}) {
  const output = said ? "pipe" : "inherit";
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", output, output],
    });
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (data) => said.push(data));
    let interrupted = false;
    const interrupt = (signal) => {
      if (SIGNALS.includes(signal) && !interrupted) child.kill("SIGINT");
      interrupted = true;
    };
    const heard = ["SIGINT", "SIGTERM", "SIGHUP"];
    for (const signal of heard) process.on(signal, interrupt);
    const settle = (outcome) => {
      for (const signal of heard) process.removeListener(signal, interrupt);
      outcome();
    };
    child.once("error", (error) =>
      settle(() => reject(new Failure(`cannot run ${command}: ${error.message}`))),
    );
    child.once("close", (code, signal) =>
      settle(() => (interrupted ? reject(new Interrupted()) : resolve(exitCodeOf(code, signal)))),
    );
  });
}

// As `run`, for steps that nothing can follow when they fail. `advice` says what to do then.
export async function runOrFail(command, args, { advice, ...options } = {}) {
  const exitCode = await run(command, args, options);
  if (exitCode === 0) return;
  const shown = [command, ...args].join(" ");
  throw new Failure(`"${shown}" failed with exit code ${exitCode}.${advice ? ` ${advice}` : ""}`);
}

// Runs silently and returns the trimmed standard output, or null when that fails.
export function read(command, args) {
  const result = spawnSync(command, args, { cwd: root, encoding: "utf8" });
  return result.status === 0 ? result.stdout.trim() : null;
}
