// The pictures once more, as tables: for screen readers, and for copying numbers.

import type { AttentionTrace } from "relata";
import { distanceProfile, hasCell } from "../distance";
import type { Quantity } from "../state";
import { distance as distanceText, number, quantities, tokenText } from "../words";
import { html } from "./element";

export function distanceTable({ trace }: { readonly trace: AttentionTrace }): Element {
  const rows = distanceProfile(trace).map(({ distance, count, meanWeight, relation }) => [
    distanceText(distance),
    `${count}`,
    number(meanWeight, 4),
    relation ? number(relation.mean, 4, true) : "none",
    relation ? number(relation.spread, 4) : "none",
  ]);
  return table(
    "Attention by distance",
    ["Distance", "Pairs", "Mean weight", "Relation score", "Spread"],
    rows,
  );
}

export interface MapTableData {
  readonly trace: AttentionTrace;
  readonly quantity: Quantity;
}

export function mapTable({ trace, quantity }: MapTableData): Element {
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
  return table(
    `${quantities[quantity]}: rows look, columns are looked at`,
    ["", ...trace.keyTokens.map(tokenText)],
    rows,
  );
}

/** The first cell of each row heads it. */
function table(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): Element {
  const headCells = head.map((words) =>
    words === "" ? html("td") : html("th", { scope: "col" }, words),
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
