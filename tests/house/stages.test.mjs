// Developers pick stages by name or group: CONTRIBUTING.
import assert from "node:assert/strict";
import test from "node:test";

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
    "python:types",
    "python:format",
    "python:lint",
    "web:types",
    "python:tests",
    "wheel",
  ]);
});

test("a misspelt stage selects nothing at all", () => {
  assert.deepEqual(select(stages(), ["wheel", "whel"]), { unknown: ["whel"], chosen: [] });
});
