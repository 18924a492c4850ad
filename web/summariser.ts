// Sums up many heads a few at a time, so that hundreds of large ones never hold up the page.

import type { AttentionTrace } from "relata";
import { type HeadSummary, headSummary } from "./distance";
import type { Summaries } from "./events";

/** Milliseconds of work before the page gets its turn. */
const slice = 8;

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

/** A message comes back after input and drawing have had their turn. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
