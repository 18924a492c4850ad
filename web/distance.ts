// From one head's attention to what it does by signed distance (key position minus query position).

import type { AttentionTrace, RelationInfo } from "relata";

/** Everything the picture says about one distance. */
export interface DistanceRow {
  readonly distance: number;
  /** Query and key pairs at this distance; never 0. */
  readonly count: number;
  /** Mean of the weights over those pairs, 0..1. */
  readonly meanWeight: number;
  /** Mean and standard deviation of the relation scores over those pairs; null without a relation. */
  readonly relation: { readonly mean: number; readonly spread: number } | null;
}

/** A corner of the map is one or two pairs: a mean over so few says little about the head. */
export function isThin({ count }: DistanceRow): boolean {
  return count < 3;
}

/** A run of neighbouring distances that share one relation id. */
export interface RelationRange {
  readonly id: number;
  readonly from: number;
  readonly to: number;
}

/** Whether the pair exists: a decoder's query does not see later keys. */
export function hasCell(trace: AttentionTrace, query: number, key: number): boolean {
  return trace.kind !== "decoder_self" || key <= query;
}

/** Throws a RangeError where the arrays do not fit the tokens; call before drawing. */
export function checkTrace(trace: AttentionTrace): void {
  const cells = trace.queryTokens.length * trace.keyTokens.length;
  for (const name of ["weights", "contentScores", "relationScores"] as const) {
    const values = trace[name];
    if (values !== null && values.length !== cells) {
      throw new RangeError(`${name} has ${values.length} values for ${cells} pairs of tokens`);
    }
  }
}

/** One row per distance that has a pair, ascending. */
export function distanceProfile(trace: AttentionTrace): DistanceRow[] {
  checkTrace(trace);
  const queries = trace.queryTokens.length;
  const keys = trace.keyTokens.length;
  const rows: DistanceRow[] = [];
  for (let distance = 1 - queries; distance < keys; distance += 1) {
    const cells: number[] = [];
    for (
      let query = Math.max(0, -distance);
      query < Math.min(queries, keys - distance);
      query += 1
    ) {
      if (hasCell(trace, query, query + distance)) cells.push(query * keys + query + distance);
    }
    if (cells.length === 0) continue;
    rows.push({
      distance,
      count: cells.length,
      meanWeight: mean(cells, trace.weights),
      relation: trace.relationScores && meanAndSpread(cells, trace.relationScores),
    });
  }
  return rows;
}

/**
 * The distances first..last grouped by relation id: where a model gives many distances one relation
 * (clipped, or in one bucket) the run is longer than one. Empty where the index is not a distance.
 */
export function relationRanges(info: RelationInfo, first: number, last: number): RelationRange[] {
  if (
    info.ids.length === 0 ||
    (info.index !== "clipped_distance" && info.index !== "bucketed_distance")
  )
    return [];
  const ranges: RelationRange[] = [];
  for (let distance = first; distance <= last; distance += 1) {
    const at = Math.min(info.ids.length - 1, Math.max(0, distance - info.firstDistance));
    const id = info.ids[at] as number;
    const open = ranges.at(-1);
    if (open?.id === id) ranges[ranges.length - 1] = { ...open, to: distance };
    else ranges.push({ id, from: distance, to: distance });
  }
  return ranges;
}

function mean(cells: readonly number[], values: Float32Array): number {
  let sum = 0;
  for (const cell of cells) sum += values[cell] as number;
  return sum / cells.length;
}

/** Standard deviation of the pairs themselves (divided by their count, not by count - 1). */
function meanAndSpread(
  cells: readonly number[],
  values: Float32Array,
): { mean: number; spread: number } {
  const center = mean(cells, values);
  let squares = 0;
  for (const cell of cells) squares += ((values[cell] as number) - center) ** 2;
  return { mean: center, spread: Math.sqrt(squares / cells.length) };
}
