// One setup of a part at a time: two commands started together must not write one .venv or node_modules.
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { Failure } from "./failure.mjs";

const POLL_MS = 200;
const TIMEOUT_MS = 20 * 60 * 1000;

const held = new Set();
process.once("exit", () => held.forEach((lock) => rmSync(lock, { force: true })));

const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
};

const holderOf = (lock) => {
  try {
    return Number(readFileSync(lock, "utf8"));
  } catch {
    return null; // released between the attempt to take it and this look
  }
};

// Takes the lock if it is free. A link appears whole or not at all, with its owner already inside.
function take(lock) {
  const mine = `${lock}.${process.pid}`;
  writeFileSync(mine, String(process.pid));
  try {
    linkSync(mine, lock);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return false;
  } finally {
    rmSync(mine, { force: true });
  }
}

// Runs `work` while no other process runs its own under the same lock file.
export async function withLock(lock, work, { timeoutMs = TIMEOUT_MS } = {}) {
  mkdirSync(dirname(lock), { recursive: true });
  const deadline = Date.now() + timeoutMs;
  let announced = false;
  while (!take(lock)) {
    const holder = holderOf(lock);
    if (holder !== null && !isAlive(holder)) {
      rmSync(lock, { force: true });
      continue;
    }
    if (Date.now() > deadline) {
      throw new Failure(
        `waited too long for process ${holder}, which holds ${lock}. Remove that file if it is not ours.`,
      );
    }
    if (!announced && holder !== null)
      console.log(`Waiting for another setup (process ${holder}) …`);
    announced = true;
    await delay(POLL_MS);
  }
  held.add(lock);
  try {
    return await work();
  } finally {
    held.delete(lock);
    rmSync(lock, { force: true });
  }
}
