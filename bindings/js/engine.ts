// A loaded model in this thread: the core's calls put together into generate, force and tokenize.

import type { Core, RawHead, RawInts, RawSession, RawTrace } from "./core.js";
import { describeModel, kKindNames, traceOfHeads } from "./describe.js";
import { disposedError, RelataError } from "./errors.js";
import { type LoadedModel, loadModel, type Watch } from "./load.js";
import type {
  Backend,
  Calls,
  Forced,
  Labels,
  Method,
  Results,
  TraceSelection,
} from "./protocol.js";
import type { Folder } from "./source.js";
import { TextStream } from "./tokenizer.js";
import { checkSignal, turn } from "./turn.js";
import type { Dtype, ModelInfo, RunResult, ScoredToken, Step, Token } from "./types.js";

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
    this.info = describeModel(description, loaded.tensors);
  }

  static async load(core: Core, folder: Folder, dtype: Dtype, watch: Watch): Promise<Engine> {
    return new Engine(core, await loadModel(core, folder, dtype, watch));
  }

  call<M extends Method>(method: M, args: Calls[M], signal?: AbortSignal): Steps<Results[M]> {
    const methods: { [K in Method]: (args: Calls[K], signal?: AbortSignal) => Steps<Results[K]> } =
      {
        generate: (given, watch) => this.#generate(given, watch),
        force: (given, watch) => this.#force(given, watch),
        tokenize: (given, watch) => this.#tokenize(given, watch),
      };
    return methods[method](args, signal);
  }

  /** Frees everything now; calls in progress end with the error `disposed`. */
  dispose(): void {
    for (const session of this.#sessions) session.delete();
    this.#sessions.clear();
    this.#loaded?.model.delete();
    this.#loaded = null;
  }

  async *#generate(
    { text, maxNewTokens, trace, labels }: Calls["generate"],
    signal?: AbortSignal,
  ): Steps<RunResult> {
    const { tokenizer } = this.#alive(signal);
    const sourceIds = text.trim() === "" ? [] : tokenizer.encode(text);
    checkLabels(labels, sourceIds.length);
    if (sourceIds.length === 0) return kNothing;

    // The encoder runs for a while: an abort that is on its way comes first.
    await turn();
    this.#alive(signal);
    const started = performance.now();
    const session = this.#start(sourceIds, labels, maxNewTokens, trace);
    const encodeMs = performance.now() - started;
    try {
      this.#core.run(() => session.error(0));
      const stream = new TextStream(tokenizer);
      const tokens: ScoredToken[] = [];
      let decodeMs = 0;
      let finish = 0;
      while (finish === 0) {
        await turn();
        this.#alive(signal);
        const before = performance.now();
        const [made] = this.#core.run(() => session.step());
        decodeMs += performance.now() - before;
        this.#core.run(() => session.error(0));
        if (made === undefined) continue;
        const { tokenId, logProbability } = made;
        finish = session.finishReason(0);
        const token = { ...tokenizer.token(tokenId), logProbability };
        const readable = stream.push(tokenId) + (finish === 0 ? "" : stream.end());
        yield { index: tokens.push(token) - 1, ...token, text: readable };
        this.#alive(signal);
      }
      const source = sourceIds.map((id) => tokenizer.token(id));
      return {
        text: stream.text,
        tokens,
        score: sumOf(tokens),
        finishReason: finish === 1 ? "eos" : "length",
        stats: {
          sourceLength: sourceIds.length,
          newTokens: tokens.length,
          encoderRuns: session.encoderRuns(0),
          encodeMs,
          decodeMs,
        },
        trace: traceOfHeads(
          this.#core.run(() => session.trace(0)),
          source,
          this.#inputOf(tokens),
        ),
      };
    } finally {
      if (this.#sessions.delete(session)) session.delete();
    }
  }

  async *#force(
    { source, target, trace, labels }: Calls["force"],
    signal?: AbortSignal,
  ): Steps<Forced> {
    await turn();
    const { tokenizer, model } = this.#alive(signal);
    const sourceIds = source.trim() === "" ? [] : tokenizer.encode(source);
    if (sourceIds.length === 0) {
      throw new RelataError("input_invalid", "source", "source: there is no text to read");
    }
    checkLabels(labels, sourceIds.length);
    const targetIds = tokenizer.encode(target);
    // A target ends, whether or not its tokenizer says so.
    const [eosId] = this.#eosIds;
    if (eosId !== undefined && !this.#eosIds.includes(targetIds.at(-1) ?? -1))
      targetIds.push(eosId);

    const inputs: RawInts[] = [];
    const ints = (values: ArrayLike<number>) => {
      const buffer = this.#core.ints(values);
      inputs.push(buffer);
      return buffer;
    };
    let forced: { logProbabilities: Float32Array; trace: readonly RawHead[] };
    try {
      const [sourceInts, targetInts, labelInts] = [
        ints(sourceIds),
        ints(targetIds),
        ints(labels ?? []),
      ];
      forced = this.#core.run(() =>
        model.teacherForce(sourceInts, targetInts, labelInts, rawTrace(trace)),
      );
    } finally {
      for (const buffer of inputs) buffer.delete();
    }
    const tokens = targetIds.map((id, i) => ({
      ...tokenizer.token(id),
      logProbability: forced.logProbabilities[i] ?? Number.NaN,
    }));
    const sourceTokens = sourceIds.map((id) => tokenizer.token(id));
    const input = this.#inputOf(tokens);
    return {
      source: sourceTokens,
      input,
      tokens,
      score: sumOf(tokens),
      trace: traceOfHeads(forced.trace, sourceTokens, input),
    };
  }

  async *#tokenize({ text }: Calls["tokenize"], signal?: AbortSignal): Steps<readonly Token[]> {
    const { tokenizer } = this.#alive(signal);
    return text.trim() === "" ? [] : tokenizer.encode(text).map((id) => tokenizer.token(id));
  }

  /** The loaded parts, if the model may still be used. */
  #alive(signal: AbortSignal | undefined): LoadedModel {
    checkSignal(signal);
    if (this.#loaded === null) throw disposedError();
    return this.#loaded;
  }

  #start(
    sourceIds: readonly number[],
    labels: Labels,
    maxNewTokens: number,
    trace: TraceSelection | null,
  ): RawSession {
    const { model } = this.#alive(undefined);
    const buffers: RawInts[] = [];
    const ints = (values: ArrayLike<number>) => {
      const buffer = this.#core.ints(values);
      buffers.push(buffer);
      return buffer;
    };
    try {
      const input = { source: ints(sourceIds), labels: ints(labels ?? []), prefix: ints([]) };
      const options = {
        ...{ num_beams: 1, num_return_sequences: 1, do_sample: false },
        ...(maxNewTokens > 0 ? { max_new_tokens: maxNewTokens } : {}),
      };
      const session = this.#core.run((raw) =>
        raw.Session.start(model, [input], options, rawTrace(trace)),
      );
      this.#sessions.add(session);
      return session;
    } finally {
      for (const buffer of buffers) buffer.delete();
    }
  }

  /** What the decoder read to give these tokens: the start token, then all but the last. */
  #inputOf(tokens: readonly Token[]): Token[] {
    const { tokenizer } = this.#alive(undefined);
    return [
      tokenizer.token(this.#startId),
      ...tokens.slice(0, -1).map(({ id, piece }) => ({ id, piece })),
    ];
  }
}

/** What an empty text gives. */
const kNothing: RunResult = {
  text: "",
  tokens: [],
  score: 0,
  finishReason: "eos",
  stats: { sourceLength: 0, newTokens: 0, encoderRuns: 0, encodeMs: 0, decodeMs: 0 },
  trace: [],
};

function sumOf(tokens: readonly ScoredToken[]): number {
  return tokens.reduce((sum, token) => sum + token.logProbability, 0);
}

function checkLabels(labels: Labels, sourceLength: number): void {
  if (labels === null || labels.length === sourceLength ** 2) return;
  const where = "relation.labels";
  const expected = `${sourceLength} x ${sourceLength} for the ${sourceLength} tokens of this source`;
  throw new RelataError(
    "option_invalid",
    where,
    `${where}: expected ${expected}, got ${labels.length} labels`,
  );
}

function rawTrace(trace: TraceSelection | null): RawTrace {
  if (trace === null) return { kinds: [], layers: [], heads: [] };
  return { ...trace, kinds: trace.kinds.map((kind) => kKindNames.indexOf(kind)) };
}
