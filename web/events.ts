// What can happen to the page: by the visitor, by the model, by the window.

import type { AttentionKind, AttentionTrace, ModelInfo, RunResult, Step } from "relata";
import type { ModelSource } from "./catalogue";
import type { RelationChange } from "./change";
import type { HeadSummary } from "./distance";
import type { FirstLayer } from "./guide/first-layer";
import type { MapView } from "./map-view";
import type { Scheme } from "./palette";
import type { Method, SearchField } from "./search";
import type {
  Bytes,
  Failure,
  Figure,
  HeadOrder,
  LoadPhase,
  Picture,
  Point,
  Quantity,
} from "./state";
import type { Language } from "./words";

/** Summaries of heads, by head. */
export type Summaries = ReadonlyMap<AttentionTrace, HeadSummary>;

export type PageEvent =
  | { readonly type: "schemeChanged"; readonly scheme: Scheme }
  | { readonly type: "resized"; readonly width: number }
  | { readonly type: "loadStarted"; readonly source: ModelSource }
  | { readonly type: "loadStopped" }
  | { readonly type: "bringingToggled" }
  | { readonly type: "loadProgressed"; readonly phase: LoadPhase; readonly progress: Bytes }
  | { readonly type: "loadFinished"; readonly info: ModelInfo; readonly threads: number }
  | { readonly type: "loadFailed"; readonly failure: Failure }
  | { readonly type: "textChosen"; readonly text: string }
  | { readonly type: "translationStarted"; readonly text: string }
  | { readonly type: "stepArrived"; readonly step: Step; readonly ms: number }
  | { readonly type: "translationFinished"; readonly result: RunResult }
  | { readonly type: "translationStopped" }
  | { readonly type: "translationFailed"; readonly failure: Failure }
  | { readonly type: "methodChosen"; readonly method: Method }
  | { readonly type: "searchChanged"; readonly name: SearchField; readonly value: number | null }
  | { readonly type: "linkCopied" }
  | { readonly type: "graphChanged"; readonly text: string }
  | { readonly type: "nodePicked"; readonly node: number | null }
  | { readonly type: "changeChosen"; readonly change: Partial<RelationChange> }
  | { readonly type: "alteredStarted" }
  | {
      readonly type: "alteredFinished";
      readonly text: string;
      readonly traces: readonly AttentionTrace[];
    }
  | { readonly type: "alteredFailed"; readonly failure: Failure }
  | { readonly type: "guideToggled" }
  | { readonly type: "guideTokenChosen"; readonly token: number }
  | { readonly type: "guideArrived"; readonly layer: FirstLayer | null }
  | { readonly type: "kindChosen"; readonly kind: AttentionKind }
  | { readonly type: "layerChosen"; readonly layer: number }
  | { readonly type: "headChosen"; readonly head: number }
  | { readonly type: "quantityChosen"; readonly quantity: Quantity }
  | { readonly type: "headPicked"; readonly layer: number; readonly head: number }
  | { readonly type: "orderChosen"; readonly order: HeadOrder }
  | { readonly type: "pictureChosen"; readonly picture: Picture }
  | { readonly type: "mapViewed"; readonly view: MapView }
  | { readonly type: "mapPanned"; readonly queries: number; readonly keys: number }
  | { readonly type: "mapZoomed"; readonly factor: number }
  | { readonly type: "tokenChosen"; readonly token: number }
  | { readonly type: "summariesArrived"; readonly summaries: Summaries }
  | { readonly type: "languageChosen"; readonly language: Language }
  | { readonly type: "pointed"; readonly point: Point | null }
  | { readonly type: "cellMoved"; readonly queries: number; readonly keys: number }
  | { readonly type: "distanceMoved"; readonly by: number }
  | { readonly type: "tableToggled"; readonly figure: Figure };
