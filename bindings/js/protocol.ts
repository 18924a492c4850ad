// What an engine can be asked, and the messages that carry it to a worker and back. A new feature is a new field.

import type { Failure } from "./errors.js";
import type {
  AttentionKind,
  AttentionTrace,
  Dtype,
  ModelInfo,
  Progress,
  RunResult,
  ScoredToken,
  Source,
  Step,
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
  /** maxNewTokens 0 is the model's own. */
  generate: { text: string; maxNewTokens: number; trace: TraceSelection | null; labels: Labels };
  force: { source: string; target: string; trace: TraceSelection | null; labels: Labels };
  tokenize: { text: string };
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
  generate: RunResult;
  force: Forced;
  tokenize: readonly Token[];
}

export type Method = keyof Calls;

/** A loaded model, here or in a worker. `call` yields the steps as they come and returns the result. */
export interface Backend {
  readonly info: ModelInfo;
  call<M extends Method>(
    method: M,
    args: Calls[M],
    signal?: AbortSignal,
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
      wasm: ArrayBuffer | Uint8Array | WebAssembly.Module | string | null;
      dtype: Dtype;
    }
  | CallRequest
  | { type: "cancel"; id: number };

export type Reply =
  | { type: "progress"; progress: Progress }
  | { type: "loaded"; info: ModelInfo }
  | { type: "step"; id: number; step: Step }
  | { type: "done"; id: number; result: Results[Method] }
  /** id 0: the load, or the worker as a whole. */
  | { type: "failed"; id: number; failure: Failure };
