// The page's one state. Views are drawn from it and never hold any of it.

import type {
  AttentionKind,
  AttentionTrace,
  ErrorCode,
  FinishReason,
  ModelInfo,
  Sequence,
} from "relata";
import { catalogue, type ModelSource } from "./catalogue";
import { noChange, type RelationChange } from "./change";
import { type WeightDifference, weightDifference } from "./difference";
import type { Summaries } from "./events";
import type { FirstLayer } from "./guide/first-layer";
import { type MapView, wholeMap } from "./map-view";
import type { Scheme } from "./palette";
import { defaultSearch, type SearchChoice } from "./search";
import type { Language } from "./words";

/** What a failure says: a code of the package, or "unknown" for anything else, and the place. */
export interface Failure {
  readonly code: ErrorCode | "unknown";
  readonly where: string;
}

/** Where the bytes of a load come from: the network, this browser's cache, or files in hand. */
export type LoadPhase = "download" | "cache" | "read";

export interface Bytes {
  readonly loaded: number;
  readonly total: number;
}

export type Load =
  | { readonly status: "loading"; readonly phase: LoadPhase; readonly progress: Bytes | null }
  | { readonly status: "ready"; readonly info: ModelInfo; readonly threads: number }
  | { readonly status: "stopped" }
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

export type Figure = "overview" | "map" | "profile" | "difference" | "shift";

/** The five steps: open or not, the token they follow, and their tensors; null where those are not worked out. */
export interface Guide {
  readonly isOpen: boolean;
  readonly token: number;
  readonly layer: FirstLayer | "pending" | null;
}

/** What came of the same text with the relation changed; the traces are of the translation as trained, read once more. */
export type Altered =
  | {
      readonly status: "none" | "running" | "done";
      readonly text: string;
      readonly traces: readonly AttentionTrace[];
    }
  | { readonly status: "failed"; readonly failure: Failure };

/** How one head's pairs are drawn. */
export type Picture = "map" | "arcs";

/** How the overview is ordered: as in the model, or by what the heads do. */
export type HeadOrder = "layers" | "direction" | "explained";

export interface State {
  readonly language: Language;
  readonly scheme: Scheme;
  /** Width of one figure in CSS pixels. */
  readonly width: number;
  readonly source: ModelSource;
  readonly load: Load;
  /** Whether the form for a model of one's own is open. */
  readonly isBringing: boolean;
  readonly text: string;
  readonly search: SearchChoice;
  readonly translation: Translation;
  /** All the last search found, best first; empty before the first. */
  readonly sequences: readonly Sequence[];
  readonly guide: Guide;
  /** Of a model by labels: its edges, and the node picked first. */
  readonly graph: { readonly text: string; readonly picked: number | null };
  readonly change: RelationChange;
  readonly altered: Altered;
  /** Whether the link to the view on show has been copied. */
  readonly isCopied: boolean;
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

export const noAltered = { status: "none", text: "", traces: [] } as const satisfies Altered;

export const startedLoad: Load = { status: "loading", phase: "download", progress: null };

export const noTranslation: Translation = { status: "none", text: "", tokens: 0, ms: 0 };

export function initialState(scheme: Scheme, width: number, language: Language = "en"): State {
  const [entry] = catalogue;
  return {
    language,
    scheme,
    width,
    source: { kind: "catalogue", name: entry.name },
    load: startedLoad,
    isBringing: false,
    text: entry.examples[0] ?? "",
    search: defaultSearch,
    translation: noTranslation,
    sequences: [],
    guide: { isOpen: false, token: 0, layer: null },
    graph: { text: "", picked: null },
    change: noChange,
    altered: noAltered,
    isCopied: false,
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
    tables: { overview: false, map: false, profile: false, difference: false, shift: false },
  };
}

/** The attention on show, or null before the first. */
export function currentTrace({ traces, kind, layer, head }: State): AttentionTrace | null {
  return (
    traces.find((trace) => trace.kind === kind && trace.layer === layer && trace.head === head) ??
    null
  );
}

/** The head on show with the relation changed, beside itself as trained; null where nothing is changed. */
export function currentDifference(state: State): WeightDifference | null {
  const before = currentTrace(state);
  if (!before || state.altered.status !== "done") return null;
  const { kind, layer, head } = before;
  const after = state.altered.traces.find(
    (trace) => trace.kind === kind && trace.layer === layer && trace.head === head,
  );
  return after ? weightDifference(before, after) : null;
}

/** The distance that is lit in both pictures. */
export function litDistance(point: Point | null): number | null {
  if (point === null) return null;
  return "distance" in point ? point.distance : point.key - point.query;
}

export function numLayers(state: State, kind: AttentionKind): number {
  return state.load.status === "ready" ? layersOf(state.load.info, kind) : 1;
}

export function layersOf(info: ModelInfo, kind: AttentionKind): number {
  const { numEncoderLayers, numDecoderLayers } = info;
  return kind === "encoder_self" ? numEncoderLayers : numDecoderLayers;
}
