// A map of pairs of tokens, whatever its numbers are: rows look, columns are looked at.

import type { AttentionTrace } from "relata";
import { hasCell } from "../distance";
import { clampView, type MapView, zoomed } from "../map-view";
import type { Point } from "../state";
import type { Words } from "../words";
import { html, svg } from "./element";
import { inView, keyLabelAt, type MapLayout, mapLayout, queryLabelAt } from "./map-layout";
import type { MapScale } from "./map-scale";

/** What every map of pairs can do. */
export interface MapActions {
  readonly onPoint: (point: Point | null) => void;
  readonly onMove: (queries: number, keys: number) => void;
  readonly onView: (view: MapView) => void;
  readonly onPan: (queries: number, keys: number) => void;
  readonly onZoom: (factor: number) => void;
}

export interface PairMapData extends MapActions {
  readonly id: string;
  /** The element that tells the numbers of what is pointed at. */
  readonly readout: string;
  readonly label: string;
  /** Its tokens, and which pairs of them exist. */
  readonly trace: AttentionTrace;
  /** One of every pair, row-major; null leaves the map empty. */
  readonly values: Float32Array | null;
  readonly scale: MapScale;
  readonly view: MapView;
  readonly words: Words;
  readonly width: number;
}
const steps: Readonly<Record<string, readonly [queries: number, keys: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

const zoomKeys: Readonly<Record<string, number>> = { "+": 1.5, "=": 1.5, "-": 1 / 1.5, "0": 0 };

export function pairMap(data: PairMapData): Element {
  const { trace, view, words } = data;
  const layout = mapLayout(trace, data.width, view);
  const map = html(
    "div",
    {
      id: data.id,
      class: view.zoom > 1 ? "picture zoomed" : "picture",
      tabindex: 0,
      role: "application",
      "aria-roledescription": words.mapRole,
      "aria-label": data.label,
      "aria-describedby": data.readout,
    },
    cells(data, layout),
    labels(layout),
  );
  map.style.width = `${layout.width}px`;
  listen(map, data, layout);
  return map;
}

function listen(map: HTMLElement, data: PairMapData, layout: MapLayout): void {
  const { trace, view, onPoint, onMove, onView, onPan, onZoom } = data;
  const point = (event: PointerEvent) => onPoint(cellUnder(event, map, trace, layout));
  map.addEventListener("pointermove", point);
  map.addEventListener("pointerleave", () => onPoint(null));
  map.addEventListener("pointerdown", (event) => {
    point(event);
    if (view.zoom === 1 || event.button !== 0) return;
    event.preventDefault();
    map.focus({ preventScroll: true });
    // The map is drawn anew while it is dragged, so the window listens.
    const drag = ({ clientX, clientY }: PointerEvent) =>
      onView({
        ...view,
        query: view.query - (clientY - event.clientY) / layout.cell,
        key: view.key - (clientX - event.clientX) / layout.cell,
      });
    const ended = new AbortController();
    const { signal } = ended;
    window.addEventListener("pointermove", drag, { signal });
    for (const end of ["pointerup", "pointercancel"] as const)
      window.addEventListener(end, () => ended.abort(), { signal });
  });
  // With Ctrl, or as a pinch on a trackpad; the plain wheel stays the page's.
  map.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const box = map.getBoundingClientRect();
      const across = (event.clientX - box.left - layout.left) / layout.plotWidth;
      const down = (event.clientY - box.top - layout.top) / layout.plotHeight;
      onView(zoomed(trace, view, 2 ** (-event.deltaY / 200), across, down));
    },
    { passive: false },
  );
  map.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    const factor = event.ctrlKey || event.metaKey ? undefined : zoomKeys[event.key];
    if (step === undefined && factor === undefined) return;
    event.preventDefault();
    if (factor !== undefined) onZoom(factor);
    else if (step && event.shiftKey) onPan(...step);
    else if (step) onMove(...step);
  });
}

/** One pixel per pair, enlarged without smoothing, then ruled with gaps where there is room for them. */
function cells(data: PairMapData, layout: MapLayout): Element {
  const { trace } = data;
  const { cell, left, top, plotWidth, plotHeight, view } = layout;
  const { zoom, query: fromQuery, key: fromKey } = clampView(trace, view);
  const numQueries = trace.queryTokens.length;
  const numKeys = trace.keyTokens.length;
  const density = Math.max(1, Math.round(window.devicePixelRatio));
  const canvas = html("canvas", {
    width: Math.max(1, Math.round(plotWidth * density)),
    height: Math.max(1, Math.round(plotHeight * density)),
    "aria-hidden": "true",
  });
  canvas.style.width = `${plotWidth}px`;
  canvas.style.height = `${plotHeight}px`;
  canvas.style.marginLeft = `${left}px`;
  canvas.style.marginTop = `${top}px`;
  const context = canvas.getContext("2d");
  if (!context) return canvas;
  // Cells below a pixel are averaged, larger ones keep their edges.
  context.imageSmoothingEnabled = cell * density < 1;
  const source = [fromKey, fromQuery, numKeys / zoom, numQueries / zoom] as const;
  context.drawImage(pixels(data), ...source, 0, 0, canvas.width, canvas.height);
  if (cell < 8) return canvas;
  for (let key = Math.ceil(fromKey); key < numKeys; key += 1) {
    const x = Math.round((key - fromKey) * cell * density);
    if (x > 0) context.clearRect(x - 1, 0, density, canvas.height);
  }
  for (let query = Math.ceil(fromQuery); query < numQueries; query += 1) {
    const y = Math.round((query - fromQuery) * cell * density);
    if (y > 0) context.clearRect(0, y - 1, canvas.width, density);
  }
  return canvas;
}

function pixels({ trace, values, scale }: PairMapData): HTMLCanvasElement {
  const numQueries = trace.queryTokens.length;
  const numKeys = trace.keyTokens.length;
  const small = html("canvas", { width: numKeys, height: numQueries });
  const image = new ImageData(numKeys, numQueries);
  const { colors, share } = scale;
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
  const { width, height, fontSize, showsLabels, queryLabels, keyLabels, view } = layout;
  const root = svg("svg", {
    class: "labels",
    width,
    height,
    "aria-hidden": "true",
    "font-size": fontSize,
  });
  if (!showsLabels) return root;
  const label = (side: "query" | "key", transform: string, text: string | undefined) =>
    root.append(svg("text", { class: side, transform, dy: "0.35em" }, text));
  for (const query of inView(queryLabels.length, view.query, view.zoom))
    label("query", queryLabelAt(layout, query), queryLabels[query]);
  for (const key of inView(keyLabels.length, view.key, view.zoom))
    label("key", keyLabelAt(layout, key), keyLabels[key]);
  return root;
}

function cellUnder(
  event: PointerEvent,
  map: Element,
  trace: AttentionTrace,
  { left, top, cell, plotWidth, plotHeight, view }: MapLayout,
): Point | null {
  const box = map.getBoundingClientRect();
  const x = event.clientX - box.left - left;
  const y = event.clientY - box.top - top;
  if (x < 0 || y < 0 || x >= plotWidth || y >= plotHeight) return null;
  const key = Math.floor(view.key + x / cell);
  const query = Math.floor(view.query + y / cell);
  const isInside = key < trace.keyTokens.length && query < trace.queryTokens.length;
  return isInside && hasCell(trace, query, key) ? { query, key } : null;
}
