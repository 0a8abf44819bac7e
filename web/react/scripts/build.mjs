// Builds the library: ES modules and types by the compiler, then checks what npm would publish and
// that the main entry stays small (12 kB gzipped without peers).
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

const LIMIT_BYTES = 12 * 1024;
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
  console.error("The main entry is too large. Move what is not needed first to a subpath.");
  process.exitCode = 1;
}

const { messages, pkg } = await publint({ pkgDir: root.pathname, strict: true });
for (const message of messages) console.error(formatMessage(message, pkg));
if (messages.length > 0) process.exitCode = 1;
