// The digests of a release: what `sha256sum --check` takes, and what it does not.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { SUMS, writeSums } from "../../scripts/sums.mjs";

test("the digests of a release are those of its files", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sayso-sums-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "b.whl"), "two");
  writeFileSync(join(folder, "a.tgz"), "one");
  writeSums(folder);
  writeSums(folder); // again, they leave themselves out
  const names = readFileSync(join(folder, SUMS), "utf8").match(/\S+$/gm);
  assert.deepEqual(names, ["a.tgz", "b.whl"]);
  const check = () =>
    execFileSync("sha256sum", ["--check", "--strict", SUMS], { cwd: folder, stdio: "pipe" });
  check();
  writeFileSync(join(folder, "b.whl"), "three");
  assert.throws(check);
});
