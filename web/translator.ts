// What the page asks of the package: load a model, translate a text, look into it. Everything that
// comes back is an event; the state decides what it means.

import {
  type AttentionKind,
  type LoadOptions,
  Model,
  type RelationInput,
  type RunOptions,
  type Source,
  type TensorValues,
  type TraceRequest,
} from "relata";
import { type ModelSource, modelAddress } from "./catalogue";
import type { PageEvent } from "./events";
import { labelMatrix, parseGraph } from "./graph";
import { fetchModel } from "./model-files";
import type { Failure, LoadPhase } from "./state";
import { threadsHere } from "./threads";
import { tracedKinds } from "./traced-kinds";

/** What of the view matters to a translation: the kind on show, and the edges of a graph. */
export interface View {
  readonly kind: AttentionKind;
  readonly graph: string;
}

export interface Translator {
  /** Loads a model in place of the one before. Resolves to whether it is there. */
  load(source: ModelSource): Promise<boolean>;
  /** Gives a load under way up. */
  cancel(): void;
  /** Translates, recording every attention; a translation under way is given up for this one. */
  translate(text: string, options: RunOptions, view: View): Promise<void>;
  /** Translates once more with the relation changed, and reads the translation there is, token by token, with it. */
  compare(
    text: string,
    written: readonly number[],
    options: RunOptions,
    relation: RelationInput,
    view: View,
  ): Promise<void>;
  /** Stops a translation under way. */
  stop(): void;
  /** A tensor of the model, by the name of the schema. Rejects where there is no model. */
  tensor(name: string, rows?: readonly number[]): Promise<TensorValues>;
}

export function createTranslator(
  baseUrl: string,
  dispatch: (event: PageEvent) => void,
): Translator {
  let model: Model | null = null;
  let loading = new AbortController();
  let running = new AbortController();
  let comparing = new AbortController();

  async function load(source: ModelSource): Promise<boolean> {
    loading.abort();
    running.abort();
    comparing.abort();
    const mine = new AbortController();
    loading = mine;
    const { signal } = mine;
    model?.dispose();
    model = null;
    dispatch({ type: "loadStarted", source });
    const watch = (phase: LoadPhase) => ({
      signal,
      onProgress: (progress: { loaded: number; total: number }) => {
        if (!signal.aborted) dispatch({ type: "loadProgressed", phase, progress });
      },
    });
    try {
      const address = modelAddress(source, baseUrl);
      const fetched = address && (await fetchModel(address, watch("download")));
      const given = source.kind === "files" ? source.files : fetched?.files;
      // Without files in hand the package fetches, and says what is missing.
      const phase = fetched?.fromCache ? "cache" : given ? "read" : "download";
      const { loaded, threads } = await loadThreaded(given ?? (address as URL), watch(phase));
      if (signal.aborted) {
        loaded.dispose();
        return false;
      }
      model = loaded;
      dispatch({ type: "loadFinished", info: loaded.info, threads });
      void fetched?.keep();
      return true;
    } catch (error) {
      if (loading !== mine) return false;
      if (signal.aborted) dispatch({ type: "loadStopped" });
      else dispatch({ type: "loadFailed", failure: failureOf(error) });
      return false;
    }
  }

  async function translate(text: string, options: RunOptions, view: View): Promise<void> {
    running.abort();
    const mine = new AbortController();
    running = mine;
    const { signal } = mine;
    if (!model) {
      dispatch({ type: "textChosen", text });
      return;
    }
    dispatch({ type: "translationStarted", text });
    if (text.trim() === "") return;
    try {
      const start = performance.now();
      const steps = model.generate(text, {
        ...options,
        ...(await seen(model, text, {}, view)),
        signal,
      });
      let next = await steps.next();
      for (; !next.done; next = await steps.next()) {
        dispatch({ type: "stepArrived", step: next.value, ms: performance.now() - start });
      }
      dispatch({ type: "translationFinished", result: next.value });
    } catch (error) {
      // A newer translation owns the page by now, and this one's end is no news.
      if (running !== mine) return;
      if (signal.aborted) dispatch({ type: "translationStopped" });
      else dispatch({ type: "translationFailed", failure: failureOf(error) });
    }
  }

  async function compare(
    text: string,
    written: readonly number[],
    options: RunOptions,
    change: RelationInput,
    view: View,
  ): Promise<void> {
    comparing.abort();
    const mine = new AbortController();
    comparing = mine;
    const { signal } = mine;
    if (!model) return;
    dispatch({ type: "alteredStarted" });
    try {
      const { trace, relation } = await seen(model, text, change, view);
      const result = await model.run(text, { ...options, relation, signal });
      // The same tokens as before, so that each weight has one to be compared with.
      const isRead = written.length > 0;
      const read = isRead && (await model.attend(text, written, { trace, relation, signal }));
      const traces = read ? read.trace : [];
      if (comparing === mine) dispatch({ type: "alteredFinished", text: result.text, traces });
    } catch (error) {
      if (comparing === mine && !signal.aborted)
        dispatch({ type: "alteredFailed", failure: failureOf(error) });
    }
  }

  return {
    load,
    translate,
    compare,
    cancel: () => loading.abort(),
    stop: () => running.abort(),
    tensor: async (name, rows) => {
      if (!model) throw new RangeError("there is no model");
      return model.tensor(name, rows);
    },
  };
}

/** A model with as many threads as may be had; with one where theirs cannot start. */
async function loadThreaded(
  source: Source,
  watch: LoadOptions,
): Promise<{ loaded: Model; threads: number }> {
  const threads = threadsHere();
  try {
    return { loaded: await Model.load(source, { ...watch, threads }), threads };
  } catch (error) {
    // Some systems have no room for the memory that threads share.
    if (threads === 1 || failureOf(error).code !== "wasm_unavailable") throw error;
    return { loaded: await Model.load(source, watch), threads: 1 };
  }
}

/** What to record, and for a model by labels the relation with one label for every pair of tokens. */
async function seen(
  model: Model,
  text: string,
  relation: RelationInput,
  { graph, kind }: View,
): Promise<{ trace: TraceRequest; relation: RelationInput }> {
  const { length } = await model.tokenize(text);
  const trace = { kinds: tracedKinds(model.info, length, kind) };
  const { index, numRelations } = model.info.relation.encoder_self;
  if (index !== "labels") return { trace, relation };
  const labels = labelMatrix(parseGraph(graph, numRelations).edges, length);
  return { trace, relation: { ...relation, labels } };
}

/** The code and place of the package's own errors; anything else is "unknown" with its message. */
function failureOf(error: unknown): Failure {
  if (error instanceof Error && "code" in error && "where" in error) {
    return { code: error.code as Failure["code"], where: String(error.where) };
  }
  return { code: "unknown", where: error instanceof Error ? error.message : String(error) };
}
