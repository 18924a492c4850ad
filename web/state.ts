// The page's one state, and the one function that changes it. Events in, a new state out; views are
// drawn from the state and never hold any of it.

import type {
  AttentionKind,
  AttentionTrace,
  ErrorCode,
  FinishReason,
  ModelInfo,
  Progress,
  RunResult,
  Step,
} from "relata";
import { catalogue } from "./catalogue";
import { hasCell } from "./distance";
import type { Scheme } from "./palette";

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

export interface State {
  readonly scheme: Scheme;
  /** Width of one figure in CSS pixels. */
  readonly width: number;
  readonly modelName: string;
  readonly load: Load;
  readonly text: string;
  readonly translation: Translation;
  /** Every attention of the last finished translation. */
  readonly traces: readonly AttentionTrace[];
  readonly kind: AttentionKind;
  readonly layer: number;
  readonly head: number;
  readonly quantity: Quantity;
  readonly point: Point | null;
  readonly tables: Readonly<Record<Figure, boolean>>;
}

export type PageEvent =
  | { readonly type: "schemeChanged"; readonly scheme: Scheme }
  | { readonly type: "resized"; readonly width: number }
  | { readonly type: "loadStarted"; readonly modelName: string }
  | { readonly type: "loadProgressed"; readonly progress: Progress }
  | { readonly type: "loadFinished"; readonly info: ModelInfo }
  | { readonly type: "loadFailed"; readonly failure: Failure }
  | { readonly type: "textChosen"; readonly text: string }
  | { readonly type: "translationStarted"; readonly text: string }
  | { readonly type: "stepArrived"; readonly step: Step; readonly ms: number }
  | { readonly type: "translationFinished"; readonly result: RunResult }
  | { readonly type: "translationStopped" }
  | { readonly type: "translationFailed"; readonly failure: Failure }
  | { readonly type: "kindChosen"; readonly kind: AttentionKind }
  | { readonly type: "layerChosen"; readonly layer: number }
  | { readonly type: "headChosen"; readonly head: number }
  | { readonly type: "quantityChosen"; readonly quantity: Quantity }
  | { readonly type: "pointed"; readonly point: Point | null }
  | { readonly type: "cellMoved"; readonly queries: number; readonly keys: number }
  | { readonly type: "distanceMoved"; readonly by: number }
  | { readonly type: "tableToggled"; readonly figure: Figure };

const noTranslation: Translation = { status: "none", text: "", tokens: 0, ms: 0 };

export function initialState(scheme: Scheme, width: number): State {
  const [entry] = catalogue;
  return {
    scheme,
    width,
    modelName: entry.name,
    load: { status: "loading", progress: null },
    text: entry.examples[0] ?? "",
    translation: noTranslation,
    traces: [],
    kind: "encoder_self",
    layer: 0,
    head: 0,
    quantity: "weights",
    point: null,
    tables: { map: false, profile: false },
  };
}

export function update(state: State, event: PageEvent): State {
  const { translation } = state;
  switch (event.type) {
    case "schemeChanged":
      return { ...state, scheme: event.scheme };
    case "resized":
      return { ...state, width: event.width };
    case "loadStarted":
      return {
        ...state,
        modelName: event.modelName,
        load: { status: "loading", progress: null },
        translation: noTranslation,
        traces: [],
        point: null,
      };
    case "loadProgressed":
      return { ...state, load: { status: "loading", progress: event.progress } };
    case "loadFinished":
      return { ...state, load: { status: "ready", info: event.info } };
    case "loadFailed":
      return { ...state, load: { status: "failed", failure: event.failure } };
    case "textChosen":
      return { ...state, text: event.text };
    case "translationStarted": {
      const status = event.text.trim() === "" ? "empty" : "running";
      return { ...state, text: event.text, translation: { ...noTranslation, status } };
    }
    case "stepArrived":
      return {
        ...state,
        translation: {
          status: "running",
          text: translation.text + event.step.text,
          tokens: translation.tokens + 1,
          ms: event.ms,
        },
      };
    case "translationFinished": {
      const { text, finishReason, stats, trace } = event.result;
      const done: Translation = {
        status: "done",
        ...{ text, finishReason, tokens: stats.newTokens, ms: stats.decodeMs },
      };
      return { ...state, translation: done, traces: trace, point: null };
    }
    case "translationStopped":
      return { ...state, translation: { ...translation, status: "stopped" } };
    case "translationFailed":
      return {
        ...state,
        translation: { ...translation, status: "failed", failure: event.failure },
      };
    case "kindChosen": {
      const layer = Math.min(state.layer, numLayers(state, event.kind) - 1);
      const keeps = state.quantity !== "relationScores" || event.kind !== "cross";
      const quantity = keeps ? state.quantity : "weights";
      return { ...state, kind: event.kind, layer, quantity, point: null };
    }
    case "layerChosen":
      return { ...state, layer: event.layer };
    case "headChosen":
      return { ...state, head: event.head };
    case "quantityChosen":
      return { ...state, quantity: event.quantity };
    case "pointed":
      return { ...state, point: event.point };
    case "cellMoved":
      return { ...state, point: movedCell(state, event.queries, event.keys) };
    case "distanceMoved":
      return { ...state, point: movedDistance(state, event.by) };
    case "tableToggled":
      return { ...state, tables: { ...state.tables, [event.figure]: !state.tables[event.figure] } };
  }
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

/** The cursor's next cell; it stays on the grid, and in a decoder on the keys that exist. */
function movedCell(state: State, queries: number, keys: number): Point | null {
  const trace = currentTrace(state);
  if (!trace) return null;
  const { point } = state;
  if (point === null) return { query: 0, key: 0 };
  const from = "distance" in point ? firstCell(point.distance) : point;
  const query = clamp(from.query + queries, 0, trace.queryTokens.length - 1);
  const key = clamp(from.key + keys, 0, trace.keyTokens.length - 1);
  return hasCell(trace, query, key) ? { query, key } : { query, key: query };
}

function movedDistance(state: State, by: number): Point | null {
  const trace = currentTrace(state);
  if (!trace) return null;
  const last = trace.kind === "decoder_self" ? 0 : trace.keyTokens.length - 1;
  const lit = litDistance(state.point);
  return { distance: lit === null ? 0 : clamp(lit + by, 1 - trace.queryTokens.length, last) };
}

/** The uppermost cell of a diagonal. */
function firstCell(distance: number): { query: number; key: number } {
  return { query: Math.max(0, -distance), key: Math.max(0, distance) };
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
