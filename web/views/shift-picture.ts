// How much weight a changed relation moves to, or from, each distance.

import { type ScaleLinear, scaleLinear } from "d3-scale";
import { type ShiftRow, shiftProfile, type WeightDifference } from "../difference";
import { css, differenceRamp, rampColor, type Scheme } from "../palette";
import type { Point } from "../state";
import type { Words } from "../words";
import { distance as distanceText, number } from "../words/format";
import {
  type AxisLayout,
  acrossDistances,
  distanceAxis,
  distanceChart,
  panelTitle,
  valueGrid,
} from "./distance-axis";
import { litBand } from "./distance-marks";
import { svg } from "./element";
import { rowReadout } from "./readouts";
import { table } from "./tables";

export interface ShiftPictureData {
  readonly difference: WeightDifference;
  readonly scheme: Scheme;
  readonly width: number;
  readonly words: Words;
  readonly onPoint: (point: Point | null) => void;
  readonly onMove: (by: number) => void;
}

interface ShiftLayout extends AxisLayout {
  readonly top: number;
  readonly y: ScaleLinear<number, number>;
}

const left = 46;
const top = 46;
const plotHeight = 220;
const axisRoom = 46;

function shiftLayout(rows: readonly ShiftRow[], width: number): ShiftLayout {
  const axisTop = top + plotHeight;
  // Never finer than this, or rounding would be shown as a change.
  const reach = (sign: number) => Math.max(0.005, ...rows.map(({ shift }) => sign * shift));
  return {
    ...acrossDistances(rows, width, left),
    ...{ height: axisTop + axisRoom, top, axisTop },
    y: scaleLinear([-reach(-1), reach(1)], [axisTop, top]).nice(4),
  };
}

/** Mean weight gained or lost at each signed distance, as bars up and down. */
export function shiftPicture(data: ShiftPictureData): Element {
  const { difference, scheme, words } = data;
  const rows = shiftProfile(difference);
  const layout = shiftLayout(rows, data.width);
  const { x, y, band } = layout;
  const { layer, head } = difference.before;
  const colors = differenceRamp(scheme);
  const [less, more] = [0.12, 0.88].map((share) => css(rampColor(colors, share)));
  const barWidth = Math.max(1, band * 0.78);
  const bars = rows.map(({ distance, shift, isThin }) =>
    svg("rect", {
      class: isThin ? "bar thin" : "bar",
      "data-distance": distance,
      x: x(distance) - barWidth / 2,
      y: Math.min(y(0), y(shift)),
      width: barWidth,
      height: Math.abs(y(shift) - y(0)),
      fill: shift < 0 ? less : more,
    }),
  );
  return distanceChart(
    { ...data, name: "shift", label: words.change.shiftLabel(layer, head), rows, layout },
    panelTitle(layout, top, words.change.meanShift),
    valueGrid(layout, y, "+"),
    ...bars,
    distanceAxis(layout, null, words),
  );
}

export interface ShiftMarksData {
  readonly difference: WeightDifference;
  readonly width: number;
  readonly point: Point | null;
}

/** The lit distance, laid over the chart. */
export function shiftMarks({ difference, width, point }: ShiftMarksData): Element {
  const layout = shiftLayout(shiftProfile(difference), width);
  return litBand(layout, layout.top, point);
}

export interface ShiftReadoutData {
  readonly difference: WeightDifference;
  readonly point: Point | null;
  readonly words: Words;
}

/** One distance: its pairs, and their mean weight before and after. */
export function shiftReadout({ difference, point, words }: ShiftReadoutData): Element {
  return rowReadout(shiftProfile(difference), point, words, ({ before, after, shift }) => [
    [words.change.weightBefore, number(before, 3)],
    [words.change.weightAfter, number(after, 3)],
    [words.change.difference, number(shift, 3, true)],
  ]);
}

export interface ShiftTableData {
  readonly difference: WeightDifference;
  readonly words: Words;
}

export function shiftTable({ difference, words }: ShiftTableData): Element {
  const { distance, pairs, change } = words;
  const rows = shiftProfile(difference).map((row) => [
    distanceText(row.distance),
    `${row.count}`,
    number(row.before, 4),
    number(row.after, 4),
    number(row.shift, 4, true),
  ]);
  const head = [distance, pairs, change.weightBefore, change.weightAfter, change.difference];
  return table(change.shiftTable, head, rows);
}
