// Re-runs make nothing anew: design 10.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { digest, filesBelow, unlessStamped } from "../../scripts/stamp.mjs";
import { folder } from "./folder.mjs";

test("a digest follows content, presence and facts, not the order of the list", (t) => {
  const [a, b] = ["a", "b"].map((name) => join(folder(t), name));
  writeFileSync(a, "1");
  const first = digest([a, b], ["3.11"]);
  assert.equal(digest([b, a], ["3.11"]), first);
  assert.notEqual(digest([a, b], ["3.12"]), first);
  writeFileSync(b, "");
  assert.notEqual(digest([a, b], ["3.11"]), first);
  writeFileSync(a, "2");
  assert.notEqual(digest([a], []), digest([b], []));
});

test("a thing is made once for the same inputs and again for others", async (t) => {
  const stamp = join(folder(t), "inner", "stamp");
  let made = 0;
  const make = () => void (made += 1);
  assert.equal(await unlessStamped(stamp, "one", make), true);
  assert.equal(await unlessStamped(stamp, "one", make), false);
  assert.equal(await unlessStamped(stamp, "two", make), true);
  assert.equal(made, 2);
});

test("a thing whose making failed is made again", async (t) => {
  const stamp = join(folder(t), "stamp");
  await unlessStamped(stamp, "one", () => {});
  const fail = () => Promise.reject(new Error("no network"));
  await assert.rejects(unlessStamped(stamp, "two", fail), /no network/);
  assert.equal(existsSync(stamp), false);
});

test("files are found below folders, leaving out the named ones", (t) => {
  const top = folder(t);
  for (const path of ["src", "node_modules"]) mkdirSync(join(top, path));
  for (const path of ["a", "src/b", "node_modules/c"]) writeFileSync(join(top, path), "");
  const files = filesBelow(top, { except: ["node_modules"] });
  assert.deepEqual(files.sort(), [join(top, "a"), join(top, "src/b")]);
  assert.deepEqual(filesBelow(join(top, "absent")), []);
});
