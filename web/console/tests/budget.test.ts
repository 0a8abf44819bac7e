import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { budget } from "../budget.js";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sayso-budget-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Builds a page of these files, whose entry is `entry.js`. */
async function built(files: Readonly<Record<string, string>>, limit: number): Promise<unknown> {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return build({
    configFile: false,
    root: folder,
    logLevel: "silent",
    plugins: [budget(limit)],
    build: { write: false, rolldownOptions: { input: join(folder, "entry.js") } },
  });
}

const letters = Array.from({ length: 2000 }, (_, index) => (index * 7919).toString(36)).join("");

it("the console's first load is bounded: what it imports counts, however far away", async () => {
  const files = {
    "entry.js": 'import { words } from "./near.js"; console.log(words);',
    "near.js": `export const words = ${JSON.stringify(letters)};`,
  };
  await expect(built(files, 1000)).rejects.toThrow(/first load is \d+ bytes .*limit 1000/);
  await expect(built(files, 100_000)).resolves.toBeDefined();
});

it("what is loaded when it is needed does not count", async () => {
  const files = {
    "entry.js": 'document.onclick = () => import("./far.js");',
    "far.js": `console.log(${JSON.stringify(letters)});`,
  };
  await expect(built(files, 3000)).resolves.toBeDefined();
});
