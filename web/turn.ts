// Long work in small pieces, so that it never holds up the page.

/** Milliseconds of work before the page gets its turn. */
export const slice = 8;

/** A message comes back after input and drawing have had their turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** To be called often: gives the page its turn whenever a slice of time has been worked. */
export function createBreathing(): () => Promise<void> | undefined {
  let start = performance.now();
  return () => {
    if (performance.now() - start < slice) return undefined;
    return turn().then(() => {
      start = performance.now();
    });
  };
}
