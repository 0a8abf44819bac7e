// SHA-256 of files, and SHA256SUMS of a folder, as `sha256sum --check` reads it.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const SUMS = "SHA256SUMS";

export const digestOf = (file) => createHash("sha256").update(readFileSync(file)).digest("hex");

export function writeSums(folder) {
  const files = readdirSync(folder).filter((name) => name !== SUMS);
  const lines = files.sort().map((name) => `${digestOf(join(folder, name))}  ${name}\n`);
  writeFileSync(join(folder, SUMS), lines.join(""));
}
