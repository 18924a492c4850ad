// The one function that changes the state. Events in, a new state out.

import type { AttentionTrace, ModelInfo } from "relata";
import { farthest, noChange, offeredSwitches, type RelationChange } from "./change";
import { hasCell } from "./distance";
import type { PageEvent } from "./events";
import { clampView, type MapView, panned, viewShowing, wholeMap, zoomed } from "./map-view";
import { defaultSearch, searchOf, withField } from "./search";
import {
  currentTrace,
  layersOf,
  litDistance,
  noAltered,
  noTranslation,
  numLayers,
  type Point,
  type State,
  startedLoad,
  type Translation,
} from "./state";

const pending = "pending" as const;

/** What a change of the pictures' tokens takes back. */
const unpointed = { point: null, mapView: wholeMap, token: 0 } as const;

export function update(state: State, event: PageEvent): State {
  const changed = changedBy(state, event);
  // What was copied is the link to what was on show then.
  // A change in one place is another one when the place is.
  const isElsewhere = changed.layer !== state.layer || changed.head !== state.head;
  const altered =
    isElsewhere && changed.change.scope !== "everywhere" ? noAltered : changed.altered;
  const isCopied = event.type === "linkCopied" || (changed.isCopied && event.type === "pointed");
  return { ...changed, altered, isCopied };
}

/** A change as far as this model can be changed so: a link may ask for another. */
function offered(change: RelationChange, info: ModelInfo): RelationChange {
  if (change.name === "trained") return change;
  if (!offeredSwitches(info).includes(change.name)) return noChange;
  return { ...change, clip: clamp(change.clip, 0, farthest(info)) };
}

function changedBy(state: State, event: PageEvent): State {
  const { translation } = state;
  switch (event.type) {
    case "schemeChanged":
      return { ...state, scheme: event.scheme };
    case "resized":
      return { ...state, width: event.width };
    case "loadStarted":
      return {
        ...state,
        source: event.source,
        load: startedLoad,
        isBringing: false,
        search: event.source === state.source ? state.search : defaultSearch,
        translation: noTranslation,
        sequences: [],
        traces: [],
        summaries: new Map(),
        guide: { ...state.guide, token: 0, layer: null },
        change: event.source === state.source ? state.change : noChange,
        altered: noAltered,
        ...unpointed,
      };
    case "loadProgressed":
      return {
        ...state,
        load: { status: "loading", phase: event.phase, progress: event.progress },
      };
    case "loadStopped":
      return { ...state, load: { status: "stopped" } };
    case "bringingToggled":
      return { ...state, isBringing: !state.isBringing };
    case "loadFinished":
      return {
        ...state,
        load: { status: "ready", info: event.info, threads: event.threads },
        // Another model, or a link, may name what this model has not.
        layer: clamp(state.layer, 0, layersOf(event.info, state.kind) - 1),
        head: clamp(state.head, 0, event.info.numHeads - 1),
        change: offered(state.change, event.info),
        // Options that came with the address stay.
        search: state.search === defaultSearch ? searchOf(event.info) : state.search,
      };
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
      const { text, finishReason, stats, trace, sequences } = event.result;
      const done: Translation = {
        status: "done",
        ...{ text, finishReason, tokens: stats.newTokens, ms: stats.decodeMs },
      };
      const guide = { ...state.guide, token: 0, layer: state.guide.isOpen ? pending : null };
      return {
        ...{
          ...state,
          translation: done,
          sequences,
          traces: trace,
          summaries: new Map(),
          guide,
          altered: noAltered,
        },
        ...unpointed,
      };
    }
    case "translationStopped":
      return { ...state, translation: { ...translation, status: "stopped" } };
    case "translationFailed":
      return {
        ...state,
        translation: { ...translation, status: "failed", failure: event.failure },
      };
    case "methodChosen":
      return { ...state, search: { ...state.search, method: event.method } };
    case "searchChanged":
      return { ...state, search: withField(state.search, event.name, event.value) };
    case "changeChosen": {
      const change = { ...state.change, ...event.change };
      return { ...state, change, altered: noAltered };
    }
    case "alteredStarted":
      return { ...state, altered: { ...noAltered, status: "running" } };
    case "alteredFinished":
      return { ...state, altered: { status: "done", text: event.text, traces: event.traces } };
    case "alteredFailed":
      return { ...state, altered: { status: "failed", failure: event.failure } };
    case "graphChanged":
      return { ...state, graph: { text: event.text, picked: null } };
    case "nodePicked":
      return { ...state, graph: { ...state.graph, picked: event.node } };
    case "linkCopied":
      return state;
    case "guideToggled": {
      const isOpen = !state.guide.isOpen;
      return { ...state, guide: { ...state.guide, isOpen, layer: isOpen ? pending : null } };
    }
    case "guideTokenChosen":
      return { ...state, guide: { ...state.guide, token: event.token } };
    case "guideArrived":
      return { ...state, guide: { ...state.guide, layer: event.layer } };
    case "kindChosen": {
      const layer = Math.min(state.layer, numLayers(state, event.kind) - 1);
      const keeps = state.quantity !== "relationScores" || event.kind !== "cross";
      const quantity = keeps ? state.quantity : "weights";
      return { ...state, kind: event.kind, layer, quantity, ...unpointed };
    }
    case "headPicked":
      return { ...state, layer: event.layer, head: event.head };
    case "orderChosen":
      return { ...state, order: event.order };
    case "pictureChosen":
      return { ...state, picture: event.picture, point: null };
    case "mapViewed":
      return withView(state, () => event.view);
    case "mapPanned":
      return withView(state, (trace, view) => panned(trace, view, event.queries, event.keys));
    case "mapZoomed":
      return withView(state, (trace, view) => zoomed(trace, view, event.factor));
    case "tokenChosen":
      return { ...state, token: clamp(event.token, 0, lastQuery(state)), point: null };
    case "summariesArrived":
      return { ...state, summaries: new Map([...state.summaries, ...event.summaries]) };
    case "languageChosen":
      return { ...state, language: event.language };
    case "layerChosen":
      return { ...state, layer: event.layer };
    case "headChosen":
      return { ...state, head: event.head };
    case "quantityChosen":
      return { ...state, quantity: event.quantity };
    case "pointed":
      return { ...state, point: event.point };
    case "cellMoved":
      return withCell(state, movedCell(state, event.queries, event.keys));
    case "distanceMoved":
      return { ...state, point: movedDistance(state, event.by) };
    case "tableToggled":
      return { ...state, tables: { ...state.tables, [event.figure]: !state.tables[event.figure] } };
  }
}

function withView(state: State, change: (trace: AttentionTrace, view: MapView) => MapView): State {
  const trace = currentTrace(state);
  if (!trace) return state;
  return { ...state, mapView: clampView(trace, change(trace, state.mapView)) };
}

/** A cursor that leaves the view takes the view along. */
function withCell(state: State, point: Point | null): State {
  const trace = currentTrace(state);
  if (!trace || point === null || !("query" in point)) return { ...state, point };
  return { ...state, point, mapView: viewShowing(trace, state.mapView, point) };
}

function lastQuery(state: State): number {
  return (currentTrace(state)?.queryTokens.length ?? 1) - 1;
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
