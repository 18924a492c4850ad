// What an engine can be asked, and the messages that carry it to a worker and back. A new feature is a new field.

import type { Failure } from "./errors.js";
import type { RawAlteration } from "./raw-model.js";
import type { SearchRequest } from "./search-options.js";
import type {
  AttentionKind,
  AttentionTrace,
  Dtype,
  EncodeOptions,
  EncodeResult,
  ModelInfo,
  Progress,
  RunResult,
  ScoredToken,
  Source,
  Step,
  Target,
  TensorValues,
  Token,
} from "./types.js";

/** A checked trace request. Empty layers or heads are all of them. */
export interface TraceSelection {
  readonly kinds: readonly AttentionKind[];
  readonly layers: readonly number[];
  readonly heads: readonly number[];
}

/** The relation ids [n, n] of a labelled source, or null. */
export type Labels = Int32Array | null;

/** The arguments of each call, checked. */
export interface Calls {
  generate: {
    texts: readonly string[];
    search: SearchRequest;
    trace: TraceSelection | null;
    /** Of each text. */
    labels: readonly Labels[];
    alteration: RawAlteration;
  };
  force: {
    source: string;
    target: Target;
    /** Null: the model's own. */
    startId: number | null;
    maxSourceTokens: number;
    trace: TraceSelection | null;
    labels: Labels;
    alteration: RawAlteration;
  };
  encode: {
    text: string;
    pooling: NonNullable<EncodeOptions["pooling"]>;
    maxSourceTokens: number;
    labels: Labels;
    alteration: RawAlteration;
  };
  tokenize: { text: string };
  /** Empty rows: all. */
  tensor: { name: string; rows: readonly number[] };
}

/** What a text among many came to, as plain data. */
export type Generated = Omit<RunResult, "error"> & { readonly error: Failure | null };

/** A hypothesis that waits for its allowed tokens: which text, and its target so far. */
export interface OpenPrefix {
  readonly item: number;
  readonly tokenIds: readonly number[];
}

/** The allowed tokens of each hypothesis. */
export type Ask = (open: readonly OpenPrefix[]) => Promise<readonly (readonly number[])[]>;

/** What goes along with a call while it runs. */
export interface CallContext {
  readonly signal?: AbortSignal | undefined;
  /** Of a constrained search. */
  readonly ask?: Ask | undefined;
}

/** A pass over a given target. */
export interface Forced {
  readonly source: readonly Token[];
  /** The decoder's input: the start token, then the target. */
  readonly input: readonly Token[];
  readonly tokens: readonly ScoredToken[];
  readonly score: number;
  readonly trace: readonly AttentionTrace[];
}

/** The result of each call. */
export interface Results {
  generate: readonly Generated[];
  force: Forced;
  encode: Omit<EncodeResult, "error">;
  tokenize: readonly Token[];
  tensor: TensorValues;
}

export type Method = keyof Calls;

/** A loaded model, here or in a worker. `call` yields the steps as they come and returns the result. */
export interface Backend {
  readonly info: ModelInfo;
  call<M extends Method>(
    method: M,
    args: Calls[M],
    context?: CallContext,
  ): AsyncGenerator<Step, Results[M], undefined>;
  dispose(): void;
}

export type CallRequest<M extends Method = Method> = {
  [K in M]: { type: "call"; id: number; method: K; args: Calls[K] };
}[M];

export type Request =
  | {
      type: "load";
      source: Source;
      wasm: ArrayBuffer | Uint8Array | WebAssembly.Module | string;
      numThreads: number;
      dtype: Dtype | null;
    }
  | CallRequest
  | { type: "allow"; id: number; allowed: readonly (readonly number[])[] }
  | { type: "cancel"; id: number };

export type Reply =
  | { type: "progress"; progress: Progress }
  | { type: "loaded"; info: ModelInfo }
  /** What came since the last turn. */
  | { type: "steps"; id: number; steps: readonly Step[] }
  | { type: "ask"; id: number; open: readonly OpenPrefix[] }
  | { type: "done"; id: number; result: Results[Method] }
  /** id 0: the load, or the worker as a whole. */
  | { type: "failed"; id: number; failure: Failure };
