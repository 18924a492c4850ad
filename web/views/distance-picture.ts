import type { AttentionTrace, RelationInfo } from "relata";
import { type DistanceRow, distanceProfile, isThin } from "../distance";
import { headColor, type Scheme } from "../palette";
import type { Point } from "../state";
import type { Words } from "../words";
import { distanceAxis, distanceChart, panelTitle, valueGrid } from "./distance-axis";
import { svg } from "./element";
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

/** One head by signed distance: mean weight as bars, and below them what the relation adds. */
export function distancePicture(data: DistancePictureData): Element {
  const { trace, words } = data;
  const rows = distanceProfile(trace);
  const layout = profileLayout(rows, data.width);
  const color = headColor(trace.head, data.numHeads, data.scheme);
  return distanceChart(
    { ...data, name: "profile", label: words.profileLabel(trace.layer, trace.head), rows, layout },
    weightPanel(rows, layout, color, words),
    trace.relationScores ? relationPanel(rows, layout, words) : emptyPanel(layout, trace, words),
    distanceAxis(layout, data.relation, words),
  );
}

function weightPanel(
  rows: readonly DistanceRow[],
  layout: ProfileLayout,
  fill: string,
  words: Words,
): Element {
  const { x, weight, band } = layout;
  const barWidth = Math.max(1, band * 0.78);
  const titled = panelTitle(layout, weight.range()[1] ?? 0, words.meanWeight);
  if (band < smallestBand) {
    // Too narrow to tell one from the next: an outline says the same with one element.
    const outline = rows.map(
      (row) => `${x(row.distance - 0.5)} ${weight(row.meanWeight)}H${x(row.distance + 0.5)}`,
    );
    const base = weight(0);
    const d = `M${layout.left} ${base}L${outline.join("L")}V${base}z`;
    return svg(
      "g",
      {},
      titled,
      valueGrid(layout, weight, ""),
      svg("path", { class: "bars", d, fill }),
    );
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
  return svg("g", {}, titled, valueGrid(layout, weight, ""), ...bars);
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
    panelTitle(layout, y.range()[1] ?? 0, words.relationScore),
    valueGrid(layout, y, "+"),
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
