// Stamps: a file that says from which inputs something was made, so that re-runs make nothing anew.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

import { root } from "./checkout.mjs";

// A digest of files (by path and content) and of other facts that the result depends on.
export function digest(files, facts = []) {
  const hash = createHash("sha256");
  for (const file of [...files].sort()) {
    hash.update(`${relative(root, file)}\0`);
    hash.update(existsSync(file) ? readFileSync(file) : "absent");
    hash.update("\0");
  }
  hash.update(JSON.stringify(facts));
  return hash.digest("hex");
}

// Every file below a folder, leaving out folders by name.
export function filesBelow(folder, { except = [] } = {}) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return except.includes(entry.name) ? [] : filesBelow(path, { except });
    return entry.isFile() ? [path] : [];
  });
}

// Makes a thing unless its stamp says that it was made from these very inputs. The stamp goes
// first and comes back last, so that an interrupted run is repeated. Resolves to whether it ran.
export async function unlessStamped(stamp, value, make) {
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === value) return false;
  rmSync(stamp, { force: true });
  await make();
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, value);
  return true;
}
