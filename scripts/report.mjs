// What a suite reports: how many tests ran, from the JUnit file that every runner here can write.
import { existsSync, readFileSync } from "node:fs";

const ATTRIBUTES = String.raw`(?:\s+[\w:.-]+="[^"]*")*\s*`;
const CASE = new RegExp(`<testcase${ATTRIBUTES}(?:/>|>([\\s\\S]*?)</testcase>)`, "g");
const EXPECTED_FAILURE = 'type="pytest.xfail"'; // it ran, and failed as it must

export function countTests(xml) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const [, inside = ""] of xml.matchAll(CASE)) {
    if (/<(failure|error)\b/.test(inside)) counts.failed += 1;
    else if (/<skipped\b/.test(inside) && !inside.includes(EXPECTED_FAILURE)) counts.skipped += 1;
    else counts.passed += 1;
  }
  return counts;
}

// The counts in a report file, or null when the suite left none.
export const readReport = (path) =>
  existsSync(path) ? countTests(readFileSync(path, "utf8")) : null;

// Why a suite that exited with 0 has failed all the same, or null.
export function problemWith(counts) {
  if (counts === null) return "the suite left no report";
  if (counts.skipped > 0) return `${counts.skipped} tests were skipped; every test must run`;
  if (counts.passed + counts.failed === 0) return "the suite ran no test";
  return null;
}
