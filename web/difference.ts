// What a changed relation does to one head: its weights after minus its weights before, over the same tokens.

import type { AttentionTrace } from "relata";
import { distanceProfile, isThin } from "./distance";

/** One head under the relation as trained and as changed. */
export interface WeightDifference {
  /** As trained: the tokens, and which pairs exist, are those of both. */
  readonly before: AttentionTrace;
  readonly after: AttentionTrace;
  /** Weight after minus weight before, -1..1, of every pair: [queries * keys], row-major. */
  readonly values: Float32Array;
  /** The largest of them, whatever its sign. */
  readonly largest: number;
  /** The share of a row's weight that is elsewhere now, on average: 0..1. */
  readonly moved: number;
}

/** What happens to one distance. */
export interface ShiftRow {
  readonly distance: number;
  readonly count: number;
  /** Mean weights over the pairs at this distance, 0..1. */
  readonly before: number;
  readonly after: number;
  /** after - before */
  readonly shift: number;
  readonly isThin: boolean;
}

const known = new WeakMap<AttentionTrace, WeightDifference>();

/** Null where the two are not of the same tokens. Made once per head, however many views ask. */
export function weightDifference(
  before: AttentionTrace,
  after: AttentionTrace,
): WeightDifference | null {
  const made = known.get(after);
  if (made?.before === before) return made;
  const isSame =
    before.weights.length === after.weights.length &&
    before.queryTokens.every(({ id }, at) => id === after.queryTokens[at]?.id) &&
    before.keyTokens.every(({ id }, at) => id === after.keyTokens[at]?.id);
  if (!isSame) return null;
  const values = after.weights.map((weight, at) => weight - (before.weights[at] as number));
  let [largest, sum] = [0, 0];
  for (const value of values) {
    largest = Math.max(largest, Math.abs(value));
    sum += Math.abs(value);
  }
  // What one pair gains another has lost: each move counts twice.
  const moved = sum / 2 / before.queryTokens.length;
  const difference = { before, after, values, largest, moved };
  known.set(after, difference);
  return difference;
}

/** Mean weight by distance, before and after. */
export function shiftProfile({ before, after }: WeightDifference): readonly ShiftRow[] {
  const others = distanceProfile(after);
  return distanceProfile(before).map((row, at) => {
    const { distance, count, meanWeight } = row;
    const changed = (others[at] as { readonly meanWeight: number }).meanWeight;
    return {
      ...{ distance, count, before: meanWeight, after: changed, shift: changed - meanWeight },
      isThin: isThin(row),
    };
  });
}
