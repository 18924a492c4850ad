// A running module: its calls, whose failures become exceptions, and buffers in its heap.

import { type Failure, RelataError, wordsOf } from "./errors.js";
import type { RawBuffer, RawFiles, RawInts } from "./raw-files.js";
import type { RawModule } from "./raw-model.js";
import type { RawReaders } from "./raw-readers.js";
import { type StartThread, type Thread, webThread } from "./threads.js";
import { wasmBytes } from "./wasm-bytes.js";
import { type BytesOf, startModel, startReaders } from "./wasm-module.js";

/** Where modules and threads come from. */
export interface Host {
  /** The bytes of a module at an address. */
  readonly wasmBytes: BytesOf;
  readonly startThread: StartThread;
}

export const kWebHost: Host = { wasmBytes, startThread: webThread };

/** Threads outlive a core that nobody holds any more, unless they are ended. */
const kForgotten = new FinalizationRegistry<readonly Thread[]>(endThreads);

function endThreads(threads: readonly Thread[]): void {
  for (const thread of threads) thread.terminate();
}

/** One instance of a module, hence one heap: all of it goes when nobody holds the instance any more. */
export class Core<Raw extends RawFiles = RawModule> {
  readonly #raw: Raw;
  readonly #host: Host;
  readonly #threads: readonly Thread[];
  #broken: RelataError | undefined;

  private constructor(raw: Raw, host: Host, threads: readonly Thread[] = []) {
    this.#raw = raw;
    this.#host = host;
    this.#threads = threads;
    if (threads.length > 0) kForgotten.register(this, threads);
  }

  /** numThreads: above one, the module is one with threads. Errors: wasm_unavailable, out_of_memory. */
  static async instantiate(
    module: WebAssembly.Module,
    numThreads = 1,
    host: Host = kWebHost,
  ): Promise<Core> {
    const { raw, threads } = await startModel(module, numThreads, host.startThread);
    return new Core(raw, host, threads);
  }

  /** A new instance of the module of readers. Error: wasm_unavailable. */
  async readers(): Promise<Core<RawReaders>> {
    return new Core(await startReaders(this.#host.wasmBytes), this.#host);
  }

  get numThreads(): number {
    return this.#threads.length + 1;
  }

  /** Ends the module's other threads, which hold its memory. */
  end(): void {
    endThreads(this.#threads);
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
