// What happens inside the process or page that an engine runs in: the same for both.

import { sourceIds } from "./engines/text.mjs";

/**
 * Loads an engine and lets it write its first token. `peak` gives the process's peak memory in MB, or null. Resolves to
 * the times since the process or the navigation began, and a function that answers commands.
 */
export async function open({ engine, places, options }, peak) {
  const idleMb = peak();
  const { load } = await import(`./engines/${engine}.mjs`);
  const loaded = await load(places, options);
  const start = { idleMb, loadedMs: performance.now(), loadedMb: peak() };
  if (loaded.generate) {
    const { firstMs } = await loaded.generate(sourceIds(32), { count: 2 });
    start.firstTokenMs = start.loadedMs + firstMs;
    start.firstTokenMb = peak();
  }
  return {
    start,
    answer: ({ command, source = 0, ...rest }) =>
      command === "peak" ? peak() : loaded[command](sourceIds(source), rest),
  };
}
