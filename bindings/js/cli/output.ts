// What the command line prints, and where it prints to.

import { wordsOf } from "../errors.js";

/** Floats as the shortest decimals that give them back (9 digits do). */
export function toJson(value: unknown, indent?: number): string {
  const plain = (_key: string, item: unknown) =>
    item instanceof Float32Array || item instanceof Int32Array
      ? Array.from(item, (number) => Number(number.toPrecision(9)))
      : item;
  return `${JSON.stringify(value, plain, indent)}\n`;
}

/** False once nobody reads standard output any more, as in `relata … | head`: that is no failure. */
let hasReader = true;
// `print` hears of it too.
process.stdout.on("error", () => {});

/** Writes to standard output. Returns whether somebody reads it. */
export async function print(text: string): Promise<boolean> {
  if (!hasReader) return false;
  try {
    await new Promise<void>((resolve, reject) => {
      process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
    });
  } catch (error) {
    hasReader = false;
    if ((error as NodeJS.ErrnoException).code !== "EPIPE")
      throw new Error(`standard output cannot be written: ${wordsOf(error)}`, { cause: error });
  }
  return hasReader;
}
