import type { AttentionTrace } from "relata";
import { hasCell } from "../distance";
import type { MapView } from "../map-view";
import { litDistance, type Point } from "../state";
import { svg } from "./element";
import { cellAt, keyLabelAt, type MapLayout, mapLayout, queryLabelAt } from "./map-layout";

export interface MapMarksData {
  readonly trace: AttentionTrace;
  readonly view: MapView;
  readonly width: number;
  readonly point: Point | null;
}

/** Cells below this many pixels are lit all in one. */
const smallestLit = 4;

/** What is pointed at, laid over the map: a cell with its two tokens, or a diagonal with the rest dimmed. */
export function mapMarks({ trace, view, width, point }: MapMarksData): Element {
  const layout = mapLayout(trace, width, view);
  const root = svg("svg", {
    class: "marks",
    width: layout.width,
    height: layout.height,
    "font-size": layout.fontSize,
    "aria-hidden": "true",
  });
  const distance = litDistance(point);
  if (point === null || distance === null) return root;
  const { left, top, cell, plotWidth, plotHeight } = layout;
  // A frame that cuts off what lies beyond the view, a stroke's breadth larger than the map.
  const frame = { x: left - 1, y: top - 1, width: plotWidth + 2, height: plotHeight + 2 };
  const viewBox = Object.values(frame).join(" ");
  const plot = svg("svg", { class: "plot", ...frame, viewBox });
  const diagonal: Element[] = [];
  let holes = "";
  for (let query = 0; query < trace.queryTokens.length; query += 1) {
    const key = query + distance;
    if (key < 0 || key >= trace.keyTokens.length || !hasCell(trace, query, key)) continue;
    const { x, y } = cellAt(layout, query, key);
    if (x + cell < left || y + cell < top || x > left + plotWidth || y > top + plotHeight) continue;
    holes += `M${x} ${y}h${cell}v${cell}h${-cell}z`;
    if (cell < smallestLit) continue;
    diagonal.push(
      svg("rect", {
        class: "lit",
        x,
        y,
        width: cell,
        height: cell,
        "data-query": query,
        "data-key": key,
      }),
    );
  }
  if ("distance" in point) {
    const around = `M${left} ${top}h${plotWidth}v${plotHeight}h${-plotWidth}z`;
    plot.append(svg("path", { class: "veil", "fill-rule": "evenodd", d: around + holes }));
  }
  if (cell < smallestLit) plot.append(svg("path", { class: "lit small", d: holes }));
  plot.append(...diagonal);
  root.append(plot);
  if ("query" in point) root.append(...cellMarks(layout, point));
  return root;
}

function cellMarks(layout: MapLayout, { query, key }: { query: number; key: number }): Element[] {
  const { cell, queryLabels, keyLabels } = layout;
  return [
    svg("rect", { class: "cursor", ...cellAt(layout, query, key), width: cell, height: cell }),
    svg(
      "text",
      { class: "query", transform: queryLabelAt(layout, query), dy: "0.35em" },
      queryLabels[query],
    ),
    svg("text", { class: "key", transform: keyLabelAt(layout, key), dy: "0.35em" }, keyLabels[key]),
  ];
}
