// A server in the foreground: it gets our signals once each, and its end is our end.
import { spawn } from "node:child_process";

import { at, root } from "./checkout.mjs";
import { exitCodeOf } from "./command.mjs";
import { Failure } from "./failure.mjs";

// A terminal's Ctrl-C reaches npm and this process alike, and npm passes its own on as well. A
// server takes a second one as "now", so it stands apart and hears each press once. Its watchdog sees
// to it that it ends with this process, also when that is killed.
const ONE_PRESS_MS = 500;
const PASSED_ON = { SIGINT: "SIGINT", SIGTERM: "SIGTERM", SIGHUP: "SIGTERM" };

// Serves until the command ends and resolves to its exit code.
export function serve(command, args) {
  return new Promise((resolve, reject) => {
    const server = spawn(process.execPath, [at("scripts", "watchdog.mjs"), command, ...args], {
      cwd: root,
      detached: true,
      stdio: ["pipe", "inherit", "inherit"],
    });
    let lastPress = -Infinity;
    const listeners = Object.entries(PASSED_ON).map(([heard, passedOn]) => {
      const listener = () => {
        const now = performance.now();
        if (now - lastPress > ONE_PRESS_MS) server.kill(passedOn);
        lastPress = now;
      };
      process.on(heard, listener);
      return [heard, listener];
    });
    const settle = (outcome) => {
      for (const [heard, listener] of listeners) process.removeListener(heard, listener);
      outcome();
    };
    server.once("error", (error) =>
      settle(() => reject(new Failure(`cannot run ${command}: ${error.message}`))),
    );
    server.once("exit", (code, signal) => settle(() => resolve(exitCodeOf(code, signal))));
  });
}
