// The numbers under the pointer, in a place of fixed height.

import type { AttentionTrace } from "relata";
import { distanceProfile } from "../distance";
import { litDistance, type Point } from "../state";
import { distance as distanceText, number, tokenText } from "../words";
import { html } from "./element";

export interface ReadoutData {
  readonly trace: AttentionTrace;
  readonly point: Point | null;
}

/** One cell: its tokens, distance, weight, and the two parts of its score. */
export function mapReadout({ trace, point }: ReadoutData): Element {
  if (point === null || "distance" in point) {
    return html(
      "p",
      { class: "hint" },
      "Point at a cell, or take the map with Tab and move with the arrow keys.",
    );
  }
  const at = point.query * trace.keyTokens.length + point.key;
  const query = trace.queryTokens[point.query];
  const key = trace.keyTokens[point.key];
  if (!query || !key) throw new RangeError(`no cell ${point.query}, ${point.key}`);
  return facts([
    ["Query", tokenText(query)],
    ["Key", tokenText(key)],
    ["Distance", distanceText(point.key - point.query)],
    ["Weight", number(trace.weights[at] as number, 3)],
    ["Content score", number(trace.contentScores[at] as number, 2, true)],
    [
      "Relation score",
      trace.relationScores ? number(trace.relationScores[at] as number, 2, true) : "none",
    ],
  ]);
}

/** One distance: mean weight, the pairs behind it, and what the relation adds. */
export function distanceReadout({ trace, point }: ReadoutData): Element {
  const lit = litDistance(point);
  const row = distanceProfile(trace).find(({ distance }) => distance === lit);
  if (!row)
    return html(
      "p",
      { class: "hint" },
      "Point at a bar, or take the chart with Tab and move with left and right.",
    );
  const { relation } = row;
  return facts([
    ["Distance", distanceText(row.distance)],
    ["Pairs", `${row.count}`],
    ["Mean weight", number(row.meanWeight, 3)],
    ["Relation score", relation ? number(relation.mean, 2, true) : "none"],
    ["Spread", relation ? `\u00b1${number(relation.spread, 2)}` : "none"],
  ]);
}

function facts(entries: readonly (readonly [term: string, value: string])[]): Element {
  return html(
    "dl",
    { class: "facts" },
    ...entries.map(([term, value]) => html("div", {}, html("dt", {}, term), html("dd", {}, value))),
  );
}
