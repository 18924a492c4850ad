import type { AttentionTrace, RelationInfo } from "relata";
import { type DistanceRow, distanceProfile, isThin, relationRanges } from "../distance";
import { headColor, type Scheme } from "../palette";
import type { Point } from "../state";
import type { Words } from "../words";
import { distance as distanceText } from "../words/format";
import { html, svg } from "./element";
import { type ProfileLayout, profileLayout } from "./profile-layout";

export interface DistancePictureData {
  readonly trace: AttentionTrace;
  /** Null for cross attention. */
  readonly relation: RelationInfo | null;
  readonly numHeads: number;
  readonly scheme: Scheme;
  readonly width: number;
  readonly words: Words;
  readonly onPoint: (point: Point | null) => void;
  readonly onMove: (by: number) => void;
}

/** Width of a distance, in CSS pixels, below which bars and dots become one shape. */
const smallestBand = 3;

const keySteps: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageUp: -5,
  PageDown: 5,
};

/** One head by signed distance: mean weight as bars, and below them what the relation adds. */
export function distancePicture(data: DistancePictureData): Element {
  const { trace, words, onPoint, onMove } = data;
  const rows = distanceProfile(trace);
  const layout = profileLayout(rows, data.width);
  const color = headColor(trace.head, data.numHeads, data.scheme);
  const picture = html(
    "div",
    {
      id: "profile-picture",
      class: "picture",
      tabindex: 0,
      role: "application",
      "aria-roledescription": words.chartRole,
      "aria-label": words.profileLabel(trace.layer, trace.head),
      "aria-describedby": "profile-readout",
    },
    svg(
      "svg",
      { width: layout.width, height: layout.height, "aria-hidden": "true" },
      weightPanel(rows, layout, color, words),
      trace.relationScores ? relationPanel(rows, layout, words) : emptyPanel(layout, trace, words),
      distanceAxis(layout, data.relation, words),
    ),
  );
  const [first, last] = [rows[0]?.distance ?? 0, rows.at(-1)?.distance ?? 0];
  const point = (event: PointerEvent) => {
    const distance = Math.round(
      layout.x.invert(event.clientX - picture.getBoundingClientRect().left),
    );
    onPoint(distance >= first && distance <= last ? { distance } : null);
  };
  picture.addEventListener("pointermove", point);
  picture.addEventListener("pointerdown", point);
  picture.addEventListener("pointerleave", () => onPoint(null));
  picture.addEventListener("keydown", (event) => {
    const by = keySteps[event.key];
    if (by === undefined) return;
    event.preventDefault();
    onMove(by);
  });
  return picture;
}

function weightPanel(
  rows: readonly DistanceRow[],
  layout: ProfileLayout,
  fill: string,
  words: Words,
): Element {
  const { x, weight, band } = layout;
  const barWidth = Math.max(1, band * 0.78);
  const titled = title(layout, weight.range()[1] ?? 0, words.meanWeight);
  if (band < smallestBand) {
    // Too narrow to tell one from the next: an outline says the same with one element.
    const outline = rows.map(
      (row) => `${x(row.distance - 0.5)} ${weight(row.meanWeight)}H${x(row.distance + 0.5)}`,
    );
    const base = weight(0);
    const d = `M${layout.left} ${base}L${outline.join("L")}V${base}z`;
    return svg("g", {}, titled, grid(layout, weight, ""), svg("path", { class: "bars", d, fill }));
  }
  const bars = rows.map((row) => {
    const { distance, meanWeight } = row;
    return svg("rect", {
      class: isThin(row) ? "bar thin" : "bar",
      "data-distance": distance,
      x: x(distance) - barWidth / 2,
      y: weight(meanWeight),
      width: barWidth,
      height: weight(0) - weight(meanWeight),
      fill,
    });
  });
  return svg("g", {}, titled, grid(layout, weight, ""), ...bars);
}

function relationPanel(rows: readonly DistanceRow[], layout: ProfileLayout, words: Words): Element {
  const { x, relation: y, band } = layout;
  const points = rows.flatMap(({ distance, relation }) =>
    relation ? [{ distance, ...relation }] : [],
  );
  const upper = points.map(({ distance, mean, spread }) => `${x(distance)} ${y(mean + spread)}`);
  const lower = points
    .map(({ distance, mean, spread }) => `${x(distance)} ${y(mean - spread)}`)
    .reverse();
  const line = points.map(({ distance, mean }) => `${x(distance)} ${y(mean)}`);
  const radius = Math.min(3, band / 4);
  return svg(
    "g",
    {},
    title(layout, y.range()[1] ?? 0, words.relationScore),
    grid(layout, y, "+"),
    svg("path", { class: "spread", d: `M${[...upper, ...lower].join("L")}Z` }),
    svg("path", { class: "relation", d: `M${line.join("L")}` }),
    ...(band < smallestBand ? [] : points).map(({ distance, mean }) =>
      svg("circle", {
        class: "relation-dot",
        "data-distance": distance,
        cx: x(distance),
        cy: y(mean),
        r: radius,
      }),
    ),
  );
}

/** Stands where the relation would, so that nothing below moves when the kind changes. */
function emptyPanel(
  { left, right, relation: y }: ProfileLayout,
  trace: AttentionTrace,
  words: Words,
): Element {
  const reason = trace.kind === "cross" ? words.noRelation.cross : words.noRelation.none;
  const [bottom, top] = y.range() as [number, number];
  return svg("text", { class: "absent", x: (left + right) / 2, y: (top + bottom) / 2 }, reason);
}

function title({ left }: ProfileLayout, top: number, text: string): Element {
  return svg("text", { class: "panel-title", x: left, y: top - 10 }, text);
}

function grid({ left, right }: ProfileLayout, y: ProfileLayout["weight"], sign: "+" | ""): Element {
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
function distanceAxis(
  { left, right, x, band, axisTop }: ProfileLayout,
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
