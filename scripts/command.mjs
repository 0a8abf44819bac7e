// Runs commands of the checkout, with their output shown or read.
import { AsyncLocalStorage } from "node:async_hooks";
import { spawn, spawnSync } from "node:child_process";
import { constants } from "node:os";
import { clearTimeout, setTimeout } from "node:timers";

import { root } from "./checkout.mjs";
import { Failure, Interrupted } from "./failure.mjs";

// The exit code a shell would report for a child that ended by code or by signal.
export const exitCodeOf = (code, signal) => code ?? 128 + (constants.signals[signal] ?? 0);

// Without a terminal, whose Ctrl-C reaches what is run by itself, all three are passed on.
const HEARD = ["SIGTERM", "SIGHUP", "SIGINT"];
const PASSED_ON = process.stdin.isTTY ? ["SIGTERM", "SIGHUP"] : HEARD;

const MINUTE_MS = 60_000;

// A setup whose registry says nothing any more ends with a word.
const SETUP_MINUTES = 30;

// How long a command may take to put away what it has started.
const GRACE_MS = 30_000;

const collecting = new AsyncLocalStorage();

// Has what the commands of `work` say go to the list `said`: shown whole, it is not mixed with others.
export const collect = (said, work) => collecting.run(said, work);

const running = new Set();
let interrupted = false;

function hear(signal) {
  const passedOn = PASSED_ON.includes(signal) && !interrupted;
  interrupted = true;
  if (passedOn) for (const child of running) child.kill("SIGINT");
}

function track(child) {
  if (running.size === 0) for (const signal of HEARD) process.on(signal, hear);
  running.add(child);
}

function forget(child) {
  running.delete(child);
  if (running.size === 0) for (const signal of HEARD) process.removeListener(signal, hear);
}

// Runs to the end with the terminal shared and resolves to the exit code. What tells us to end tells
// the command as Ctrl-C would, upon which test suites put away what they have started; then rejects,
// and nothing is begun any more. So it ends after `minutes`, if that is given.
// What it says is shown at once, unless it is collected.
export function run(command, args, { env = {}, cwd = root, minutes } = {}) {
  const said = collecting.getStore();
  const output = said ? "pipe" : "inherit";
  return new Promise((resolve, reject) => {
    if (interrupted) throw new Interrupted();
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", output, output],
    });
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (data) => said.push(data));
    const clock = minutes ? limit(child, minutes) : null;
    track(child);
    const settle = (outcome) => {
      clock?.stop();
      forget(child);
      outcome();
    };
    child.once("error", (error) =>
      settle(() => reject(new Failure(`cannot run ${command}: ${error.message}`))),
    );
    child.once("close", (code, signal) =>
      settle(() => {
        if (interrupted) reject(new Interrupted());
        else if (clock?.isOver()) {
          const shown = [command, ...args].join(" ");
          reject(new Failure(`"${shown}" was not over after ${minutes} minutes, and was ended.`));
        } else resolve(exitCodeOf(code, signal));
      }),
    );
  });
}

// Ends a command that takes longer: as Ctrl-C would, and if that does not help, at once.
function limit(child, minutes) {
  let over = false;
  const kill = () => {
    child.kill("SIGKILL");
    // Whatever it leaves behind may hold these.
    for (const stream of [child.stdout, child.stderr]) stream?.destroy();
  };
  let timer = setTimeout(() => {
    over = true;
    child.kill("SIGINT");
    timer = setTimeout(kill, GRACE_MS);
  }, minutes * MINUTE_MS);
  return { isOver: () => over, stop: () => clearTimeout(timer) };
}

// As `run`, for steps that nothing can follow when they fail. `advice` says what to do then.
export async function runOrFail(command, args, { advice, ...options } = {}) {
  const exitCode = await run(command, args, { minutes: SETUP_MINUTES, ...options });
  if (exitCode === 0) return;
  const shown = [command, ...args].join(" ");
  throw new Failure(`"${shown}" failed with exit code ${exitCode}.${advice ? ` ${advice}` : ""}`);
}

// Runs silently and returns the trimmed standard output, or null when that fails.
export function read(command, args) {
  const result = spawnSync(command, args, { cwd: root, encoding: "utf8" });
  return result.status === 0 ? result.stdout.trim() : null;
}
