// A loaded model in this thread: the core's calls put together into generate, force, encode, tokenize and tensor.

import type { Core } from "./core.js";
import { describeModel, rawTrace, tensorOf, traceOfHeads } from "./describe.js";
import { disposedError, RelataError } from "./errors.js";
import { Generation } from "./generation.js";
import { type LoadedModel, loadModel, type Watch } from "./load.js";
import { checkLabels } from "./options.js";
import type { Backend, CallContext, Calls, Forced, Method, Results } from "./protocol.js";
import type { RawSession } from "./raw-model.js";
import type { Folder } from "./source.js";
import { checkSignal, turn } from "./turn.js";
import type { Dtype, ModelInfo, Step, TensorValues, Token } from "./types.js";

type Steps<Result> = AsyncGenerator<Step, Result, undefined>;

export class Engine implements Backend {
  readonly info: ModelInfo;
  readonly #core: Core;
  readonly #startId: number;
  readonly #eosIds: Int32Array;
  readonly #sessions = new Set<RawSession>();
  /** Null once disposed of. */
  #loaded: LoadedModel | null;

  private constructor(core: Core, loaded: LoadedModel) {
    const description = loaded.model.describe();
    this.#core = core;
    this.#loaded = loaded;
    this.#startId = description.decoderStartTokenId;
    this.#eosIds = description.eosTokenIds;
    this.info = describeModel(description, loaded);
  }

  /** dtype: null keeps the weights as the file has them. */
  static async load(
    core: Core,
    folder: Folder,
    dtype: Dtype | null,
    watch: Watch,
  ): Promise<Engine> {
    try {
      return new Engine(core, await loadModel(core, folder, dtype, watch));
    } catch (error) {
      core.end();
      throw error;
    }
  }

  call<M extends Method>(method: M, args: Calls[M], context: CallContext = {}): Steps<Results[M]> {
    const { signal } = context;
    const methods: { [K in Method]: (args: Calls[K]) => Steps<Results[K]> } = {
      generate: (given) => new Generation(this.#workplace(signal), given, context).steps(),
      force: (given) => this.#force(given, signal),
      encode: (given) => this.#encode(given, signal),
      tokenize: (given) => this.#tokenize(given, signal),
      tensor: (given) => this.#tensor(given, signal),
    };
    return methods[method](args);
  }

  #workplace(signal: AbortSignal | undefined) {
    return {
      core: this.#core,
      info: this.info,
      startId: this.#startId,
      sessions: this.#sessions,
      alive: () => this.#alive(signal),
    };
  }

  /** Frees everything now; calls in progress end with the error `disposed`. */
  dispose(): void {
    for (const session of this.#sessions) session.delete();
    this.#sessions.clear();
    this.#loaded?.model.delete();
    this.#loaded = null;
    this.#core.end();
  }

  async *#force(
    { source, target, startId, maxSourceTokens, trace, labels, alteration }: Calls["force"],
    signal?: AbortSignal,
  ): Steps<Forced> {
    await turn();
    const { tokenizer, model } = this.#alive(signal);
    const { ids: sourceIds } = this.#read(source, "source", maxSourceTokens, labels);
    const targetIds = typeof target === "string" ? tokenizer.encodeTarget(target) : [...target];
    // A target's text ends, whether or not its tokenizer says so.
    const [eosId] = this.#eosIds;
    const isOpen = typeof target === "string" && !this.#eosIds.includes(targetIds.at(-1) ?? -1);
    if (isOpen && eosId !== undefined) targetIds.push(eosId);

    const start = startId ?? this.#startId;
    const forced = this.#core.withInts(
      [sourceIds, targetIds, labels ?? []],
      ([read, written, ids]) =>
        this.#core.run(() =>
          model.teacherForce(read, written, ids, rawTrace(trace), alteration, start),
        ),
    );
    const tokens = targetIds.map((id, i) => ({
      ...tokenizer.token(id),
      logProbability: forced.logProbabilities[i] ?? Number.NaN,
    }));
    const sourceTokens = sourceIds.map((id) => tokenizer.sourceToken(id));
    const input = [start, ...targetIds.slice(0, -1)].map((id) => tokenizer.token(id));
    return {
      source: sourceTokens,
      input,
      tokens,
      score: tokens.reduce((sum, { logProbability }) => sum + logProbability, 0),
      trace: traceOfHeads(forced.trace, sourceTokens, input),
    };
  }

  async *#encode(
    { text, pooling, maxSourceTokens, labels, alteration }: Calls["encode"],
    signal?: AbortSignal,
  ): Steps<Results["encode"]> {
    await turn();
    const { tokenizer, model } = this.#alive(signal);
    const { ids, cut } = this.#read(text, "text", maxSourceTokens, labels);
    const hidden = this.#core.withInts([ids, labels ?? []], ([source, matrix]) =>
      this.#core.run(() => model.encode(source, matrix, alteration)),
    );
    const width = this.info.dModel;
    return {
      source: ids.map((id) => tokenizer.sourceToken(id)),
      truncatedTokens: cut,
      shape: pooling === "none" ? [ids.length, width] : [width],
      values: pooling === "none" ? hidden : pooled(hidden, width, pooling === "mean"),
    };
  }

  /** The ids of a text that must not be empty. */
  #read(text: string, where: string, most: number, labels: Calls["encode"]["labels"]) {
    const read = this.#alive(undefined).tokenizer.encodeSource(text, most);
    if (read.ids.length === 0)
      throw new RelataError("input_invalid", where, `${where}: there is no text to read`);
    checkLabels(labels, read.ids.length);
    return read;
  }

  async *#tokenize({ text }: Calls["tokenize"], signal?: AbortSignal): Steps<readonly Token[]> {
    const { tokenizer } = this.#alive(signal);
    return text.trim() === "" ? [] : tokenizer.encode(text).map((id) => tokenizer.sourceToken(id));
  }

  async *#tensor({ name, rows }: Calls["tensor"], signal?: AbortSignal): Steps<TensorValues> {
    const { model } = this.#alive(signal);
    const read = this.#core.withInts([rows], ([some]) =>
      this.#core.run(() => model.tensor(name, some)),
    );
    return tensorOf(name, read);
  }

  /** The loaded parts, if the model may still be used. */
  #alive(signal: AbortSignal | undefined): LoadedModel {
    checkSignal(signal);
    if (this.#loaded === null) throw disposedError();
    return this.#loaded;
  }
}

/** The mean of all rows, or the first row. */
function pooled(rows: Float32Array, width: number, isMean: boolean): Float32Array {
  if (!isMean) return rows.slice(0, width);
  const sums = new Float64Array(width);
  for (let i = 0; i < rows.length; i++) sums[i % width] = (sums[i % width] ?? 0) + (rows[i] ?? 0);
  return Float32Array.from(sums, (sum) => (sum * width) / rows.length);
}
