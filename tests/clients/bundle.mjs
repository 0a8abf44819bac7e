// Our own client's core, bundled from its sources so that Node can load it.
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";

import { build } from "esbuild";

import { at, nodeModules } from "../../scripts/checkout.mjs";

// Resolves with the bundle's `file`, and `remove()` for afterwards.
export async function bundleCore() {
  // Beside the packages, so that what stays outside of the bundle is found from there.
  const folder = await mkdtemp(join(nodeModules, ".sayso-core-"));
  const file = join(folder, "core.mjs");
  await build({
    entryPoints: [at("web", "react", "src", "core", "index.ts")],
    bundle: true,
    format: "esm",
    platform: "node",
    external: ["@ag-ui/client"],
    outfile: file,
  });
  return { file, remove: () => rm(folder, { recursive: true, force: true }) };
}
