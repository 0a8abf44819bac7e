// Runs a server for whoever holds the other end of standard input, and ends it when nobody does any
// more: a server that stands apart from the terminal must not outlive what started it.
import { spawn } from "node:child_process";
import { setTimeout } from "node:timers";

import { exitCodeOf } from "./command.mjs";
import { Failure, exitWith } from "./failure.mjs";

// A server lets go of its threads before it ends; one that does not is not waited for.
const GRACE_MS = 15_000;

await exitWith(
  () =>
    new Promise((resolve, reject) => {
      const [command, ...args] = process.argv.slice(2);
      const server = spawn(command, args, { stdio: ["ignore", "inherit", "inherit"] });
      for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => server.kill(signal));
      process.stdin.on("close", () => {
        server.kill("SIGTERM");
        setTimeout(() => server.kill("SIGKILL"), GRACE_MS).unref();
      });
      process.stdin.resume();
      server.once("error", (error) => {
        process.stdin.destroy();
        reject(new Failure(`cannot run ${command}: ${error.message}`));
      });
      server.once("exit", (code, signal) => {
        process.stdin.destroy();
        resolve(exitCodeOf(code, signal));
      });
    }),
);
