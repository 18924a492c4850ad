// What the views call when something is done to them, made once: a view is drawn again when its data
// changes, and its callbacks are part of that.

import type { AttentionKind } from "relata";
import type { PageEvent } from "./events";
import type { MapView } from "./map-view";
import { rememberLanguage } from "./settings";
import type { Figure, HeadOrder, Picture, Point, Quantity } from "./state";
import type { Translator } from "./translator";
import type { Language } from "./words";

export type Actions = ReturnType<typeof createActions>;

export function createActions(
  dispatch: (event: PageEvent) => void,
  translator: Translator,
  load: (modelName: string) => void,
) {
  return {
    onPick: load,
    onSubmit: (text: string) => void translator.translate(text),
    onStop: () => translator.stop(),
    onKind: (kind: AttentionKind) => dispatch({ type: "kindChosen", kind }),
    onOrder: (order: HeadOrder) => dispatch({ type: "orderChosen", order }),
    onPickHead: (layer: number, head: number) => dispatch({ type: "headPicked", layer, head }),
    onLayer: (layer: number) => dispatch({ type: "layerChosen", layer }),
    onHead: (head: number) => dispatch({ type: "headChosen", head }),
    onQuantity: (quantity: Quantity) => dispatch({ type: "quantityChosen", quantity }),
    onPicture: (picture: Picture) => dispatch({ type: "pictureChosen", picture }),
    onView: (view: MapView) => dispatch({ type: "mapViewed", view }),
    onPan: (queries: number, keys: number) => dispatch({ type: "mapPanned", queries, keys }),
    onZoom: (factor: number) => dispatch({ type: "mapZoomed", factor }),
    onToken: (token: number) => dispatch({ type: "tokenChosen", token }),
    onPoint: (point: Point | null) => dispatch({ type: "pointed", point }),
    onMoveCell: (queries: number, keys: number) => dispatch({ type: "cellMoved", queries, keys }),
    onMoveDistance: (by: number) => dispatch({ type: "distanceMoved", by }),
    onToggle: (figure: Figure) => dispatch({ type: "tableToggled", figure }),
    onLanguage: (language: Language) => {
      rememberLanguage(language);
      dispatch({ type: "languageChosen", language });
    },
  };
}
