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
  if (point === null || "distance" in point) {
    return html("p", { class: "hint" }, words.mapHint);
  }
  const at = point.query * trace.keyTokens.length + point.key;
  const query = trace.queryTokens[point.query];
  const key = trace.keyTokens[point.key];
  if (!query || !key) throw new RangeError(`no cell ${point.query}, ${point.key}`);
  return facts([
    [words.query, tokenText(query)],
    [words.key, tokenText(key)],
    [words.distance, distanceText(point.key - point.query)],
    [words.weight, number(trace.weights[at] as number, 3)],
    [words.contentScore, number(trace.contentScores[at] as number, 2, true)],
    [
      words.relationScore,
      trace.relationScores ? number(trace.relationScores[at] as number, 2, true) : words.none,
    ],
  ]);
}

/** One distance: mean weight, the pairs behind it, and what the relation adds. */
export function distanceReadout({ trace, point, words }: ReadoutData): Element {
  const lit = litDistance(point);
  const row = distanceProfile(trace).find(({ distance }) => distance === lit);
  if (!row) return html("p", { class: "hint" }, words.profileHint);
  const { relation } = row;
  return facts([
    [words.distance, distanceText(row.distance)],
    [words.pairs, `${row.count}`],
    [words.meanWeight, number(row.meanWeight, 3)],
    [words.relationScore, relation ? number(relation.mean, 2, true) : words.none],
    [words.spread, relation ? `\u00b1${number(relation.spread, 2)}` : words.none],
  ]);
}

export function facts(entries: readonly (readonly [term: string, value: string])[]): Element {
  return html(
    "dl",
    { class: "facts" },
    ...entries.map(([term, value]) => html("div", {}, html("dt", {}, term), html("dd", {}, value))),
  );
}
