// What a suite reports: how many tests ran, from the JUnit file that every runner here can write.
import { existsSync, readFileSync } from "node:fs";

const attribute = (tag, name) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(tag)?.[1] ?? 0);

// Sums the top suites of a report. An expected failure is no skip: it ran, and failed as it must.
export function countTests(xml) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const [tag] of xml.matchAll(/<testsuite\s[^>]*>/g)) {
    const failed = attribute(tag, "failures") + attribute(tag, "errors");
    const skipped = attribute(tag, "skipped");
    counts.passed += attribute(tag, "tests") - failed - skipped;
    counts.failed += failed;
    counts.skipped += skipped;
  }
  const expected = [...xml.matchAll(/<skipped type="pytest\.xfail"/g)].length;
  return { ...counts, skipped: counts.skipped - expected, passed: counts.passed + expected };
}

// The counts in a report file, or null when the suite left none.
export const readReport = (path) =>
  existsSync(path) ? countTests(readFileSync(path, "utf8")) : null;

// Why a suite that exited with 0 has failed all the same, or null.
export function objection(counts) {
  if (counts === null) return "the suite left no report";
  if (counts.skipped > 0) return `${counts.skipped} tests were skipped; every test must run`;
  if (counts.passed + counts.failed === 0) return "the suite ran no test";
  return null;
}
