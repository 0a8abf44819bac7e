// npm start: sets up what the demo needs and serves it. Arguments go to `sayso demo`.
import { spawn } from "node:child_process";

import { root, venvBin } from "./checkout.mjs";
import { exitCodeOf } from "./command.mjs";
import { Failure, exitWith } from "./failure.mjs";
import { setUp } from "./setup.mjs";

// A terminal's Ctrl-C reaches npm and this process alike, and npm passes its own on as well. The
// server takes a second one as "now", so it stands apart and hears each press once.
const ONE_PRESS_MS = 500;
const PASSED_ON = { SIGINT: "SIGINT", SIGTERM: "SIGTERM", SIGHUP: "SIGTERM" };

function serve(args) {
  return new Promise((resolve, reject) => {
    const command = venvBin("sayso");
    const server = spawn(command, ["demo", ...args], {
      cwd: root,
      detached: true,
      stdio: ["ignore", "inherit", "inherit"],
    });
    let lastPress = -Infinity;
    for (const [heard, passedOn] of Object.entries(PASSED_ON)) {
      process.on(heard, () => {
        const now = performance.now();
        if (now - lastPress > ONE_PRESS_MS) server.kill(passedOn);
        lastPress = now;
      });
    }
    server.once("error", (error) => reject(new Failure(`cannot run ${command}: ${error.message}`)));
    server.once("exit", (code, signal) => resolve(exitCodeOf(code, signal)));
  });
}

await exitWith(async () => {
  await setUp(new Set(["python", "web"]));
  return serve(process.argv.slice(2));
});
