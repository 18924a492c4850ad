// Where a changed relation moves a head's weight: the map, its numbers, its table.

import type { WeightDifference } from "../difference";
import { hasCell } from "../distance";
import type { MapView } from "../map-view";
import type { Scheme } from "../palette";
import type { Point } from "../state";
import type { Words } from "../words";
import { number, tokenText } from "../words/format";
import { differenceScale, scaleLegend } from "./map-scale";
import { type MapActions, pairMap } from "./pair-map";
import { cellReadout } from "./readouts";
import { table } from "./tables";

export interface DifferenceMapData extends MapActions {
  readonly difference: WeightDifference;
  readonly scheme: Scheme;
  readonly view: MapView;
  readonly words: Words;
  readonly width: number;
}

/** Query x key map of weights after minus weights before. */
export function differenceMap(data: DifferenceMapData): Element {
  const { difference, scheme, words } = data;
  const { before: trace, values, largest } = difference;
  const { queryTokens, keyTokens, layer, head } = trace;
  return pairMap({
    ...data,
    ...{ id: "difference-picture", readout: "difference-readout", trace, values },
    label: words.change.mapLabel(queryTokens.length, keyTokens.length, layer, head),
    scale: differenceScale(largest, scheme),
  });
}

export interface DifferenceLegendData {
  readonly difference: WeightDifference;
  readonly scheme: Scheme;
}

export function differenceLegend({ difference, scheme }: DifferenceLegendData): Element {
  return scaleLegend(differenceScale(difference.largest, scheme));
}

export interface DifferencePointData {
  readonly difference: WeightDifference;
  readonly point: Point | null;
  readonly words: Words;
}

/** One cell: its tokens, its weight before and after, and what was gained or lost. */
export function differenceReadout({ difference, point, words }: DifferencePointData): Element {
  const { before, after, values } = difference;
  return cellReadout(before, point, words, (at) => [
    [words.change.weightBefore, number(before.weights[at] as number, 3)],
    [words.change.weightAfter, number(after.weights[at] as number, 3)],
    [words.change.difference, number(values[at] as number, 3, true)],
  ]);
}

export interface DifferenceTableData {
  readonly difference: WeightDifference;
  readonly words: Words;
}

export function differenceTable({ difference, words }: DifferenceTableData): Element {
  const { before: trace, values } = difference;
  const numKeys = trace.keyTokens.length;
  const rows = trace.queryTokens.map((token, query) => [
    tokenText(token),
    ...trace.keyTokens.map((_, key) =>
      hasCell(trace, query, key) ? number(values[query * numKeys + key] as number, 3, true) : "",
    ),
  ]);
  return table(words.change.mapTable, ["", ...trace.keyTokens.map(tokenText)], rows);
}
