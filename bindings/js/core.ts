// A running module: its calls, whose failures become exceptions, and buffers in its heap.

import { type Failure, RelataError, wordsOf } from "./errors.js";
import type { RawBuffer, RawFiles, RawInts } from "./raw-files.js";
import type { RawModule } from "./raw-model.js";
import type { RawReaders } from "./raw-readers.js";
import { wasmBytes } from "./wasm-bytes.js";
import { type BytesOf, startModel, startReaders } from "./wasm-module.js";

/** One instance of a module, hence one heap: all of it goes when nobody holds the instance any more. */
export class Core<Raw extends RawFiles = RawModule> {
  readonly #raw: Raw;
  readonly #bytesOf: BytesOf;
  #broken: RelataError | undefined;

  private constructor(
    raw: Raw,
    bytesOf: BytesOf,
    readonly numThreads: number,
  ) {
    this.#raw = raw;
    this.#bytesOf = bytesOf;
  }

  /** numThreads: above one, the module is one with threads. bytesOf: where the module of readers comes from. */
  static async instantiate(
    module: WebAssembly.Module,
    numThreads = 1,
    bytesOf: BytesOf = wasmBytes,
  ): Promise<Core> {
    return new Core(await startModel(module, numThreads), bytesOf, numThreads);
  }

  /** A new instance of the module of readers. Error: wasm_unavailable. */
  async readers(): Promise<Core<RawReaders>> {
    return new Core(await startReaders(this.#bytesOf), this.#bytesOf, 1);
  }

  /** Ends the module's other threads, and its waiting for their messages, which would hold its memory for ever. */
  end(): void {
    this.#raw.PThread?.terminateRuntime();
  }

  /** One call of the module. Its failures are thrown; after a trap every later call throws the same. */
  run<T>(call: (raw: Raw) => T): Exclude<T, Failure> {
    if (this.#broken !== undefined) throw this.#broken;
    let result: T;
    try {
      result = call(this.#raw);
    } catch (error) {
      if (error instanceof RelataError) throw error;
      this.#broken = new RelataError(
        "internal",
        "core",
        `the core stopped unexpectedly (${wordsOf(error)}): load the model again`,
        error,
      );
      throw this.#broken;
    }
    if (isFailure(result)) throw RelataError.at(result);
    return result as Exclude<T, Failure>;
  }

  /** A buffer of `count` bytes; the caller deletes it. Error: out_of_memory. */
  bytes(count: number): RawBuffer<Uint8Array> {
    return this.run((raw) => raw.Bytes.allocate(count));
  }

  /** A copy of integers; the caller deletes it. Error: out_of_memory. */
  ints(values: ArrayLike<number>): RawInts {
    const ints = this.run((raw) => raw.Ints.allocate(values.length));
    ints.view().set(values);
    return ints;
  }

  /** Runs `use` with a copy of each list. Error: out_of_memory. */
  withInts<const Lists extends readonly ArrayLike<number>[], T>(
    lists: Lists,
    use: (buffers: { readonly [I in keyof Lists]: RawInts }) => T,
  ): T {
    const buffers: RawInts[] = [];
    try {
      for (const list of lists) buffers.push(this.ints(list));
      return use(buffers as unknown as { readonly [I in keyof Lists]: RawInts });
    } finally {
      for (const buffer of buffers) buffer.delete();
    }
  }
}

function isFailure(value: unknown): value is Failure {
  return typeof value === "object" && value !== null && "code" in value && "where" in value;
}
