// What a page gets that installs the packed library: a small app is built from it by Vite, outside of
// the workspace's own resolution. The packages that it needs beside it are the workspace's.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const PAGE = `<!doctype html><div id="root"></div><script type="module" src="./main.jsx"></script>`;
const MAIN = `
import { SaysoAgent, SaysoProvider } from "@sayso/react";
import { InterruptCards } from "@sayso/react/components";
import { Inbox } from "@sayso/react/core";
import "@sayso/react/styles.css";
import { createRoot } from "react-dom/client";

const inbox = new Inbox({ url: "/" });
const ops = new SaysoAgent({ url: "/agents/ops", agentId: "ops" });
createRoot(document.getElementById("root")).render(
  <SaysoProvider agents={{ ops }}>
    <InterruptCards />
    <output>{inbox.getSnapshot().items.length}</output>
  </SaysoProvider>,
);
`;

/** Builds an app from a packed library; throws with what Vite said, or where something is missing. */
export async function buildPage(tarball, root) {
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "sayso-page-"));
  try {
    const library = join(folder, "node_modules", "@sayso", "react");
    mkdirSync(library, { recursive: true });
    execFileSync("tar", ["-xzf", tarball, "-C", library, "--strip-components=1"]);
    writeFileSync(join(folder, "index.html"), PAGE);
    writeFileSync(join(folder, "main.jsx"), MAIN);
    writeFileSync(join(folder, "package.json"), '{ "type": "module", "private": true }');
    const { build } = await import("vite");
    const oxc = { jsx: { runtime: "automatic" } };
    await build({ root: folder, configFile: false, logLevel: "error", oxc });
    const made = readdirSync(join(folder, "dist", "assets"));
    const styles = made.filter((item) => item.endsWith(".css"));
    const text = styles.map((style) => readFileSync(join(folder, "dist", "assets", style), "utf8"));
    if (!text.join("").includes(".sayso-card")) throw new Error("The page has no styles of cards.");
    // The form library is loaded with the first form alone.
    if (!made.some((item) => item.startsWith("RjsfForm"))) {
      throw new Error(`Forms are no chunk of their own among ${made.join(", ")}.`);
    }
    return made.length;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
