// How many threads the page's model works with.

/** More gain little on sentences, and leave nothing to others. */
const most = 4;

/** One for each core, four at most, where the page's host has it cross-origin isolated; one elsewhere. */
export function threadsHere(): number {
  if (!globalThis.crossOriginIsolated) return 1;
  // service-worker.js keeps the builds for more than one by the same rule.
  return Math.max(1, Math.min(navigator.hardwareConcurrency, most));
}
