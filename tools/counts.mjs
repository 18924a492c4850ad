// What a stage of the tests counted, read from the reports of its test runner.

/** Counts of a stage from single checks: true is a pass. */
export const count = (results) => ({
  passed: results.filter((ok) => ok).length,
  failed: results.filter((ok) => !ok).length,
});

/** A stage's counts, where a bad exit status without a counted failure (a crash, a leak report) is one. */
function counted(status, passed, failed) {
  return { passed, failed: failed === 0 && status !== 0 ? 1 : failed };
}

/** The counts in doctest's report. */
export function doctestCounts(status, output) {
  const cases = /test cases: *\d+ *\| *(\d+) passed *\| *(\d+) failed/.exec(output);
  return counted(status, Number(cases?.[1] ?? 0), Number(cases?.[2] ?? 0));
}

/** The counts in node's TAP report; a cancelled or skipped test has not passed, and counts as failed. */
export function tapCounts(status, tap) {
  const number = (name) => Number(new RegExp(`^# ${name} (\\d+)$`, "m").exec(tap)?.[1] ?? 0);
  return counted(
    status,
    number("pass"),
    number("fail") + number("cancelled") + number("skipped") + number("todo"),
  );
}
