// The contract of the package, written once: what users call with and what they get back.
// Shapes are row-major; every array handed out is a copy that stays valid.

import type { RelataError } from "./errors.js";
import type { NetworkInfo, RelationInfo } from "./network-types.js";
import type { SearchOptions } from "./search-types.js";

export type * from "./network-types.js";
export type * from "./search-types.js";

/** Which attention of the model: inside the encoder, inside the decoder (causal), or decoder to encoder. */
export type AttentionKind = "encoder_self" | "decoder_self" | "cross";

/**
 * Where a model comes from: the URL of a folder or a file, a path (Node), files, or bytes by file name; a model in one file
 * (GGUF, .argosmodel) may also come as that file or its bytes.
 */
export type Source =
  | string
  | URL
  | File
  | ArrayBuffer
  | Uint8Array
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

/**
 * A build of the core: for every machine with WebAssembly SIMD, or with relaxed SIMD, which is faster in f32 and may round
 * differently from machine to machine. In int8 both give the same bits.
 */
export type Variant = "baseline" | "relaxed";

export interface LoadOptions {
  /** Default: what the file has in 8 bits stays so, everything else is f32. */
  dtype?: Dtype;
  /** Aborts the load; the promise rejects with the platform's AbortError. */
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
  /** Run in a worker. Default: true where `Worker` and a document exist, false elsewhere. */
  worker?: boolean;
  /**
   * How many threads work on a step; results are the same to the bit. Above 1 in a page, it must be cross-origin isolated
   * and the model in a worker. Default: 1.
   */
  threads?: number;
  /** Default: relaxed where it is there and right, else baseline. Only that one is fetched. */
  variant?: Variant;
  /** The compiled core or where to fetch it, whatever the variant; with `threads`, one of wasm/threads. Default: the variant's file beside this package, as readers.wasm always. */
  wasm?: string | URL | ArrayBuffer | Uint8Array | WebAssembly.Module;
}

/** Which attentions to record. Layers and heads default to all. */
export interface TraceRequest {
  kinds: readonly AttentionKind[];
  layers?: readonly number[];
  heads?: readonly number[];
}

/** An n x n matrix of relation ids (row = query, column = key). */
export type LabelMatrix = Int32Array | readonly number[];

/**
 * How to alter a relation. off: it adds nothing. keys, values: of vectors for both, only those. mirrored: distances change
 * their sign. clip: distances beyond it count as this one, which is less than the model's own.
 */
export type RelationSwitch = "off" | "keys" | "values" | "mirrored" | { clip: number };

/** What to know, or to alter, about the relation in this call. The model stays as it is. */
export interface RelationInput {
  /** For models whose index is `labels`: the matrix of a text, or a list of one for each text. */
  labels?: LabelMatrix | readonly LabelMatrix[];
  switch?: RelationSwitch;
  /** Where to alter it; everywhere else it stays as trained. Default: wherever the switch has a meaning. */
  kinds?: readonly ("encoder_self" | "decoder_self")[];
  layers?: readonly number[];
  heads?: readonly number[];
}

export interface RunOptions extends SearchOptions {
  /** What to record; of the best sequence. */
  trace?: TraceRequest;
  relation?: RelationInput;
  signal?: AbortSignal;
}

export interface AttendOptions {
  /** Default: every kind, layer and head. */
  trace?: TraceRequest;
  /** As in a search. */
  decoderStartTokenId?: number;
  maxSourceTokens?: number;
  relation?: RelationInput;
  signal?: AbortSignal;
}

export interface ScoreOptions {
  /** As in a search. */
  decoderStartTokenId?: number;
  maxSourceTokens?: number;
  relation?: RelationInput;
  signal?: AbortSignal;
}

export interface EncodeOptions {
  /** What becomes of the token axis: kept, averaged over all tokens, or its first token's row. Default: "none". */
  pooling?: "none" | "mean" | "first";
  /** As in a search. */
  maxSourceTokens?: number;
  relation?: RelationInput;
  signal?: AbortSignal;
}

/** A target to score or attend to: a text, to which the end token is added, or ids as they are. */
export type Target = string | readonly number[];

export interface Token {
  readonly id: number;
  readonly piece: string;
}

/** A token of the target with its natural-log probability given everything before it. */
export interface ScoredToken extends Token {
  readonly logProbability: number;
}

/**
 * One generated token. `text` is what became readable with it: possibly empty, never half a character. A token comes once it
 * is certain to be in the result: with beams, when all that may still win agree on it.
 */
export interface Step extends ScoredToken {
  /** Which text, where there are many. */
  readonly item: number;
  readonly index: number;
  readonly text: string;
}

/**
 * `eos`: the model ended the text. `length`: maxNewTokens was reached. `stop_token`, `stop_string`, `loop`: see stopTokenIds,
 * stopStrings, maxRepeats. `failed`: see `RunResult.error`.
 */
export type FinishReason = "eos" | "length" | "stop_token" | "stop_string" | "loop" | "failed";

export interface Stats {
  readonly sourceLength: number;
  /** How many tokens of the source maxSourceTokens cut off. */
  readonly truncatedTokens: number;
  /** How many of the result's tokens are the target prefix. */
  readonly prefixLength: number;
  readonly newTokens: number;
  /** What the samples were drawn with; null where nothing was drawn. */
  readonly seed: number | null;
  /** How often the encoder ran for this call; 1, or 0 for an empty source. */
  readonly encoderRuns: number;
  /** Of texts that are worked on together: each one's even share. */
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

/** One target that was found. */
export interface Sequence {
  readonly text: string;
  /** The target prefix first. */
  readonly tokens: readonly ScoredToken[];
  /**
   * Sum of the new tokens' log probabilities, the end token counted. With beams Hugging Face's sequence score: the sum of
   * what was searched with, penalties and bans included, divided by the length penalty.
   */
  readonly score: number;
  readonly finishReason: FinishReason;
}

/** The best sequence, and what else was found. */
export interface RunResult extends Sequence {
  /** All that was found, this one too: of beams best first, of samples in the order they were drawn. */
  readonly sequences: readonly Sequence[];
  readonly stats: Stats;
  /** The recorded attentions of the best sequence, in order of kind, layer, head; empty when no trace was asked for. */
  readonly trace: readonly AttentionTrace[];
  /** Why a text among many has failed, without text and tokens then; else null. A single text's error is thrown. */
  readonly error: RelataError | null;
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
  /** Why a pair among many has failed, without tokens then; else null. A single pair's error is thrown. */
  readonly error: RelataError | null;
}

/** The encoder's last hidden states. */
export interface EncodeResult {
  /** The tokens that were read, special tokens included. */
  readonly source: readonly Token[];
  readonly truncatedTokens: number;
  /** [source.length, dModel], or pooled [dModel]. */
  readonly shape: readonly number[];
  readonly values: Float32Array;
  /** Why a text among many has failed, without tokens and values then; else null. A single text's error is thrown. */
  readonly error: RelataError | null;
}

export interface TensorInfo {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: number;
}

export interface ModelInfo {
  readonly modelType: string;
  /** What the weights came in: "safetensors", "GGUF 3", "CTranslate2 6". */
  readonly format: string;
  /** What the tokenizer was made from, in words. */
  readonly tokenizer: string;
  readonly vocabSize: number;
  /** Of the encoder, where the stacks have vocabularies of their own; else vocabSize. */
  readonly sourceVocabSize: number;
  readonly dModel: number;
  readonly dFf: number;
  readonly numHeads: number;
  readonly headDim: number;
  readonly numEncoderLayers: number;
  readonly numDecoderLayers: number;
  /** How the model wants to be searched. */
  readonly search: {
    readonly numBeams: number;
    readonly numReturnSequences: number;
    readonly doSample: boolean;
    readonly maxNewTokens: number;
  };
  readonly relation: Readonly<Record<"encoder_self" | "decoder_self", RelationInfo>>;
  readonly network: NetworkInfo;
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
