// Builds the library: ES modules and types by the compiler, then checks what npm would publish, that
// every way to import it finds its types, that the main entry stays small (`LIMIT_BYTES`, gzipped and
// without peers), and that a page can be built from it.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { build } from "esbuild";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

import { buildPage } from "./consumer.mjs";

/** What a page loads before it shows anything; most of it is the core, which all pages need. */
const LIMIT_BYTES = 15 * 1024;
const PEERS = ["react", "react/jsx-runtime", "react-dom", "@ag-ui/client"];
const root = new URL("..", import.meta.url);

rmSync(new URL("dist", root), { recursive: true, force: true });
execFileSync("npx", ["tsc", "-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });

const bundle = await build({
  entryPoints: [new URL("dist/index.js", root).pathname],
  bundle: true,
  minify: true,
  format: "esm",
  external: PEERS,
  write: false,
});
const bytes = gzipSync(bundle.outputFiles[0].contents).byteLength;
console.log(`main entry: ${bytes} bytes gzipped (limit ${LIMIT_BYTES})`);
if (bytes > LIMIT_BYTES) {
  console.error(
    "The main entry is too large. Move what is not needed first to a subpath, or load it when used.",
  );
  process.exitCode = 1;
}

const { messages, pkg } = await publint({ pkgDir: root.pathname, strict: true });
for (const message of messages) console.error(formatMessage(message, pkg));
if (messages.length > 0) process.exitCode = 1;

// An ES module package: what cannot import it at all (`require`, resolution without `exports`) is
// not asked about.
const RESOLUTIONS = ["node16-esm", "bundler"];
const folder = mkdtempSync(join(tmpdir(), "sayso-pack-"));
try {
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const [packed] = JSON.parse(execFileSync("npm", pack, { cwd: root, encoding: "utf8" }));
  const types = await checkPackage(
    createPackageFromTarballData(readFileSync(join(folder, packed.filename))),
    { excludeEntrypoints: ["./styles.css"] },
  );
  if (!types.types) throw new Error("The package has no types.");
  const problems = types.problems.filter(
    (problem) => !("resolutionKind" in problem) || RESOLUTIONS.includes(problem.resolutionKind),
  );
  for (const problem of problems) console.error(JSON.stringify(problem));
  if (problems.length > 0) process.exitCode = 1;
  else console.log(`types: right for ${Object.keys(types.entrypoints).join(", ")}`);
  const workspace = fileURLToPath(new URL("../..", root));
  const files = await buildPage(join(folder, packed.filename), workspace);
  console.log(`page: built by Vite from the packed library, ${files} files`);
} finally {
  rmSync(folder, { recursive: true });
}
