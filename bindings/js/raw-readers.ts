// The module of readers as it comes, by bindings/wasm/readers: it reads what is not of our own kind, and inspects and converts.

import type { Failure } from "./errors.js";
import type { Handle, RawBuffer, RawFiles, RawShards, RawTensor } from "./raw-files.js";

export interface RawStored extends RawTensor {
  /** Whether products are made with it: such matrices may be kept in 8 bits. */
  readonly isWeight: boolean;
  /** Whether the model would be another without it. */
  readonly isNeeded: boolean;
}

/** A matrix in 8 bits: a value is multiplied by its row's scale and its column's reach (src/kernels/rounded_matmul.hpp). */
export interface RawRounded {
  readonly values: Int8Array<ArrayBuffer>;
  readonly scales: Float32Array<ArrayBuffer>;
  readonly reach: Float32Array<ArrayBuffer>;
}

/** What a model's files hold. */
export interface RawContents {
  /** As config.json says it; null where the file itself does not. */
  readonly config: Readonly<Record<string, unknown>> | null;
  readonly tensors: readonly RawStored[];
}

export interface RawVocabulary {
  readonly pieces: readonly string[];
  readonly scores: Float32Array;
  readonly types: Int32Array;
  readonly charsmap: Uint8Array;
  readonly addSpacePrefix: boolean;
  readonly removeExtraWhitespaces: boolean;
  readonly addEos: boolean;
}

export interface RawTokens {
  readonly unk: string;
  readonly bos: string;
  readonly eos: string;
  readonly decoderStart: string;
  readonly addSourceBos: boolean;
  readonly addSourceEos: boolean;
}

export interface RawIndex extends Handle {
  tokens(config: Uint8Array): RawTokens | Failure;
}

/** Reads a model.bin's index, range by range, until one of 0 bytes. */
export interface RawScanner extends Handle {
  next(): { readonly offset: number; readonly bytes: number };
  accept(bytes: RawBuffer<Uint8Array>): null | Failure;
  finish(): RawIndex | Failure;
}

/** The module that reads what is not of our own kind, and inspects and converts. */
export interface RawReaders extends RawFiles {
  ggufHeaderSize(prefix: RawBuffer<Uint8Array>, fileSize: number): number | Failure;
  ggufVocabulary(header: RawBuffer<Uint8Array>, fileSize: number): RawVocabulary | Failure;
  Ctranslate2Scanner: { open(fileSize: number): RawScanner };
  safetensorsContents(
    config: Uint8Array,
    generationConfig: Uint8Array,
    header: RawBuffer<Uint8Array>,
    fileSize: number,
  ): RawContents | Failure;
  shardsContents(
    config: Uint8Array,
    generationConfig: Uint8Array,
    ...shards: RawShards
  ): RawContents | Failure;
  ggufContents(header: RawBuffer<Uint8Array>, fileSize: number): RawContents | Failure;
  ctranslate2Contents(
    index: RawIndex,
    config: Uint8Array,
    sourceFile: string,
    source: Uint8Array,
    targetFile: string,
    target: Uint8Array,
  ): RawContents | Failure;
  /** A tensor's values, without its scales; null where no weights have the type. */
  decode(dtype: string, bytes: RawBuffer<Uint8Array>): Float32Array | null;
  /** A matrix in 8 bits, as loading rounds it. scales, reach: what its integers are multiplied by, or nothing. */
  round(
    file: string,
    name: string,
    dtype: string,
    bytes: RawBuffer<Uint8Array>,
    rows: number,
    cols: number,
    scales: ArrayLike<number>,
    reach: ArrayLike<number>,
  ): RawRounded | null | Failure;
}
