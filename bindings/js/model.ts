/// <reference lib="esnext.disposable" preserve="true" />
// The one public class. What it does happens in a backend: an engine in this thread or in a worker.

import { loadBackend, type Platform } from "./backend.js";
import { kWebHost } from "./core.js";
import { disposedError, RelataError } from "./errors.js";
import { fetchFolder } from "./fetched.js";
import { eachOf } from "./many.js";
import * as check from "./options.js";
import type { Ask, Backend, Calls, Forced } from "./protocol.js";
import { relationOf, relationsOf } from "./relation-options.js";
import { allResults, onlyResult, resultOf } from "./results.js";
import { kSearchNames, searchOf } from "./search-options.js";
import { orAborted } from "./turn.js";
import type {
  AttendOptions,
  AttendResult,
  EncodeOptions,
  EncodeResult,
  LoadOptions,
  ModelInfo,
  RunOptions,
  RunResult,
  ScoreOptions,
  ScoreResult,
  SearchOptions,
  Source,
  Step,
  Target,
  TensorValues,
  Token,
} from "./types.js";

const browser: Platform = {
  resolve: (place) => new URL(place, globalThis.document?.baseURI ?? globalThis.location?.href),
  folderAt: fetchFolder,
  ...kWebHost,
};

/**
 * A loaded model. Texts go in and come out; calls may overlap and do not disturb each other.
 *
 * All calls throw a RelataError: `option_invalid` or `input_invalid` for what they were given, `out_of_memory` for a
 * text longer than memory allows (the model stays usable), `disposed` after `dispose`. With a `signal` they
 * reject with the signal's reason within one step.
 */
export class Model {
  readonly #backend: Backend;
  /** Aborted once disposed of. */
  readonly #end = new AbortController();

  protected constructor(backend: Backend) {
    this.#backend = backend;
  }

  /**
   * Loads a model from whatever holds it, decided by what is in its files: a folder of Hugging Face, GGUF, CTranslate2, an
   * Argos package, Marian; the README's table says what each may hold.
   * Errors: those of a damaged or missing file, `network`, `wasm_unavailable`; a failed load keeps no memory.
   */
  static async load(source: Source, options: LoadOptions = {}): Promise<Model> {
    return new Model(await loadBackend(source, options, browser));
  }

  get info(): ModelInfo {
    return this.#backend.info;
  }

  /**
   * Generates as the model's own configuration and `options` say, one token at a time; the joined `text` of the steps of an
   * item is its whole text. Leaving the loop stops the work. The generator's return value is what `run` gives. An empty text
   * gives no step. Many texts are worked on together, and their steps come mixed.
   */
  generate(text: string, options?: RunOptions): AsyncGenerator<Step, RunResult, undefined>;
  generate(
    texts: readonly string[],
    options?: RunOptions,
  ): AsyncGenerator<Step, readonly RunResult[], undefined>;
  generate(
    text: string | readonly string[],
    options: RunOptions = {},
  ): AsyncGenerator<Step, RunResult | readonly RunResult[], undefined> {
    const given = check.optionsOf(options, [...kSearchNames, "trace", "relation", "signal"]);
    const isOne = !Array.isArray(text);
    const texts = isOne ? [check.textOf(text, "text")] : text;
    const count = isOne ? null : texts.length;
    const args = {
      texts,
      search: searchOf(given, this.info, count),
      trace: check.traceOf(given.trace, this.info),
      ...relationsOf(given.relation, this.info, count),
    };
    const signal = check.signalOf(given.signal);
    const asked = askOf(given.allowedTokens as SearchOptions["allowedTokens"]);
    const signals = [signal, this.#end.signal];
    const ask: Ask | undefined = asked && ((open) => orAborted(asked(open), signals));
    const context = { signal, ask };
    const backend = this.#usable();
    return isOne ? onlyResult(backend, args, context) : allResults(backend, args, context);
  }

  /**
   * Generates the whole text. An empty text, or one of white space, gives the empty result with no encoder run. Many texts
   * give a result each, in their order; one that fails has its `error` in it and does not concern the others.
   */
  run(text: string, options?: RunOptions): Promise<RunResult>;
  run(texts: readonly string[], options?: RunOptions): Promise<readonly RunResult[]>;
  async run(
    text: string | readonly string[],
    options: RunOptions = {},
  ): Promise<RunResult | readonly RunResult[]> {
    // One signature for both, which the overloads do not show.
    return resultOf(this.generate(text as string, options));
  }

  /** The text as it becomes readable. Cancelling the stream stops the work. */
  stream(text: string, options: RunOptions = {}): ReadableStream<string> {
    const steps = this.generate(check.textOf(text, "text"), options);
    return new ReadableStream<string>(
      {
        async pull(controller) {
          for (;;) {
            const { done, value } = await steps.next();
            if (done) return controller.close();
            if (value.text !== "") return controller.enqueue(value.text);
          }
        },
        async cancel(reason) {
          // What a generator is left with has no meaning here.
          await steps.return(reason);
        },
      },
      { highWaterMark: 0 },
    );
  }

  /**
   * The log probability of a given target, a text's end token counted. The source must not be empty. Of many pairs each gives
   * a result, in their order, as in `run`.
   */
  score(source: string, target: Target, options?: ScoreOptions): Promise<ScoreResult>;
  score(
    sources: readonly string[],
    targets: readonly Target[],
    options?: ScoreOptions,
  ): Promise<readonly ScoreResult[]>;
  async score(
    source: string | readonly string[],
    target: Target | readonly Target[],
    options: ScoreOptions = {},
  ): Promise<ScoreResult | readonly ScoreResult[]> {
    const given = check.optionsOf(options, kForcedNames);
    const pass = { ...check.passOf(given, this.info), trace: null };
    if (!Array.isArray(source)) {
      const args = {
        source: check.textOf(source, "source"),
        target: check.targetOf(target, "target"),
        ...pass,
        ...relationOf(given.relation, this.info),
      };
      const { tokens, score } = await this.#force(args, given);
      return { tokens, score, error: null };
    }
    const targets = check.arrayOf(target, "target", check.targetOf);
    if (targets.length !== source.length) {
      const problem = `${targets.length} targets for ${source.length} sources`;
      throw new RelataError("input_invalid", "target", `target: ${problem}`);
    }
    const relations = relationsOf(given.relation, this.info, source.length);
    const scored = async (one: Target, i: number): Promise<ScoreResult> => {
      const text = check.textOf(source[i], `source[${i}]`);
      const of = { ...relations, labels: relations.labels[i] ?? null };
      const { tokens, score } = await this.#force(
        { source: text, target: one, ...pass, ...of },
        given,
      );
      return { tokens, score, error: null };
    };
    return eachOf(targets, scored, { tokens: [], score: 0 });
  }

  /** The attentions of a pass over a given target. The source must not be empty. */
  async attend(source: string, target: Target, options: AttendOptions = {}): Promise<AttendResult> {
    const given = check.optionsOf(options, ["trace", ...kForcedNames]);
    const everything = { kinds: ["encoder_self", "decoder_self", "cross"] };
    const args = {
      source: check.textOf(source, "source"),
      target: check.targetOf(target, "target"),
      ...check.passOf(given, this.info),
      trace: check.traceOf(given.trace ?? everything, this.info),
      ...relationOf(given.relation, this.info),
    };
    const forced = await this.#force(args, given);
    return { source: forced.source, target: forced.input, trace: forced.trace };
  }

  /**
   * The encoder's last hidden states of a text, which must not be empty: of every token, or pooled. Of many texts each gives a
   * result, in their order, as in `run`.
   */
  encode(text: string, options?: EncodeOptions): Promise<EncodeResult>;
  encode(texts: readonly string[], options?: EncodeOptions): Promise<readonly EncodeResult[]>;
  async encode(
    text: string | readonly string[],
    options: EncodeOptions = {},
  ): Promise<EncodeResult | readonly EncodeResult[]> {
    const given = check.optionsOf(options, kEncodeNames);
    const pooling = check.poolingOf(given.pooling);
    const maxSourceTokens = check.maxSourceTokensOf(given.maxSourceTokens);
    const signal = check.signalOf(given.signal);
    const encoded = async (
      one: unknown,
      where: string,
      relation: ReturnType<typeof relationOf>,
    ) => {
      const args = { text: check.textOf(one, where), pooling, maxSourceTokens, ...relation };
      return { ...(await resultOf(this.#usable().call("encode", args, { signal }))), error: null };
    };
    if (!Array.isArray(text)) return encoded(text, "text", relationOf(given.relation, this.info));
    const { labels, alteration } = relationsOf(given.relation, this.info, text.length);
    const none = { source: [], truncatedTokens: 0, shape: [0], values: new Float32Array(0) };
    const relation = (i: number) => ({ labels: labels[i] ?? null, alteration });
    return eachOf(text, (one, i) => encoded(one, `text[${i}]`, relation(i)), none);
  }

  /** The tokens a source text is read as, special tokens included: n of them for n x n labels. */
  async tokenize(text: string): Promise<readonly Token[]> {
    return resultOf(this.#usable().call("tokenize", { text: check.textOf(text, "text") }));
  }

  /**
   * A learned tensor by the name it has in the schema of model_type "relata" (README), whatever its file called it; in a model
   * kept in int8 what the rounded numbers stand for. rows: which rows of a matrix, in this order; default: all. A table of
   * relations that serves all layers is every layer's. Errors: tensor_missing where there is no such tensor, input_invalid where
   * it has no such row.
   */
  async tensor(name: string, rows?: readonly number[]): Promise<TensorValues> {
    const args = {
      name: check.textOf(name, "name"),
      rows: rows === undefined ? [] : check.idsOf(rows, "rows"),
    };
    if (rows !== undefined && args.rows.length === 0)
      throw new RelataError(
        "input_invalid",
        "rows",
        "rows: there are none; leave them out for all",
      );
    return resultOf(this.#usable().call("tensor", args));
  }

  /** Frees the model's memory. Calls in progress end with the error `disposed`. A second call does nothing. */
  dispose(): void {
    this.#end.abort(disposedError());
    this.#backend.dispose();
  }

  /** For `using`, where the platform has it. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  #force(args: Calls["force"], given: Readonly<Record<string, unknown>>): Promise<Forced> {
    const signal = check.signalOf(given.signal);
    return resultOf(this.#usable().call("force", args, { signal }));
  }

  #usable(): Backend {
    this.#end.signal.throwIfAborted();
    return this.#backend;
  }
}

/** The options of a pass over a given target. */
const kForcedNames = ["decoderStartTokenId", "maxSourceTokens", "relation", "signal"];
const kEncodeNames = ["pooling", "maxSourceTokens", "relation", "signal"];

/** Asks a caller's function about each hypothesis, and checks what it says. */
function askOf(allowedTokens: SearchOptions["allowedTokens"]): Ask | undefined {
  if (allowedTokens === undefined) return undefined;
  return (open) =>
    Promise.all(
      open.map(async ({ item, tokenIds }) => {
        const ids = await allowedTokens(tokenIds, item);
        const isList = typeof ids === "object" && ids !== null && Symbol.iterator in ids;
        return check.idsOf(isList ? [...ids] : ids, "allowedTokens");
      }),
    );
}
