import type { AttentionTrace } from "relata";
import { hasCell } from "../distance";
import { litDistance, type Point } from "../state";
import { svg } from "./element";
import { keyLabelAt, type MapLayout, mapLayout, queryLabelAt } from "./map-layout";

export interface MapMarksData {
  readonly trace: AttentionTrace;
  readonly width: number;
  readonly point: Point | null;
}

/** What is pointed at, laid over the map: a cell with its two tokens, or a diagonal with the rest dimmed. */
export function mapMarks({ trace, width, point }: MapMarksData): Element {
  const layout = mapLayout(trace, width);
  const root = svg("svg", {
    class: "marks",
    width: layout.width,
    height: layout.height,
    "font-size": layout.fontSize,
    "aria-hidden": "true",
  });
  const distance = litDistance(point);
  if (point === null || distance === null) return root;
  const { left, top, cell } = layout;
  const diagonal: Element[] = [];
  let holes = "";
  for (let query = 0; query < trace.queryTokens.length; query += 1) {
    const key = query + distance;
    if (key < 0 || key >= trace.keyTokens.length || !hasCell(trace, query, key)) continue;
    const [x, y] = [left + cell * key, top + cell * query];
    holes += `M${x} ${y}h${cell}v${cell}h${-cell}z`;
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
    const around = `M${left} ${top}h${cell * trace.keyTokens.length}V${layout.height}H${left}z`;
    root.append(svg("path", { class: "veil", "fill-rule": "evenodd", d: around + holes }));
  }
  root.append(...diagonal);
  if ("query" in point) root.append(...cellMarks(layout, point));
  return root;
}

function cellMarks(layout: MapLayout, { query, key }: { query: number; key: number }): Element[] {
  const { left, top, cell, queryLabels, keyLabels } = layout;
  const size = { width: cell, height: cell };
  return [
    svg("rect", { class: "cursor", x: left + cell * key, y: top + cell * query, ...size }),
    svg(
      "text",
      { class: "query", transform: queryLabelAt(layout, query), dy: "0.35em" },
      queryLabels[query],
    ),
    svg("text", { class: "key", transform: keyLabelAt(layout, key), dy: "0.35em" }, keyLabels[key]),
  ];
}
