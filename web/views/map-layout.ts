// Where things stand in the map; shared by the picture and by the marks laid over it.

import type { AttentionTrace } from "relata";
import type { MapView } from "../map-view";
import { tokenText } from "../words/format";

export interface MapLayout {
  readonly queryLabels: readonly string[];
  readonly keyLabels: readonly string[];
  /** All in CSS pixels. Cells are square, whatever the two lengths. */
  readonly cell: number;
  readonly left: number;
  readonly top: number;
  /** The map itself, without its labels. */
  readonly plotWidth: number;
  readonly plotHeight: number;
  readonly width: number;
  readonly height: number;
  readonly fontSize: number;
  /** Below this size of cell only the labels of what is pointed at are shown. */
  readonly showsLabels: boolean;
  readonly view: MapView;
}

/** Of few tokens: not larger than this share of the figure, on wide screens neither. */
const largestShare = 1 / 14;
const largestCell = 36;
const smallestLabelledCell = 9;
const longestLabel = 96;
const labelGap = 7;

/** The map of a trace in a figure `width` CSS pixels wide. Zooming changes the cells, never the size of the whole. */
export function mapLayout(trace: AttentionTrace, width: number, view: MapView): MapLayout {
  const queryLabels = trace.queryTokens.map(tokenText);
  const keyLabels = trace.keyTokens.map(tokenText);
  const numKeys = keyLabels.length;
  const queryRoom = Math.min(longestLabel, Math.max(...queryLabels.map(labelWidth)));
  const keyRoom = Math.min(longestLabel, Math.max(...keyLabels.map(labelWidth)));
  const left = Math.ceil(queryRoom) + labelGap;
  // Column labels lean to the right, so the last ones need room beside the map.
  const right = Math.ceil(
    Math.min(longestLabel, labelWidth(keyLabels.at(-1) ?? "")) * Math.SQRT1_2,
  );
  const top = Math.ceil(keyRoom * Math.SQRT1_2) + labelGap + 8;
  const largest = Math.max(largestCell, width * largestShare);
  const fit = Math.min(largest, Math.max(1, width - left - right) / numKeys);
  // Whole pixels where there are some to give: then all cells look the same.
  const whole = fit < 1 ? fit : Math.floor(fit);
  const cell = whole * view.zoom;
  const [plotWidth, plotHeight] = [whole * numKeys, whole * queryLabels.length];
  return {
    queryLabels,
    keyLabels,
    cell,
    left,
    top,
    plotWidth,
    plotHeight,
    width: left + plotWidth + right,
    height: top + plotHeight,
    fontSize: Math.min(13, Math.max(9, cell * 0.62)),
    showsLabels: cell >= smallestLabelledCell,
    view,
  };
}

/** The upper left corner of a cell. */
export function cellAt(layout: MapLayout, query: number, key: number): { x: number; y: number } {
  const { left, top, cell, view } = layout;
  return { x: left + cell * (key - view.key), y: top + cell * (query - view.query) };
}

/** The indices whose middle is in view, of `count` from `from` on. */
export function inView(count: number, from: number, zoom: number): number[] {
  const first = Math.ceil(from - 0.5);
  const last = Math.floor(from + count / zoom - 0.5);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at).filter(
    (at) => at >= 0 && at < count,
  );
}

/** The anchor of a row's label: its right end, at the row's middle. */
export function queryLabelAt(layout: MapLayout, query: number): string {
  const { y } = cellAt(layout, query + 0.5, 0);
  return `translate(${layout.left - labelGap} ${y})`;
}

/** The anchor of a column's label: its left end, leaning up to the right. */
export function keyLabelAt(layout: MapLayout, key: number): string {
  const { x } = cellAt(layout, 0, key + 0.5);
  return `translate(${x} ${layout.top - labelGap}) rotate(-45)`;
}

/** Close enough for layout: an average letter of the page's typeface at its largest label size. */
function labelWidth(text: string): number {
  let width = 2;
  for (const letter of text) width += letter > "\u2e80" ? 13 : 7.4;
  return width;
}
