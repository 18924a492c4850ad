// Sums up many heads a few at a time, so that hundreds of large ones never hold up the page.

import type { AttentionTrace } from "relata";
import { type HeadSummary, headSummary } from "./distance";
import type { Summaries } from "./events";
import { slice, turn } from "./turn";

/** Returns the function that starts on another set of heads and drops the one before. */
export function createSummariser(
  onSummaries: (summaries: Summaries) => void,
): (traces: readonly AttentionTrace[]) => void {
  let latest: readonly AttentionTrace[] = [];
  async function work(traces: readonly AttentionTrace[]): Promise<void> {
    let done = new Map<AttentionTrace, HeadSummary>();
    let start = performance.now();
    for (const trace of traces) {
      if (latest !== traces) return;
      done.set(trace, headSummary(trace));
      if (performance.now() - start < slice) continue;
      onSummaries(done);
      done = new Map();
      await turn();
      start = performance.now();
    }
    if (done.size > 0 && latest === traces) onSummaries(done);
  }
  return (traces) => {
    latest = traces;
    void work(traces);
  };
}
