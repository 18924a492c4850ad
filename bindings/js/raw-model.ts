// The module that loads models and runs them as it comes, by bindings/wasm/load.cpp and generate.cpp.

import type { Failure } from "./errors.js";
import type { Handle, RawBuffer, RawFiles, RawInts, RawShards, RawTensor } from "./raw-files.js";

/** Bytes of one of several files. */
export interface RawRange {
  readonly file: number;
  readonly offset: number;
  readonly bytes: number;
}

export interface RawLoader extends Handle {
  tensors(): readonly RawTensor[];
  /** What to read next, about `most` bytes or a tensor that is wanted whole; 0 bytes at the end. */
  want(most: number): RawRange;
  /** The first bytes of a buffer: as many as were wanted. */
  accept(buffer: RawBuffer<Uint8Array>, bytes: number): null | Failure;
  finish(numThreads: number): RawModel | Failure;
}

export interface RawRelation {
  readonly index: number;
  readonly effect: number;
  readonly keys: boolean;
  readonly values: boolean;
  readonly numRelations: number;
  readonly firstDistance: number;
  readonly ids: Int32Array;
}

/** Flags are 0 or 1, enumerations their place in the core's. */
export type RawNetwork = readonly [
  norm: number,
  normPosition: number,
  normEpsilon: number,
  activation: number,
  gated: number,
  attentionScale: number,
  embeddingScale: number,
  tiedOutput: number,
  outputScale: number,
  positions: number,
  interleaved: number,
  firstPosition: number,
  divisor: number,
];

export interface RawDescription {
  readonly modelType: string;
  readonly vocabSize: number;
  readonly sourceVocabSize: number;
  readonly dModel: number;
  readonly dFf: number;
  readonly numHeads: number;
  readonly headDim: number;
  readonly numEncoderLayers: number;
  readonly numDecoderLayers: number;
  readonly encoderRelation: RawRelation;
  readonly decoderRelation: RawRelation;
  readonly network: Iterable<number>;
  readonly weightBytes: number;
  readonly decoderStartTokenId: number;
  readonly eosTokenIds: Int32Array;
  /** The model's own search. */
  readonly numBeams: number;
  readonly numReturnSequences: number;
  readonly doSample: boolean;
  readonly maxNewTokens: number;
}

/** A tensor of a loaded model; a vector is one row. */
export interface RawValues {
  readonly rows: number;
  readonly values: Float32Array;
}

/** Rows of `rowLength` values; only the first columns were reached in decoder kinds. */
export interface RawHead {
  readonly kind: number;
  readonly layer: number;
  readonly head: number;
  readonly numQueries: number;
  readonly rowLength: number;
  readonly weights: Float32Array;
  readonly contentScores: Float32Array;
  readonly relationScores: Float32Array;
}

export interface RawTrace {
  readonly kinds: readonly number[];
  readonly layers: readonly number[];
  readonly heads: readonly number[];
}

/** kind: an index of Alteration (src/relation/relation_alteration.hpp). Empty lists are all. */
export interface RawAlteration extends RawTrace {
  readonly kind: number;
  readonly clip: number;
}

export interface RawForced {
  readonly logProbabilities: Float32Array;
  readonly trace: readonly RawHead[];
}

export interface RawModel extends Handle {
  describe(): RawDescription;
  /** rows: of a matrix; empty for all. */
  tensor(name: string, rows: RawInts): RawValues | Failure;
  /** The encoder's last hidden states [source, dModel]. */
  encode(source: RawInts, labels: RawInts, relation: RawAlteration): Float32Array | Failure;
  teacherForce(
    source: RawInts,
    target: RawInts,
    labels: RawInts,
    trace: RawTrace,
    relation: RawAlteration,
    decoderStartTokenId: number,
  ): RawForced | Failure;
}

export interface RawToken {
  readonly tokenId: number;
  readonly logProbability: number;
  /** Which text, and which token of its target. */
  readonly item: number;
  readonly index: number;
}

export interface RawHypothesis {
  readonly tokenIds: Int32Array;
  readonly logProbabilities: Float32Array;
  readonly score: number;
  readonly finishReason: number;
}

export interface RawInput {
  readonly source: RawInts;
  readonly labels: RawInts;
  readonly prefix: RawInts;
}

/** Options by the core's names (src/generate/generate_options.hpp); one that is missing is the model's own. */
export type RawOptions = Readonly<Record<string, unknown>>;

export interface RawSession extends Handle {
  done(): boolean;
  /** What became certain with this step. */
  step(): readonly RawToken[] | Failure;
  /** Constrained only: what waits for its allowed tokens. */
  openPrefixes(): readonly { readonly item: number; readonly tokenIds: Int32Array }[];
  allow(open: number, tokenIds: RawInts): null | Failure;
  stop(item: number): null | Failure;
  /** null, or why an item has failed; thrown by `Core.run`. */
  error(item: number): null | Failure;
  /** An index into kFinishReasons. */
  finishReason(item: number): number;
  hypotheses(item: number): readonly RawHypothesis[];
  encoderRuns(item: number): number;
  trace(item: number): readonly RawHead[];
}

/** The module that loads models and runs them. */
export interface RawModule extends RawFiles {
  /** Of builds with threads only, see bindings/wasm/threads.cpp. */
  _serveThread(place: number, bytes: number, thread: number): never;
  ModelLoader: {
    open(
      config: Uint8Array,
      generationConfig: Uint8Array,
      header: RawBuffer<Uint8Array>,
      fileSize: number,
      int8: boolean | null,
    ): RawLoader | Failure;
    openShards(
      config: Uint8Array,
      generationConfig: Uint8Array,
      ...rest: [...RawShards, int8: boolean | null]
    ): RawLoader | Failure;
    /** config: the text of a config.json; file: how errors name the file. */
    openTensors(
      config: string,
      file: string,
      tensors: readonly RawTensor[],
      int8: boolean | null,
    ): RawLoader | Failure;
  };
  Session: {
    start(
      model: RawModel,
      inputs: readonly RawInput[],
      options: RawOptions,
      trace: RawTrace,
    ): RawSession | Failure;
  };
}
