// Two setups at once must not write one environment: design 10.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { Failure } from "../../scripts/failure.mjs";
import { withLock } from "../../scripts/setup-lock.mjs";
import { folder } from "./folder.mjs";

test("the second waits until the first has finished", async (t) => {
  const lock = join(folder(t), "lock");
  const order = [];
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const first = withLock(lock, async () => {
    order.push("first in");
    await held;
    order.push("first out");
  });
  const second = withLock(lock, () => order.push("second in"));
  release();
  await Promise.all([first, second]);
  assert.deepEqual(order, ["first in", "first out", "second in"]);
  assert.equal(existsSync(lock), false);
});

test("work that fails lets the next one in", async (t) => {
  const lock = join(folder(t), "lock");
  await assert.rejects(
    withLock(lock, () => Promise.reject(new Error("broken"))),
    /broken/,
  );
  assert.equal(await withLock(lock, () => "in"), "in");
});

test("the lock of a process that died is taken over", async (t) => {
  const lock = join(folder(t), "lock");
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  writeFileSync(lock, String(pid));
  assert.equal(await withLock(lock, () => "in"), "in");
});

test("the timeout ends with a message that names the holder", async (t) => {
  const lock = join(folder(t), "lock");
  writeFileSync(lock, String(process.pid));
  const waiting = withLock(lock, () => "in", { timeoutMs: 0 });
  await assert.rejects(waiting, (error) => {
    assert.ok(error instanceof Failure);
    assert.match(error.message, new RegExp(`process ${process.pid}`));
    return true;
  });
});
