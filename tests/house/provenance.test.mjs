// Where a release says that it comes from: its files, its commit, its locks.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { at } from "../../scripts/checkout.mjs";
import { commitOf, provenance } from "../../scripts/provenance.mjs";

const sha256 = (data) => createHash("sha256").update(data).digest("hex");

test("the provenance names each file of a release, the commit and the locks by their digests", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sayso-provenance-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "b.whl"), "two");
  writeFileSync(join(folder, "a.tgz"), "one");
  const told = provenance(folder, {
    commit: "c0ffee",
    builder: "urn:example:builder",
    began: new Date(0),
    ended: new Date(1_000),
    tools: { node: "20.0.0" },
  });
  assert.deepEqual(told.subject, [
    { name: "a.tgz", digest: { sha256: sha256("one") } },
    { name: "b.whl", digest: { sha256: sha256("two") } },
  ]);
  const { buildDefinition, runDetails } = told.predicate;
  const [source, ...locks] = buildDefinition.resolvedDependencies;
  assert.deepEqual(source, { name: "source", digest: { gitCommit: "c0ffee" } });
  const digests = new Map(locks.map(({ name, digest }) => [name, digest.sha256]));
  for (const name of ["requirements.lock", "package-lock.json"])
    assert.equal(digests.get(name), sha256(readFileSync(at(name))));
  assert.deepEqual(runDetails, {
    builder: { id: "urn:example:builder" },
    metadata: { startedOn: "1970-01-01T00:00:00.000Z", finishedOn: "1970-01-01T00:00:01.000Z" },
  });
});

test("a release is built from a commit, not from a tree with changes", () => {
  const git = (changes) => (command) => (command === "status" ? changes : "c0ffee");
  assert.equal(commitOf(git("")), "c0ffee");
  assert.throws(() => commitOf(git(" M README.md")), /has changes:\n M README\.md/);
  assert.throws(() => commitOf(() => null), /build a release in a clone/);
});
