// Calls of one text made for many.

import { RelataError } from "./errors.js";

/** Whether one of many texts may have an error by itself. */
function isOfOne(error: unknown): error is RelataError {
  if (!(error instanceof RelataError)) return false;
  const ofTexts = ["input_invalid", "tokenizer_invalid", "out_of_memory"];
  // Labels are a text's own, other options all texts'.
  return ofTexts.includes(error.code) || error.where.startsWith("relation.labels");
}

/** One after the other; what fails by itself is `none` with its error. */
export async function eachOf<Item, Result extends { readonly error: RelataError | null }>(
  items: readonly Item[],
  work: (item: Item, i: number) => Promise<Result>,
  none: Omit<Result, "error">,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const [i, item] of items.entries()) {
    try {
      results.push(await work(item, i));
    } catch (error) {
      if (!isOfOne(error)) throw error;
      results.push({ ...none, error } as Result);
    }
  }
  return results;
}
