// A folder of a test's own, gone with the test.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function folder(t) {
  const path = mkdtempSync(join(tmpdir(), "sayso-house-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
