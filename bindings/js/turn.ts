// Long work pauses between its steps, so that timers, messages and an abort get their turn.

/** Milliseconds between two turns of a loop. */
const kApartMs = 8;

type Immediate = (callback: () => void) => void;

/** Resolves after everything already waiting in the event loop had its turn. */
export function turn(): Promise<void> {
  const { setImmediate } = globalThis as { setImmediate?: Immediate };
  // Timers that are due run between two of Node's immediates, and not always before the first.
  if (setImmediate !== undefined)
    return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  // Browsers hold back nested timeouts for 4 ms, messages not.
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** Turns for a loop of short steps: one where the last is half a frame ago, so that a step costs none of its own. */
export class Turns {
  #last = Number.NEGATIVE_INFINITY;

  async take(): Promise<void> {
    if (performance.now() - this.#last < kApartMs) return;
    await turn();
    this.#last = performance.now();
  }
}

/** Throws the signal's reason once it is aborted. */
export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw signal.reason;
}

/** What a promise comes to, unless one of the signals is aborted first: then its reason is thrown, and nobody waits. */
export async function orAborted<T>(
  promise: Promise<T>,
  signals: readonly (AbortSignal | undefined)[],
): Promise<T> {
  let stop: () => void = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => {
      for (const signal of signals) if (signal?.aborted) reject(signal.reason);
    };
  });
  for (const signal of signals) signal?.addEventListener("abort", stop);
  stop();
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    for (const signal of signals) signal?.removeEventListener("abort", stop);
  }
}
