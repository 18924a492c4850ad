// The pictures once more, as tables: for screen readers, and for copying numbers.

import type { AttentionKind, AttentionTrace } from "relata";
import { distanceProfile, hasCell, strongest } from "../distance";
import type { Summaries } from "../events";
import type { Quantity } from "../state";
import type { Words } from "../words";
import { distance as distanceText, number, percent, tokenText } from "../words/format";
import { html } from "./element";

export interface DistanceTableData {
  readonly trace: AttentionTrace;
  readonly words: Words;
}

export function distanceTable({ trace, words }: DistanceTableData): Element {
  const rows = distanceProfile(trace).map(({ distance, count, meanWeight, relation }) => [
    distanceText(distance),
    `${count}`,
    number(meanWeight, 4),
    relation ? number(relation.mean, 4, true) : words.none,
    relation ? number(relation.spread, 4) : words.none,
  ]);
  return table(
    words.profileTable,
    [words.distance, words.pairs, words.meanWeight, words.relationScore, words.spread],
    rows,
  );
}

export interface OverviewTableData {
  readonly kind: AttentionKind;
  readonly traces: readonly AttentionTrace[];
  readonly summaries: Summaries;
  readonly words: Words;
}

/** Every head of a kind: where it is strongest, and what distance explains. */
export function overviewTable({ kind, traces, summaries, words }: OverviewTableData): Element {
  const rows = traces
    .filter((trace) => trace.kind === kind)
    .map((trace) => {
      const summary = summaries.get(trace);
      const top = summary && strongest(summary.rows);
      return [
        words.headLabel(trace.layer, trace.head),
        top ? distanceText(top.distance) : "",
        top ? number(top.meanWeight, 3) : "",
        summary ? number(summary.meanDistance, 2, true) : "",
        summary ? percent(summary.explained) : "",
      ];
    });
  const { head, strongestAt, meanWeight, meanDistance, explained } = words;
  return table(
    words.overviewLabel(kind),
    [head, strongestAt, meanWeight, meanDistance, explained],
    rows,
  );
}

export interface MapTableData {
  readonly trace: AttentionTrace;
  readonly quantity: Quantity;
  readonly words: Words;
}

export function mapTable({ trace, quantity, words }: MapTableData): Element {
  const values = trace[quantity];
  const numKeys = trace.keyTokens.length;
  const [digits, signed] = quantity === "weights" ? [3, false] : [2, true];
  const rows = trace.queryTokens.map((token, query) => [
    tokenText(token),
    ...trace.keyTokens.map((_, key) =>
      values && hasCell(trace, query, key)
        ? number(values[query * numKeys + key] as number, digits as number, signed as boolean)
        : "",
    ),
  ]);
  return table(words.mapTable(quantity), ["", ...trace.keyTokens.map(tokenText)], rows);
}

/** The first cell of each row heads it. */
export function table(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): Element {
  const headCells = head.map((title) =>
    title === "" ? html("td") : html("th", { scope: "col" }, title),
  );
  const bodyRows = rows.map(([first, ...cells]) =>
    html(
      "tr",
      {},
      html("th", { scope: "row" }, first),
      ...cells.map((cell) => html("td", {}, cell)),
    ),
  );
  return html(
    "div",
    { class: "table", tabindex: 0, role: "region", "aria-label": caption },
    html(
      "table",
      {},
      html("caption", {}, caption),
      html("thead", {}, html("tr", {}, ...headCells)),
      html("tbody", {}, ...bodyRows),
    ),
  );
}
