// The numbers under the pointer, in a place of fixed height.

import type { AttentionTrace } from "relata";
import { distanceProfile } from "../distance";
import { litDistance, type Point } from "../state";
import type { Words } from "../words";
import { distance as distanceText, number, tokenText } from "../words/format";
import { html } from "./element";

export interface ReadoutData {
  readonly trace: AttentionTrace;
  readonly point: Point | null;
  readonly words: Words;
}

/** One cell: its tokens, distance, weight, and the two parts of its score. */
export function mapReadout({ trace, point, words }: ReadoutData): Element {
  return cellReadout(trace, point, words, (at) => [
    [words.weight, number(trace.weights[at] as number, 3)],
    [words.contentScore, number(trace.contentScores[at] as number, 2, true)],
    [
      words.relationScore,
      trace.relationScores ? number(trace.relationScores[at] as number, 2, true) : words.none,
    ],
  ]);
}

/** The cell that is pointed at: its tokens, how far apart they stand, and what `more` says of its place in the arrays. */
export function cellReadout(
  { queryTokens, keyTokens }: AttentionTrace,
  point: Point | null,
  words: Words,
  more: (at: number) => readonly Fact[],
): Element {
  if (point === null || "distance" in point) {
    return html("p", { class: "hint" }, words.mapHint);
  }
  const query = queryTokens[point.query];
  const key = keyTokens[point.key];
  if (!query || !key) throw new RangeError(`no cell ${point.query}, ${point.key}`);
  return facts([
    [words.query, tokenText(query)],
    [words.key, tokenText(key)],
    [words.distance, distanceText(point.key - point.query)],
    ...more(point.query * keyTokens.length + point.key),
  ]);
}

/** One distance: mean weight, the pairs behind it, and what the relation adds. */
export function distanceReadout({ trace, point, words }: ReadoutData): Element {
  return rowReadout(distanceProfile(trace), point, words, ({ meanWeight, relation }) => [
    [words.meanWeight, number(meanWeight, 3)],
    [words.relationScore, relation ? number(relation.mean, 2, true) : words.none],
    [words.spread, relation ? `\u00b1${number(relation.spread, 2)}` : words.none],
  ]);
}

/** The distance that is pointed at, its pairs, and what `more` says of them. */
export function rowReadout<Row extends { readonly distance: number; readonly count: number }>(
  rows: readonly Row[],
  point: Point | null,
  words: Words,
  more: (row: Row) => readonly Fact[],
): Element {
  const lit = litDistance(point);
  const row = rows.find(({ distance }) => distance === lit);
  if (!row) return html("p", { class: "hint" }, words.profileHint);
  return facts([
    [words.distance, distanceText(row.distance)],
    [words.pairs, `${row.count}`],
    ...more(row),
  ]);
}

type Fact = readonly [term: string, value: string];

function facts(entries: readonly Fact[]): Element {
  return html(
    "dl",
    { class: "facts" },
    ...entries.map(([term, value]) => html("div", {}, html("dt", {}, term), html("dd", {}, value))),
  );
}
