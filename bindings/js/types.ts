// The contract of the package, written once: what users call with and what they get back.
// Shapes are row-major; every array handed out is a copy that stays valid.

/** Which attention of the model: inside the encoder, inside the decoder (causal), or decoder to encoder. */
export type AttentionKind = "encoder_self" | "decoder_self" | "cross";

/** Where a model comes from: a folder's URL, a folder's path (Node), files, or bytes by file name. */
export type Source =
  | string
  | URL
  | readonly File[]
  | Readonly<Record<string, ArrayBuffer | Uint8Array>>;

/** Bytes received so far; `total` stays the same from the first call on and `loaded` never falls. */
export interface Progress {
  readonly file: string;
  readonly loaded: number;
  readonly total: number;
}

/**
 * How matrices are kept in memory: as 32-bit floats, or rounded to 8 bits as they are read (a quarter of the memory,
 * several times the speed, and on typical models over 99 % of the same tokens).
 */
export type Dtype = "f32" | "int8";

export interface LoadOptions {
  /** Default: f32. */
  dtype?: Dtype;
  /** Aborts the load; the promise rejects with the platform's AbortError. */
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
  /** Run in a worker. Default: true where `Worker` and a document exist, false elsewhere. */
  worker?: boolean;
  /** The compiled core or where to fetch it. Default: `relata.wasm` beside this package. */
  wasm?: string | URL | ArrayBuffer | Uint8Array | WebAssembly.Module;
}

/** Which attentions to record. Layers and heads default to all. */
export interface TraceRequest {
  kinds: readonly AttentionKind[];
  layers?: readonly number[];
  heads?: readonly number[];
}

/** An n x n matrix of relation ids (row = query, column = key), for models whose index is `labels`. */
export interface RelationInput {
  labels: Int32Array | readonly number[];
}

export interface RunOptions {
  /** Default: the model's generation_config.json, else 64. */
  maxNewTokens?: number;
  trace?: TraceRequest;
  relation?: RelationInput;
  signal?: AbortSignal;
}

export interface AttendOptions {
  /** Default: every kind, layer and head. */
  trace?: TraceRequest;
  relation?: RelationInput;
  signal?: AbortSignal;
}

export interface ScoreOptions {
  relation?: RelationInput;
  signal?: AbortSignal;
}

export interface Token {
  readonly id: number;
  readonly piece: string;
}

/** A token of the target with its natural-log probability given everything before it. */
export interface ScoredToken extends Token {
  readonly logProbability: number;
}

/** One generated token. `text` is what became readable with it: possibly empty, never half a character. */
export interface Step extends ScoredToken {
  readonly index: number;
  readonly text: string;
}

/** `eos`: the model ended the text. `length`: maxNewTokens was reached. */
export type FinishReason = "eos" | "length";

export interface Stats {
  readonly sourceLength: number;
  readonly newTokens: number;
  /** How often the encoder ran for this call; 1, or 0 for an empty source. */
  readonly encoderRuns: number;
  readonly encodeMs: number;
  readonly decodeMs: number;
}

/**
 * One head's attention. `scores = contentScores + relationScores` (already scaled), `weights = softmax(scores)`;
 * each [queryTokens.length, keyTokens.length], row-major. Causal cells that do not exist are 0 everywhere.
 * In decoder kinds query i reads queryTokens[i] (the start token first) and predicts the next token.
 */
export interface AttentionTrace {
  readonly kind: AttentionKind;
  readonly layer: number;
  readonly head: number;
  readonly queryTokens: readonly Token[];
  readonly keyTokens: readonly Token[];
  readonly weights: Float32Array;
  readonly contentScores: Float32Array;
  /** Null where the attention has no relation (cross attention, absolute positions). */
  readonly relationScores: Float32Array | null;
}

export interface RunResult {
  readonly text: string;
  readonly tokens: readonly ScoredToken[];
  /** Sum of the tokens' log probabilities, the end token counted. */
  readonly score: number;
  readonly finishReason: FinishReason;
  readonly stats: Stats;
  /** The recorded attentions, in order of kind, layer, head; empty when no trace was asked for. */
  readonly trace: readonly AttentionTrace[];
}

export interface AttendResult {
  readonly source: readonly Token[];
  /** The decoder's input: the start token, then the target. */
  readonly target: readonly Token[];
  readonly trace: readonly AttentionTrace[];
}

export interface ScoreResult {
  readonly tokens: readonly ScoredToken[];
  readonly score: number;
}

/** The relation of one kind of self-attention: an index (pair to id) and an effect (what an id adds). */
export interface RelationInfo {
  readonly index: "none" | "clipped_distance" | "bucketed_distance" | "labels";
  readonly effect: "none" | "vectors" | "bias" | "fixed_slope";
  readonly numRelations: number;
  readonly keys: boolean;
  readonly values: boolean;
  /** For distances: ids[d - firstDistance] is the id of distance d; beyond either end the end's id holds. */
  readonly firstDistance: number;
  readonly ids: Int32Array;
}

export interface TensorInfo {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: number;
}

export interface ModelInfo {
  readonly modelType: string;
  readonly vocabSize: number;
  readonly dModel: number;
  readonly dFf: number;
  readonly numHeads: number;
  readonly headDim: number;
  readonly numEncoderLayers: number;
  readonly numDecoderLayers: number;
  readonly relation: Readonly<Record<"encoder_self" | "decoder_self", RelationInfo>>;
  readonly tensors: readonly TensorInfo[];
  /** Bytes of the weights as kept in memory. */
  readonly weightBytes: number;
}

/**
 * The closed list of error codes. `where` of the error names the place: a file, tensor, option or byte offset.
 */
export type ErrorCode =
  | "file_missing"
  | "file_damaged"
  | "config_invalid"
  | "unsupported"
  | "tensor_missing"
  | "tensor_invalid"
  | "tokenizer_invalid"
  | "input_invalid"
  | "option_invalid"
  | "out_of_memory"
  | "disposed"
  | "wasm_unavailable"
  | "network"
  | "internal";
