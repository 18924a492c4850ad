// A measure over scores.

import { RelataError } from "./errors.js";
import type { ScoreResult } from "./types.js";

/**
 * exp of the mean negative log probability of all tokens, end tokens counted: what `score` gave for a test set in one number.
 * Throws the error of a pair that has failed, and input_invalid where there is no token.
 */
export function perplexity(scores: readonly ScoreResult[]): number {
  const invalid = (problem: string) =>
    new RelataError("input_invalid", "scores", `scores: ${problem}`);
  if (!Array.isArray(scores)) throw invalid("expected an array of results of score");
  let [sum, count] = [0, 0];
  for (const { score, tokens, error } of scores) {
    if (error !== null) throw error;
    sum += score;
    count += tokens.length;
  }
  if (count === 0) throw invalid("there are no tokens");
  return Math.exp(-sum / count);
}
