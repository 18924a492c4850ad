import assert from "node:assert/strict";
import { test } from "node:test";
import { count, doctestCounts, tapCounts } from "../../tools/counts.mjs";

const doctest = (passed, failed) =>
  `[doctest] test cases: ${passed + failed} | ${passed} passed | ${failed} failed | 2 skipped\n` +
  "[doctest] assertions: 40 | 39 passed | 1 failed |\n";

test("doctest's report", () => {
  assert.deepEqual(doctestCounts(0, doctest(12, 0)), { passed: 12, failed: 0 });
  assert.deepEqual(doctestCounts(1, doctest(11, 1)), { passed: 11, failed: 1 });
});

test("a crash before the report is a failure", () => {
  assert.deepEqual(doctestCounts(134, "[doctest] doctest version\n"), { passed: 0, failed: 1 });
});

test("a leak found after a clean report is a failure", () => {
  assert.deepEqual(doctestCounts(1, doctest(12, 0)), { passed: 12, failed: 1 });
});

test("a program that reports nothing ran nothing", () => {
  assert.deepEqual(doctestCounts(0, ""), { passed: 0, failed: 0 });
});

const tap = (pass, fail, cancelled, skipped) =>
  `# tests 9\n# suites 1\n# pass ${pass}\n# fail ${fail}\n# cancelled ${cancelled}\n# skipped ${skipped}\n# todo 0\n`;

test("node's report", () => {
  assert.deepEqual(tapCounts(0, tap(9, 0, 0, 0)), { passed: 9, failed: 0 });
  assert.deepEqual(tapCounts(1, tap(6, 3, 0, 0)), { passed: 6, failed: 3 });
});

test("what was cancelled or skipped has not passed", () => {
  assert.deepEqual(tapCounts(1, tap(7, 0, 1, 1)), { passed: 7, failed: 2 });
});

test("a runner that died is a failure", () => {
  assert.deepEqual(tapCounts(137, ""), { passed: 0, failed: 1 });
});

test("single checks", () => {
  assert.deepEqual(count([true, false, true]), { passed: 2, failed: 1 });
});
