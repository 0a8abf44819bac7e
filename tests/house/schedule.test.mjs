// Stages go beside each other as far as there is room: CONTRIBUTING.
import assert from "node:assert/strict";
import test from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { Failure, Interrupted } from "../../scripts/failure.mjs";
import { playAll } from "../../scripts/schedule.mjs";

// Tasks that end when they are told to, and what has begun so far.
function stage(...descriptions) {
  const begun = [];
  const endings = {};
  const tasks = descriptions.map(({ name, needs = [], slots = 1 }) => ({
    name,
    needs,
    slots,
    play: () => {
      begun.push(name);
      return new Promise((resolve, reject) => (endings[name] = { resolve, reject }));
    },
  }));
  const end = async (name, wrong = null) => {
    endings[name].resolve(wrong);
    await turn();
  };
  const fail = async (name, error) => {
    endings[name].reject(error);
    await turn();
  };
  return { tasks, begun, end, fail };
}

test("as many begin as there is room for, the first of the list first", async () => {
  const { tasks, begun, end } = stage({ name: "a", slots: 2 }, { name: "b" }, { name: "c" });
  const playing = playAll(tasks, { slots: 3 });
  assert.deepEqual(begun, ["a", "b"]);
  await end("b");
  assert.deepEqual(begun, ["a", "b", "c"]);
  await end("a");
  await end("c");
  assert.deepEqual(Object.fromEntries(await playing), { a: null, b: null, c: null });
});

test("a small one takes no room that a large one before it waits for", async () => {
  const { tasks, begun, end } = stage({ name: "a" }, { name: "large", slots: 2 }, { name: "b" });
  const playing = playAll(tasks, { slots: 2 });
  assert.deepEqual(begun, ["a"]);
  await end("a");
  assert.deepEqual(begun, ["a", "large"]);
  await end("large");
  await end("b");
  await playing;
});

test("one that needs more room than there is has it all", async () => {
  const { tasks, begun, end } = stage({ name: "large", slots: 9 }, { name: "b" });
  const playing = playAll(tasks, { slots: 2 });
  assert.deepEqual(begun, ["large"]);
  await end("large");
  assert.deepEqual(begun, ["large", "b"]);
  await end("b");
  await playing;
});

test("one begins when what it needs is over, and others meanwhile", async () => {
  const { tasks, begun, end } = stage(
    { name: "setup" },
    { name: "a", needs: ["setup"] },
    { name: "b" },
  );
  const playing = playAll(tasks, { slots: 2 });
  assert.deepEqual(begun, ["setup", "b"]);
  await end("setup");
  assert.deepEqual(begun, ["setup", "b", "a"]);
  await end("a");
  await end("b");
  await playing;
});

test("after the first that went wrong none begins", async () => {
  const { tasks, begun, end } = stage({ name: "a" }, { name: "b" }, { name: "c" });
  const playing = playAll(tasks, { slots: 2 });
  await end("a", "broken");
  await end("b");
  assert.deepEqual(begun, ["a", "b"]);
  assert.deepEqual(Object.fromEntries(await playing), { a: "broken", b: null });
});

test("keeping going, all are played but those whose need went wrong", async () => {
  const { tasks, begun, end, fail } = stage(
    { name: "setup" },
    { name: "a", needs: ["setup"] },
    { name: "b" },
  );
  const playing = playAll(tasks, { slots: 1, keepGoing: true });
  await fail("setup", new Failure("no registry"));
  await end("b");
  assert.deepEqual(begun, ["setup", "b"]);
  assert.deepEqual(Object.fromEntries(await playing), {
    setup: "no registry",
    a: "setup: no registry",
    b: null,
  });
});

for (const error of [new Interrupted(), new Error("a fault of ours")]) {
  test(`"${error.message}" ends it all, once what is playing has ended`, async () => {
    const { tasks, begun, end, fail } = stage({ name: "a" }, { name: "b" }, { name: "c" });
    const playing = playAll(tasks, { slots: 2, keepGoing: true });
    const rejected = assert.rejects(playing, error);
    await fail("a", error);
    await end("b");
    await rejected;
    assert.deepEqual(begun, ["a", "b"]);
  });
}
