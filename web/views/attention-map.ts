import type { MapView } from "../map-view";
import type { Words } from "../words";
import { type MapScaleData, mapScale } from "./map-scale";
import { type MapActions, pairMap } from "./pair-map";

export interface AttentionMapData extends MapScaleData, MapActions {
  readonly view: MapView;
  readonly words: Words;
  readonly width: number;
}

/** Query x key map of one head. */
export function attentionMap(data: AttentionMapData): Element {
  const { trace, quantity, words } = data;
  const { queryTokens, keyTokens, layer, head } = trace;
  return pairMap({
    ...data,
    ...{ id: "map-picture", readout: "map-readout", values: trace[quantity] },
    label: words.mapLabel(queryTokens.length, keyTokens.length, layer, head),
    scale: mapScale(data),
  });
}
