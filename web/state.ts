// The page's one state. Views are drawn from it and never hold any of it.

import type {
  AttentionKind,
  AttentionTrace,
  ErrorCode,
  FinishReason,
  ModelInfo,
  Progress,
} from "relata";
import { catalogue } from "./catalogue";
import type { Summaries } from "./events";
import { type MapView, wholeMap } from "./map-view";
import type { Scheme } from "./palette";
import type { Language } from "./words";

/** What a failure says: a code of the package, or "unknown" for anything else, and the place. */
export interface Failure {
  readonly code: ErrorCode | "unknown";
  readonly where: string;
}

export type Load =
  | { readonly status: "loading"; readonly progress: Progress | null }
  | { readonly status: "ready"; readonly info: ModelInfo }
  | { readonly status: "failed"; readonly failure: Failure };

export type Translation = {
  readonly text: string;
  readonly tokens: number;
  readonly ms: number;
} & (
  | { readonly status: "none" | "running" | "stopped" | "empty" }
  | { readonly status: "done"; readonly finishReason: FinishReason }
  | { readonly status: "failed"; readonly failure: Failure }
);

/** Which numbers of a head the map shows. */
export type Quantity = "weights" | "contentScores" | "relationScores";

/** What is pointed at, by pointer or keyboard: one cell, or a whole diagonal. */
export type Point =
  | { readonly query: number; readonly key: number }
  | { readonly distance: number };

export type Figure = "map" | "profile";

/** How one head's pairs are drawn. */
export type Picture = "map" | "arcs";

/** How the overview is ordered: as in the model, or by what the heads do. */
export type HeadOrder = "layers" | "direction" | "explained";

export interface State {
  readonly language: Language;
  readonly scheme: Scheme;
  /** Width of one figure in CSS pixels. */
  readonly width: number;
  readonly modelName: string;
  readonly load: Load;
  readonly text: string;
  readonly translation: Translation;
  /** Every attention of the last finished translation. */
  readonly traces: readonly AttentionTrace[];
  /** Of the traces, as far as they are summed up. */
  readonly summaries: Summaries;
  readonly order: HeadOrder;
  readonly kind: AttentionKind;
  readonly layer: number;
  readonly head: number;
  readonly quantity: Quantity;
  readonly picture: Picture;
  readonly mapView: MapView;
  /** The query token whose arcs are drawn. */
  readonly token: number;
  readonly point: Point | null;
  readonly tables: Readonly<Record<Figure, boolean>>;
}

export const noTranslation: Translation = { status: "none", text: "", tokens: 0, ms: 0 };

export function initialState(scheme: Scheme, width: number, language: Language = "en"): State {
  const [entry] = catalogue;
  return {
    language,
    scheme,
    width,
    modelName: entry.name,
    load: { status: "loading", progress: null },
    text: entry.examples[0] ?? "",
    translation: noTranslation,
    traces: [],
    summaries: new Map(),
    order: "layers",
    kind: "encoder_self",
    layer: 0,
    head: 0,
    quantity: "weights",
    picture: "map",
    mapView: wholeMap,
    token: 0,
    point: null,
    tables: { map: false, profile: false },
  };
}

/** The attention on show, or null before the first. */
export function currentTrace({ traces, kind, layer, head }: State): AttentionTrace | null {
  return (
    traces.find((trace) => trace.kind === kind && trace.layer === layer && trace.head === head) ??
    null
  );
}

/** The distance that is lit in both pictures. */
export function litDistance(point: Point | null): number | null {
  if (point === null) return null;
  return "distance" in point ? point.distance : point.key - point.query;
}

export function numLayers(state: State, kind: AttentionKind): number {
  if (state.load.status !== "ready") return 1;
  const { numEncoderLayers, numDecoderLayers } = state.load.info;
  return kind === "encoder_self" ? numEncoderLayers : numDecoderLayers;
}
