// Developers pick stages by name or group: CONTRIBUTING.
import assert from "node:assert/strict";
import test from "node:test";

import { select, stages } from "../../scripts/stages.mjs";

const names = (...list) => select(stages(), list).chosen.map(({ name }) => name);

test("nothing asked for is everything, in order", () => {
  assert.deepEqual(
    names(),
    stages().map(({ name }) => name),
  );
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
