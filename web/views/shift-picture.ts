// How much weight a changed relation moves to, or from, each distance.

import { type ScaleLinear, scaleLinear } from "d3-scale";
import { type ShiftRow, shiftProfile, type WeightDifference } from "../difference";
import { css, differenceRamp, rampColor, type Scheme } from "../palette";
import { litDistance, type Point } from "../state";
import type { Words } from "../words";
import { distance as distanceText, number } from "../words/format";
import {
  type AxisLayout,
  distanceAxis,
  panelTitle,
  pointByDistance,
  valueGrid,
} from "./distance-axis";
import { litBand } from "./distance-marks";
import { html, svg } from "./element";
import { facts } from "./readouts";
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
  readonly width: number;
  readonly height: number;
  readonly top: number;
  readonly y: ScaleLinear<number, number>;
}

const left = 46;
const rightPad = 8;
const top = 46;
const plotHeight = 220;
const axisRoom = 46;

function shiftLayout(rows: readonly ShiftRow[], width: number): ShiftLayout {
  const first = rows[0]?.distance ?? 0;
  const last = rows.at(-1)?.distance ?? 0;
  const right = Math.max(left + 1, width - rightPad);
  const axisTop = top + plotHeight;
  // Never finer than this, or rounding would be shown as a change.
  const reach = (sign: number) => Math.max(0.005, ...rows.map(({ shift }) => sign * shift));
  return {
    ...{ width, height: axisTop + axisRoom, top, left, right, axisTop },
    x: scaleLinear([first - 0.5, last + 0.5], [left, right]),
    band: (right - left) / (last - first + 1),
    y: scaleLinear([-reach(-1), reach(1)], [axisTop, top]).nice(4),
  };
}

/** Mean weight gained or lost at each signed distance, as bars up and down. */
export function shiftPicture(data: ShiftPictureData): Element {
  const { difference, scheme, words } = data;
  const rows = shiftProfile(difference);
  const layout = shiftLayout(rows, data.width);
  const { x, y, band, width, height } = layout;
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
  const picture = html(
    "div",
    {
      id: "shift-picture",
      class: "picture",
      tabindex: 0,
      role: "application",
      "aria-roledescription": words.chartRole,
      "aria-label": words.change.shiftLabel(layer, head),
      "aria-describedby": "shift-readout",
    },
    svg(
      "svg",
      { width, height, "aria-hidden": "true" },
      panelTitle(layout, top, words.change.meanShift),
      valueGrid(layout, y, "+"),
      ...bars,
      distanceAxis(layout, null, words),
    ),
  );
  pointByDistance(picture, x, rows, data);
  return picture;
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
  const lit = litDistance(point);
  const row = shiftProfile(difference).find(({ distance }) => distance === lit);
  if (!row) return html("p", { class: "hint" }, words.profileHint);
  return facts([
    [words.distance, distanceText(row.distance)],
    [words.pairs, `${row.count}`],
    [words.change.weightBefore, number(row.before, 3)],
    [words.change.weightAfter, number(row.after, 3)],
    [words.change.difference, number(row.shift, 3, true)],
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
