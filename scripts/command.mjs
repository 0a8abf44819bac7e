// Runs commands of the checkout, with their output shown or read.
import { spawn, spawnSync } from "node:child_process";
import { constants } from "node:os";

import { root } from "./checkout.mjs";
import { Failure } from "./failure.mjs";

// The exit code a shell would report for a child that ended by code or by signal.
export const exitCodeOf = (code, signal) => code ?? 128 + (constants.signals[signal] ?? 0);

// Runs to the end with the terminal shared and resolves to the exit code.
export function run(command, args, { env = {}, cwd = root } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "inherit", "inherit"],
    });
    child.once("error", (error) => reject(new Failure(`cannot run ${command}: ${error.message}`)));
    child.once("exit", (code, signal) => resolve(exitCodeOf(code, signal)));
  });
}

// As `run`, for steps that nothing can follow when they fail. `advice` says what to do then.
export async function must(command, args, { advice, ...options } = {}) {
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
