// What both modules offer as it comes from them, by bindings/wasm/files.hpp: buffers of their heaps, and what files hold.

import type { Failure } from "./errors.js";

/** What Emscripten's factory takes: the module is instantiated by us. */
export interface ModuleOptions {
  instantiateWasm(
    imports: WebAssembly.Imports,
    done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): object;
}

/** An object of the module's heap; it lives until it is deleted. */
export interface Handle {
  delete(): void;
}

/** A buffer in the module's heap. A view dies when the heap grows: ask anew, never keep one. */
export interface RawBuffer<View> extends Handle {
  view(): View;
}

export type RawInts = RawBuffer<Int32Array>;

export interface RawTensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly offset: number;
  readonly bytes: number;
  /** Of integers: what they are multiplied by, one factor or one a row. Else empty. */
  readonly scales: Float32Array;
  /** Which of several files it lies in. */
  readonly file: number;
}

/** An index, and name, header and size of each of its files. */
export type RawShards = readonly [
  index: Uint8Array,
  names: readonly string[],
  headers: readonly RawBuffer<Uint8Array>[],
  sizes: readonly number[],
];

/** What both modules have. */
export interface RawFiles {
  Bytes: { allocate(count: number): RawBuffer<Uint8Array> | Failure };
  Ints: { allocate(count: number): RawInts | Failure };
  headerSize(prefix: RawBuffer<Uint8Array>, fileSize: number, file: string): number | Failure;
  /** The files of a model.safetensors.index.json. */
  shardNames(index: Uint8Array): readonly string[] | Failure;
}
