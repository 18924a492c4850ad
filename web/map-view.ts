// Which part of a map is on show: how much it is enlarged, and the cell in its upper left corner.

import type { AttentionTrace } from "relata";

export interface MapView {
  /** 1 shows the whole map. */
  readonly zoom: number;
  /** The cell at the upper left, in cells; fractions are parts of a cell. */
  readonly query: number;
  readonly key: number;
}

export const wholeMap: MapView = { zoom: 1, query: 0, key: 0 };

/** At least this many cells stay in view, so that there is something to see. */
const fewestCells = 4;

/** The view nearest to the one asked for that the map has. */
export function clampView(trace: AttentionTrace, { zoom, query, key }: MapView): MapView {
  const queries = trace.queryTokens.length;
  const keys = trace.keyTokens.length;
  const largest = Math.max(1, Math.min(queries, keys) / fewestCells);
  const kept = Math.min(largest, Math.max(1, zoom));
  const clamp = (at: number, count: number) => Math.min(count - count / kept, Math.max(0, at));
  return { zoom: kept, query: clamp(query, queries), key: clamp(key, keys) };
}

/** Enlarged by a factor; the place at `across`, `down` (shares of the map's sides) stays where it is. */
export function zoomed(
  trace: AttentionTrace,
  view: MapView,
  factor: number,
  across = 0.5,
  down = 0.5,
): MapView {
  const { zoom } = clampView(trace, { ...view, zoom: view.zoom * factor });
  const shift = 1 / view.zoom - 1 / zoom;
  return clampView(trace, {
    zoom,
    query: view.query + down * trace.queryTokens.length * shift,
    key: view.key + across * trace.keyTokens.length * shift,
  });
}

/** Moved by a number of cells. */
export function panned(
  trace: AttentionTrace,
  view: MapView,
  queries: number,
  keys: number,
): MapView {
  return clampView(trace, { ...view, query: view.query + queries, key: view.key + keys });
}

/** Moved no farther than needed for a cell to be in view. */
export function viewShowing(
  trace: AttentionTrace,
  view: MapView,
  cell: { readonly query: number; readonly key: number },
): MapView {
  const move = (from: number, count: number, at: number) =>
    Math.min(at, Math.max(at + 1 - count / view.zoom, from));
  return clampView(trace, {
    zoom: view.zoom,
    query: move(view.query, trace.queryTokens.length, cell.query),
    key: move(view.key, trace.keyTokens.length, cell.key),
  });
}
