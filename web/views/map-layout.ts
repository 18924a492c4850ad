// Where things stand in the map; shared by the picture and by the marks laid over it.

import type { AttentionTrace } from "relata";
import { tokenText } from "../words";

export interface MapLayout {
  readonly queryLabels: readonly string[];
  readonly keyLabels: readonly string[];
  /** All in CSS pixels. Cells are square, whatever the two lengths. */
  readonly cell: number;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly fontSize: number;
  /** Below this size of cell only the labels of what is pointed at are shown. */
  readonly showsLabels: boolean;
}

const largestCell = 36;
const smallestLabelledCell = 9;
const longestLabel = 96;
const labelGap = 7;

/** The map of a trace in a figure `width` CSS pixels wide. */
export function mapLayout(trace: AttentionTrace, width: number): MapLayout {
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
  const cell = Math.min(largestCell, Math.max(1, Math.floor((width - left - right) / numKeys)));
  return {
    queryLabels,
    keyLabels,
    cell,
    left,
    top,
    width: left + cell * numKeys + right,
    height: top + cell * queryLabels.length,
    fontSize: Math.min(13, Math.max(9, cell * 0.62)),
    showsLabels: cell >= smallestLabelledCell,
  };
}

/** The anchor of a row's label: its right end, at the row's middle. */
export function queryLabelAt({ left, top, cell }: MapLayout, query: number): string {
  return `translate(${left - labelGap} ${top + cell * (query + 0.5)})`;
}

/** The anchor of a column's label: its left end, leaning up to the right. */
export function keyLabelAt({ left, top, cell }: MapLayout, key: number): string {
  return `translate(${left + cell * (key + 0.5)} ${top - labelGap}) rotate(-45)`;
}

/** Close enough for layout: an average letter of the page's typeface at its largest label size. */
function labelWidth(text: string): number {
  return 7.4 * text.length + 2;
}
