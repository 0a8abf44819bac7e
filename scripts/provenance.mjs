// Where a release comes from: an in-toto statement with SLSA's provenance, as verifiers read it.
import { readdirSync } from "node:fs";
import { join } from "node:path";

import { root } from "./checkout.mjs";
import { read } from "./command.mjs";
import { Failure } from "./failure.mjs";
import { digestOf } from "./sums.mjs";

export const PROVENANCE = "provenance.json";

// The commit that is checked out. A tree with changes is none, so nothing could be built from it again.
export function commitOf(git = (...args) => read("git", args)) {
  const commit = git("rev-parse", "HEAD");
  const changes = git("status", "--porcelain");
  if (!commit) throw new Failure("git knows no commit here: build a release in a clone.");
  if (changes)
    throw new Failure(`a release is built from a commit, and this tree has changes:\n${changes}`);
  return commit;
}

// `began` and `ended` are dates; the builder is a URI that names who built it.
export function provenance(folder, { commit, builder, began, ended, tools }) {
  const named = (directory, name) => ({
    name,
    digest: { sha256: digestOf(join(directory, name)) },
  });
  const locks = readdirSync(root).filter(
    (name) => name.endsWith(".lock") || name === "package-lock.json",
  );
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: readdirSync(folder)
      .sort()
      .map((name) => named(folder, name)),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "urn:sayso:release:1",
        externalParameters: { command: "npm run sbom" },
        internalParameters: tools,
        resolvedDependencies: [
          { name: "source", digest: { gitCommit: commit } },
          ...locks.sort().map((name) => named(root, name)),
        ],
      },
      runDetails: {
        builder: { id: builder },
        metadata: { startedOn: began.toISOString(), finishedOn: ended.toISOString() },
      },
    },
  };
}
