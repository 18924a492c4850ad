// The WebAssembly module: how it comes to be, its raw interface (bindings/wasm), and failures as exceptions.

import { type Failure, RelataError, wordsOf } from "./errors.js";
import createModule from "./wasm/relata.js";
import { readersAddress, threadsGlueAddress, wasmBytes } from "./wasm-bytes.js";

/** An object of the module's heap; it lives until it is deleted. */
export interface Handle {
  delete(): void;
}

/** A buffer in the module's heap. A view dies when the heap grows: ask anew, never keep one. */
export interface RawBuffer<View> extends Handle {
  view(): View;
}

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

/** Bytes of one of several files. */
export interface RawRange {
  readonly file: number;
  readonly offset: number;
  readonly bytes: number;
}

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

/** A tensor of a loaded model; a vector is one row. */
export interface RawValues {
  readonly rows: number;
  readonly values: Float32Array;
}

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

export type RawInts = RawBuffer<Int32Array>;

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

/** An index, and name, header and size of each of its files. */
export type RawShards = readonly [
  index: Uint8Array,
  names: readonly string[],
  headers: readonly RawBuffer<Uint8Array>[],
  sizes: readonly number[],
];

/** What both modules have. */
export interface RawFiles {
  /** Only with threads. */
  readonly PThread?: { terminateRuntime(): void };
  Bytes: { allocate(count: number): RawBuffer<Uint8Array> | Failure };
  Ints: { allocate(count: number): RawInts | Failure };
  headerSize(prefix: RawBuffer<Uint8Array>, fileSize: number, file: string): number | Failure;
  /** The files of a model.safetensors.index.json. */
  shardNames(index: Uint8Array): readonly string[] | Failure;
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

/** The module that loads models and runs them. */
export interface RawModule extends RawFiles {
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

/** Only who asks for threads fetches it. Its own workers import it again, by its address. */
async function threadsGlue(): Promise<typeof createModule> {
  const { href } = threadsGlueAddress();
  const glue = await import(/* @vite-ignore */ href).catch((error: unknown) => {
    throw unavailable(href, `${href} cannot be loaded: ${wordsOf(error)}`, error);
  });
  return glue.default;
}

/** What Emscripten's factory takes: the module is instantiated by us. numThreads: all, before the module starts. */
export interface ModuleOptions {
  readonly numThreads: number;
  instantiateWasm(
    imports: WebAssembly.Imports,
    done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): object;
}

/** (module (func (result v128) (i8x16.splat (i32.const 0)))): valid where there is SIMD. */
const kSimdModule = new Uint8Array([
  ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7b],
  ...[0x03, 0x02, 0x01, 0x00, 0x0a, 0x08, 0x01, 0x06, 0x00, 0x41, 0x00, 0xfd, 0x0f, 0x0b],
]);

function unavailable(where: string, message: string, cause?: unknown): RelataError {
  return new RelataError("wasm_unavailable", where, message, cause);
}

/** Compiles the core, after a look at what the machine can do. Error: wasm_unavailable. */
export async function compileCore(
  wasm: WebAssembly.Module | ArrayBuffer | Uint8Array,
  name = "relata.wasm",
): Promise<WebAssembly.Module> {
  if (typeof WebAssembly === "undefined") {
    throw unavailable(
      "WebAssembly",
      "WebAssembly is missing or switched off here: Relata cannot run without it",
    );
  }
  if (!WebAssembly.validate(kSimdModule)) {
    throw unavailable(
      "WebAssembly SIMD",
      "WebAssembly SIMD is missing here: update to Chrome 91, Firefox 89, Safari 16.4, Node 20 or newer",
    );
  }
  if (wasm instanceof WebAssembly.Module) return wasm;
  try {
    return await WebAssembly.compile(wasm as BufferSource);
  } catch (error) {
    throw unavailable(
      name,
      `${name} cannot be compiled (${wordsOf(error)}); under a Content-Security-Policy, script-src needs 'wasm-unsafe-eval'`,
      error,
    );
  }
}

/** Error: wasm_unavailable. */
async function start<Raw>(
  create: (options: ModuleOptions) => Promise<Raw>,
  module: WebAssembly.Module,
  numThreads: number,
  name = "relata.wasm",
): Promise<Raw> {
  const { Worker } = globalThis;
  const raw = await new Promise<Raw>((resolve, reject) => {
    const instantiateWasm: ModuleOptions["instantiateWasm"] = (imports, done) => {
      // A foreign module fails in `done`, where its exports are looked for.
      WebAssembly.instantiate(module, imports)
        .then((instance) => done(instance, module))
        .catch(reject);
      return {};
    };
    create({ instantiateWasm, numThreads }).then(resolve, reject);
  }).catch((error: unknown) => {
    throw unavailable(name, `${name} cannot be started: ${wordsOf(error)}`, error);
  });
  // In Node the glue with threads leaves its own here.
  if (globalThis.Worker !== Worker) globalThis.Worker = Worker;
  return raw;
}

/** The bytes of a module at an address. */
export type BytesOf = (address: URL) => Promise<ArrayBuffer | Uint8Array>;

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
    const create = numThreads > 1 ? await threadsGlue() : createModule;
    const raw = await start(create, module, numThreads);
    return new Core(raw, bytesOf, numThreads);
  }

  /** A new instance of the module of readers, fetched by those who need it. Error: wasm_unavailable. */
  async readers(): Promise<Core<RawReaders>> {
    const [glue, bytes] = await Promise.all([
      import("./wasm/readers.js"),
      this.#bytesOf(readersAddress()),
    ]);
    const name = "readers.wasm";
    const raw = await start(glue.default, await compileCore(bytes, name), 1, name);
    return new Core<RawReaders>(raw, this.#bytesOf, 1);
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
