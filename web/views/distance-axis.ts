// What charts over distances share: their frame, titles, rules, and the axis of distances.

import { type ScaleLinear, scaleLinear } from "d3-scale";
import type { RelationInfo } from "relata";
import { relationRanges } from "../distance";
import type { Point } from "../state";
import type { Words } from "../words";
import { distance as distanceText } from "../words/format";
import { html, svg } from "./element";

/** All in CSS pixels. */
export interface AxisLayout {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly right: number;
  readonly x: ScaleLinear<number, number>;
  /** Width of one distance. */
  readonly band: number;
  readonly axisTop: number;
}

/** Something about each distance, ascending. */
type Rows = readonly { readonly distance: number }[];

const rightPad = 8;

/** Where the distances of at least one row stand, from `left` on, in a chart `width` wide. */
export function acrossDistances(
  rows: Rows,
  width: number,
  left: number,
): Pick<AxisLayout, "width" | "left" | "right" | "x" | "band"> {
  const [first, last] = [rows[0]?.distance ?? 0, rows.at(-1)?.distance ?? 0];
  const right = Math.max(left + 1, width - rightPad);
  const x = scaleLinear([first - 0.5, last + 0.5], [left, right]);
  return { width, left, right, x, band: (right - left) / (last - first + 1) };
}

export interface DistanceChartData {
  /** Of the chart's id and of its readout's. */
  readonly name: string;
  readonly label: string;
  readonly rows: Rows;
  readonly layout: AxisLayout;
  readonly words: Words;
  readonly onPoint: (point: Point | null) => void;
  readonly onMove: (by: number) => void;
}

/** A chart of these parts that is pointed at, or moved over by keys, distance by distance. */
export function distanceChart(data: DistanceChartData, ...parts: readonly Element[]): Element {
  const { name, label, layout, words } = data;
  const { width, height } = layout;
  const picture = html(
    "div",
    {
      id: `${name}-picture`,
      class: "picture",
      tabindex: 0,
      role: "application",
      "aria-roledescription": words.chartRole,
      "aria-label": label,
      "aria-describedby": `${name}-readout`,
    },
    svg("svg", { width, height, "aria-hidden": "true" }, ...parts),
  );
  pointByDistance(picture, data);
  return picture;
}

/** How far a key moves over the distances. */
const distanceKeys: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageUp: -5,
  PageDown: 5,
};

/** Tells which distance of a chart is pointed at, or moved to by keys. */
function pointByDistance(
  picture: HTMLElement,
  { rows, layout: { x }, onPoint, onMove }: DistanceChartData,
): void {
  const [first, last] = [rows[0]?.distance ?? 0, rows.at(-1)?.distance ?? 0];
  const point = (event: PointerEvent) => {
    const distance = Math.round(x.invert(event.clientX - picture.getBoundingClientRect().left));
    onPoint(distance >= first && distance <= last ? { distance } : null);
  };
  picture.addEventListener("pointermove", point);
  picture.addEventListener("pointerdown", point);
  picture.addEventListener("pointerleave", () => onPoint(null));
  picture.addEventListener("keydown", (event) => {
    const by = distanceKeys[event.key];
    if (by === undefined) return;
    event.preventDefault();
    onMove(by);
  });
}

/** What a panel shows, above it. */
export function panelTitle({ left }: AxisLayout, top: number, text: string): Element {
  return svg("text", { class: "panel-title", x: left, y: top - 10 }, text);
}

/** Rules and numbers of a panel; with "+" both signs are written. */
export function valueGrid(
  { left, right }: AxisLayout,
  y: ScaleLinear<number, number>,
  sign: "+" | "",
): Element {
  const group = svg("g", { class: "grid" });
  const format = y.tickFormat(4, `${sign}f`);
  for (const tick of y.ticks(4)) {
    group.append(
      svg("line", {
        class: tick === 0 ? "zero" : "rule",
        x1: left,
        x2: right,
        y1: y(tick),
        y2: y(tick),
      }),
      svg("text", { x: left - 6, y: y(tick), dy: "0.32em" }, tick === 0 ? "0" : format(tick)),
    );
  }
  return group;
}

/** Distances, and under them the runs of distances the model cannot tell apart. */
export function distanceAxis(
  { left, right, x, band, axisTop }: AxisLayout,
  relation: RelationInfo | null,
  words: Words,
): Element {
  const group = svg("g", { class: "axis" });
  for (const tick of x
    .ticks(Math.max(3, Math.round((right - left) / 60)))
    .filter(Number.isInteger)) {
    group.append(
      svg("line", { class: "tick", x1: x(tick), x2: x(tick), y1: axisTop, y2: axisTop + 4 }),
      svg("text", { x: x(tick), y: axisTop + 17 }, distanceText(tick)),
    );
  }
  const [first, last] = x.domain().map((edge, side) => (side === 0 ? edge + 0.5 : edge - 0.5)) as [
    number,
    number,
  ];
  const clipped = relation
    ? relationRanges(relation, first, last).filter(({ from, to }) => from < to)
    : [];
  for (const range of clipped) {
    const [from, to] = [x(range.from) - band * 0.4, x(range.to) + band * 0.4];
    const isFirst = range.from <= (relation?.firstDistance ?? 0);
    const isLast = range.to >= (relation?.firstDistance ?? 0) + (relation?.ids.length ?? 0) - 1;
    const label = svg(
      "text",
      { class: "range-label", x: (from + to) / 2, y: axisTop + 40 },
      words.rangeLabel(range, isFirst, isLast),
    );
    group.append(svg("path", { class: "range", d: `M${from} ${axisTop + 22}v5H${to}v-5` }));
    if (to - from > 44) group.append(label);
  }
  if (clipped.length === 0) {
    group.append(
      svg("text", { class: "side start", x: left, y: axisTop + 38 }, words.earlier),
      ...(last > 0
        ? [svg("text", { class: "side end", x: right, y: axisTop + 38 }, words.later)]
        : []),
    );
  }
  return group;
}
