// What counts as a suite that ran: design 10.
import assert from "node:assert/strict";
import test from "node:test";

import { countTests, problemWith } from "../../scripts/report.mjs";

test("every runner's cases are counted, whatever they are nested in", () => {
  const pytest = `<testsuites><testsuite tests="4"><testcase name="a" time="0.1" />
    <testcase name="b &gt; c"><failure message="x">…</failure></testcase>
    <testcase name="d"><error message="y">…</error></testcase>
    <testcase name="e"><skipped type="pytest.skip" message="z">…</skipped></testcase></testsuite></testsuites>`; // a report to count, no skip of ours
  assert.deepEqual(countTests(pytest), { passed: 1, failed: 2, skipped: 1 });
  const node = `<testsuites><testcase name="x > y" classname="test"/>
    <testsuite name="s"><testcase name="z"></testcase></testsuite></testsuites>`;
  assert.deepEqual(countTests(node), { passed: 2, failed: 0, skipped: 0 });
});

test("an expected failure has run", () => {
  const xml = '<testcase name="a"><skipped type="pytest.xfail" message="" /></testcase>'; // a report to count, no skip of ours
  assert.deepEqual(countTests(xml), { passed: 1, failed: 0, skipped: 0 });
});

test("a suite without report, without tests or with skipped ones has failed", () => {
  assert.match(problemWith(null), /no report/);
  assert.match(problemWith({ passed: 0, failed: 0, skipped: 0 }), /no test/);
  assert.match(problemWith({ passed: 9, failed: 0, skipped: 1 }), /skipped/);
  assert.equal(problemWith({ passed: 1, failed: 0, skipped: 0 }), null);
});
