// Developers pick stages by name or group: CONTRIBUTING.
import assert from "node:assert/strict";
import test from "node:test";

import { setupTasks } from "../../scripts/setup.mjs";
import { select, stages } from "../../scripts/stages.mjs";

const names = (...list) => select(stages(), list).chosen.map(({ name }) => name);

test("nothing asked for is everything but what takes long, in order", () => {
  const usual = stages().filter(({ long }) => !long);
  assert.deepEqual(
    names(),
    usual.map(({ name }) => name),
  );
  assert.ok(usual.length < stages().length);
});

test("what takes long runs when it is asked for", () => {
  assert.deepEqual(names("schedules"), ["schedules"]);
});

test("a group stands for its stages, and the order is the table's", () => {
  assert.deepEqual(names("wheel", "web:types", "python"), [
    "python:tests",
    "python:types",
    "wheel",
    "web:types",
    "python:format",
    "python:lint",
  ]);
});

test("a misspelt stage selects nothing at all", () => {
  assert.deepEqual(select(stages(), ["wheel", "whel"]), { unknown: ["whel"], chosen: [] });
});

test("a setup stands after those that it needs, for each stage", () => {
  for (const { needs } of stages()) {
    const before = new Set();
    for (const task of setupTasks(needs)) {
      assert.deepEqual(
        task.needs.filter((need) => !before.has(need)),
        [],
        task.name,
      );
      before.add(task.name);
    }
  }
});
