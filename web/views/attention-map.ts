import type { AttentionTrace } from "relata";
import { hasCell } from "../distance";
import type { Point } from "../state";
import { html, svg } from "./element";
import { keyLabelAt, type MapLayout, mapLayout, queryLabelAt } from "./map-layout";
import { type MapScaleData, mapScale } from "./map-scale";

export interface AttentionMapData extends MapScaleData {
  readonly width: number;
  readonly onPoint: (point: Point | null) => void;
  readonly onMove: (queries: number, keys: number) => void;
}

const steps: Readonly<Record<string, readonly [queries: number, keys: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Query x key map of one head: rows look, columns are looked at. */
export function attentionMap(data: AttentionMapData): Element {
  const { trace, onPoint, onMove } = data;
  const layout = mapLayout(trace, data.width);
  const map = html(
    "div",
    {
      id: "map-picture",
      class: "picture",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "map",
      "aria-label": `Attention of ${trace.queryTokens.length} tokens to ${trace.keyTokens.length}, layer ${trace.layer}, head ${trace.head}. Arrow keys move over the cells.`,
      "aria-describedby": "map-readout",
    },
    cells(data, layout),
    labels(layout),
  );
  map.style.width = `${layout.width}px`;
  const point = (event: PointerEvent) => onPoint(cellUnder(event, map, trace, layout));
  map.addEventListener("pointermove", point);
  map.addEventListener("pointerdown", point);
  map.addEventListener("pointerleave", () => onPoint(null));
  map.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    onMove(...step);
  });
  return map;
}

/** One pixel per pair, enlarged without smoothing, then ruled with gaps where there is room for them. */
function cells(data: AttentionMapData, layout: MapLayout): Element {
  const { trace } = data;
  const { cell, left, top } = layout;
  const numQueries = trace.queryTokens.length;
  const numKeys = trace.keyTokens.length;
  const density = Math.max(1, Math.round(window.devicePixelRatio));
  const canvas = html("canvas", {
    width: numKeys * cell * density,
    height: numQueries * cell * density,
    "aria-hidden": "true",
  });
  canvas.style.width = `${numKeys * cell}px`;
  canvas.style.height = `${numQueries * cell}px`;
  canvas.style.marginLeft = `${left}px`;
  canvas.style.marginTop = `${top}px`;
  const context = canvas.getContext("2d");
  if (!context) return canvas;
  context.imageSmoothingEnabled = false;
  context.drawImage(pixels(data), 0, 0, canvas.width, canvas.height);
  if (cell < 8) return canvas;
  for (let key = 1; key < numKeys; key += 1)
    context.clearRect(key * cell * density - 1, 0, density, canvas.height);
  for (let query = 1; query < numQueries; query += 1)
    context.clearRect(0, query * cell * density - 1, canvas.width, density);
  return canvas;
}

function pixels(data: MapScaleData): HTMLCanvasElement {
  const { trace, quantity } = data;
  const numQueries = trace.queryTokens.length;
  const numKeys = trace.keyTokens.length;
  const small = html("canvas", { width: numKeys, height: numQueries });
  const values = trace[quantity];
  const image = new ImageData(numKeys, numQueries);
  const { colors, share } = mapScale(data);
  for (let query = 0; query < numQueries; query += 1) {
    for (let key = 0; key < numKeys; key += 1) {
      if (values === null || !hasCell(trace, query, key)) continue;
      const at = query * numKeys + key;
      const color = 3 * Math.round(255 * share(values[at] as number));
      for (let part = 0; part < 3; part += 1)
        image.data[4 * at + part] = colors[color + part] as number;
      image.data[4 * at + 3] = 255;
    }
  }
  small.getContext("2d")?.putImageData(image, 0, 0);
  return small;
}

function labels(layout: MapLayout): Element {
  const { width, height, fontSize, showsLabels, queryLabels, keyLabels } = layout;
  const root = svg("svg", {
    class: "labels",
    width,
    height,
    "aria-hidden": "true",
    "font-size": fontSize,
  });
  if (!showsLabels) return root;
  queryLabels.forEach((label, query) => {
    root.append(
      svg("text", { class: "query", transform: queryLabelAt(layout, query), dy: "0.35em" }, label),
    );
  });
  keyLabels.forEach((label, key) => {
    root.append(
      svg("text", { class: "key", transform: keyLabelAt(layout, key), dy: "0.35em" }, label),
    );
  });
  return root;
}

function cellUnder(
  event: PointerEvent,
  map: Element,
  trace: AttentionTrace,
  { left, top, cell }: MapLayout,
): Point | null {
  const box = map.getBoundingClientRect();
  const key = Math.floor((event.clientX - box.left - left) / cell);
  const query = Math.floor((event.clientY - box.top - top) / cell);
  const isInside =
    key >= 0 && key < trace.keyTokens.length && query >= 0 && query < trace.queryTokens.length;
  return isInside && hasCell(trace, query, key) ? { query, key } : null;
}
