// What the page asks of the package: load a model, translate a text, look into it. Everything that
// comes back is an event; the state decides what it means.

import { type AttentionKind, Model } from "relata";
import { catalogueEntry } from "./catalogue";
import type { PageEvent } from "./events";
import type { Failure } from "./state";

export interface Translator {
  /** Loads a model of the catalogue, in place of the one before. Resolves to whether it is there. */
  load(modelName: string): Promise<boolean>;
  /** Translates, recording every attention; a translation under way is given up for this one. */
  translate(text: string): Promise<void>;
  /** Stops a translation under way. */
  stop(): void;
}

const everyKind: readonly AttentionKind[] = ["encoder_self", "decoder_self", "cross"];

export function createTranslator(
  baseUrl: string,
  dispatch: (event: PageEvent) => void,
): Translator {
  let model: Model | null = null;
  let loading = new AbortController();
  let running = new AbortController();

  async function load(modelName: string): Promise<boolean> {
    loading.abort();
    running.abort();
    loading = new AbortController();
    const { signal } = loading;
    model?.dispose();
    model = null;
    dispatch({ type: "loadStarted", modelName });
    try {
      const url = new URL(`models/${catalogueEntry(modelName).name}/`, baseUrl);
      const loaded = await Model.load(url, {
        signal,
        onProgress: (progress) => {
          if (!signal.aborted) dispatch({ type: "loadProgressed", progress });
        },
      });
      if (signal.aborted) {
        loaded.dispose();
        return false;
      }
      model = loaded;
      dispatch({ type: "loadFinished", info: loaded.info });
      return true;
    } catch (error) {
      if (!signal.aborted) dispatch({ type: "loadFailed", failure: failureOf(error) });
      return false;
    }
  }

  async function translate(text: string): Promise<void> {
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
      const steps = model.generate(text, { trace: { kinds: everyKind }, signal });
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

  return { load, translate, stop: () => running.abort() };
}

/** The code and place of the package's own errors; anything else is "unknown" with its message. */
function failureOf(error: unknown): Failure {
  if (error instanceof Error && "code" in error && "where" in error) {
    return { code: error.code as Failure["code"], where: String(error.where) };
  }
  return { code: "unknown", where: error instanceof Error ? error.message : String(error) };
}
