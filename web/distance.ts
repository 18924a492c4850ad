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

/** One head at a glance. */
export interface HeadSummary {
  /** One row per distance that has a pair, ascending. */
  readonly rows: readonly DistanceRow[];
  /**
   * The share, 0..1, of the weights' variance that distance alone accounts for: adjusted R squared of the diagonals'
   * means, so that a short sentence with many diagonals is not flattered.
   */
  readonly explained: number;
  /** Where the head looks on average: mean of the distance, each pair counted by its weight. */
  readonly meanDistance: number;
}

/** A corner of the map is one or two pairs: a mean over so few says little about the head. */
export function isThin({ count }: DistanceRow): boolean {
  return count < 3;
}

/** The row of the highest bar that rests on enough pairs. */
export function strongest(rows: readonly DistanceRow[]): DistanceRow {
  const solid = rows.filter((row) => !isThin(row));
  return (solid.length > 0 ? solid : rows).reduce((best, row) =>
    row.meanWeight > best.meanWeight ? row : best,
  );
}

/** What a relation tells pairs of tokens apart by; nothing where there is none. */
export type Basis = "distance" | "labels" | "nothing";

/** relation: null between two sentences. */
export function basisOf(relation: RelationInfo | null): Basis {
  if (relation === null || relation.effect === "none") return "nothing";
  return relation.index === "labels" ? "labels" : "distance";
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

export function distanceProfile(trace: AttentionTrace): readonly DistanceRow[] {
  return headSummary(trace).rows;
}

const summaries = new WeakMap<AttentionTrace, HeadSummary>();

/** Summed up once per head, however many views ask. */
export function headSummary(trace: AttentionTrace): HeadSummary {
  const known = summaries.get(trace);
  if (known) return known;
  const made = summarise(trace);
  summaries.set(trace, made);
  return made;
}

function summarise(trace: AttentionTrace): HeadSummary {
  checkTrace(trace);
  const { relationScores } = trace;
  const weights = diagonalMeans(trace, trace.weights);
  const weightSpreads = diagonalSquares(trace, trace.weights, weights.means);
  const relations = relationScores && diagonalMeans(trace, relationScores);
  const spreads =
    relationScores && relations && diagonalSquares(trace, relationScores, relations.means);
  const rows: DistanceRow[] = [];
  let [sum, moment, pairs, within] = [0, 0, 0, 0];
  weights.counts.forEach((count, at) => {
    if (count === 0) return;
    const distance = at + 1 - trace.queryTokens.length;
    const meanWeight = weights.means[at] as number;
    const relation = relations &&
      spreads && {
        mean: relations.means[at] as number,
        spread: Math.sqrt((spreads[at] as number) / count),
      };
    rows.push({ distance, count, meanWeight, relation });
    pairs += count;
    sum += count * meanWeight;
    moment += count * meanWeight * distance;
    within += weightSpreads[at] as number;
  });
  const mean = sum / pairs;
  const between = rows.reduce((all, row) => all + row.count * (row.meanWeight - mean) ** 2, 0);
  const total = between + within;
  const free = pairs - rows.length;
  const explained =
    total > 0 && free > 0 ? Math.max(0, 1 - within / free / (total / (pairs - 1))) : 0;
  return { rows, explained, meanDistance: sum > 0 ? moment / sum : 0 };
}

/** Number of pairs and mean of every diagonal, from distance 1 - queries on: [queries + keys - 1]. */
function diagonalMeans(trace: AttentionTrace, values: Float32Array) {
  const queries = trace.queryTokens.length;
  const keys = trace.keyTokens.length;
  const counts = new Int32Array(queries + keys - 1);
  const means = new Float64Array(counts.length);
  for (let query = 0; query < queries; query += 1) {
    const end = trace.kind === "decoder_self" ? query + 1 : keys;
    const first = queries - 1 - query;
    for (let key = 0; key < end; key += 1) {
      const at = first + key;
      counts[at] = (counts[at] as number) + 1;
      means[at] = (means[at] as number) + (values[query * keys + key] as number);
    }
  }
  counts.forEach((count, at) => {
    if (count > 0) means[at] = (means[at] as number) / count;
  });
  return { counts, means };
}

/** Sum of the squared deviations from each diagonal's mean. */
function diagonalSquares(
  trace: AttentionTrace,
  values: Float32Array,
  means: Float64Array,
): Float64Array {
  const queries = trace.queryTokens.length;
  const keys = trace.keyTokens.length;
  const squares = new Float64Array(means.length);
  for (let query = 0; query < queries; query += 1) {
    const end = trace.kind === "decoder_self" ? query + 1 : keys;
    const first = queries - 1 - query;
    for (let key = 0; key < end; key += 1) {
      const off = (values[query * keys + key] as number) - (means[first + key] as number);
      squares[first + key] = (squares[first + key] as number) + off * off;
    }
  }
  return squares;
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
