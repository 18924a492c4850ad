// What the views call when something is done to them, made once: a view is drawn again when its data
// changes, and its callbacks are part of that.

import type { AttentionKind } from "relata";
import type { ModelSource } from "./catalogue";
import type { RelationChange } from "./change";
import type { PageEvent } from "./events";
import type { Figures, Format } from "./export/saver";
import type { MapView } from "./map-view";
import { forgetModels } from "./model-files";
import type { Method, SearchField } from "./search";
import { rememberLanguage } from "./settings";
import type { Figure, HeadOrder, Picture, Point, Quantity } from "./state";
import type { Translator } from "./translator";
import type { Language } from "./words";

export type Actions = ReturnType<typeof createActions>;

export function createActions(
  dispatch: (event: PageEvent) => void,
  translator: Translator,
  page: {
    load(source: ModelSource): void;
    retry(): void;
    showKind(kind: AttentionKind): void;
    redraw(graph: string): void;
    pickNode(node: number): void;
    translate(text: string): void;
    save(format: Format, figure: Figures): Promise<void>;
  },
) {
  return {
    onPick: (name: string) => page.load({ kind: "catalogue", name }),
    onRetry: () => page.retry(),
    onCancel: () => translator.cancel(),
    onBring: () => dispatch({ type: "bringingToggled" }),
    onFiles: (files: readonly File[]) => page.load({ kind: "files", files }),
    onAddress: (address: string) => page.load({ kind: "address", address }),
    onForget: () => void forgetModels(),
    onMethod: (method: Method) => dispatch({ type: "methodChosen", method }),
    onSearch: (name: SearchField, value: number | null) =>
      dispatch({ type: "searchChanged", name, value }),
    onChange: (change: Partial<RelationChange>) => dispatch({ type: "changeChosen", change }),
    onGraph: (text: string) => page.redraw(text),
    onNode: (node: number) => page.pickNode(node),
    onGuide: () => dispatch({ type: "guideToggled" }),
    onGuideToken: (token: number) => dispatch({ type: "guideTokenChosen", token }),
    onSave: (format: Format, figure: Figures) => void page.save(format, figure),
    onCopy: () => {
      void navigator.clipboard
        .writeText(location.href)
        .then(() => dispatch({ type: "linkCopied" }))
        // A browser that refuses still has the link beside the button.
        .catch(() => {});
    },
    onSubmit: (text: string) => page.translate(text),
    onStop: () => translator.stop(),
    onKind: (kind: AttentionKind) => page.showKind(kind),
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
