// A measure over scores.

import type { ScoreResult } from "./types.js";

/**
 * exp of the mean negative log probability of all tokens, end tokens counted: what `score` gave for a test set in one number.
 * Throws the error of a pair that has failed, and a RangeError where there is no token.
 */
export function perplexity(scores: readonly ScoreResult[]): number {
  let [sum, count] = [0, 0];
  for (const { score, tokens, error } of scores) {
    if (error !== null) throw error;
    sum += score;
    count += tokens.length;
  }
  if (count === 0) throw new RangeError("perplexity: there are no tokens");
  return Math.exp(-sum / count);
}
