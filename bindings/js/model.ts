/// <reference lib="esnext.disposable" preserve="true" />
// The one public class. What it does happens in a backend: an engine in this thread or in a worker.

import { Core, compileCore } from "./core.js";
import { Engine } from "./engine.js";
import { disposedError, RelataError } from "./errors.js";
import * as check from "./options.js";
import type { Backend, Forced, TraceSelection } from "./protocol.js";
import { RemoteEngine } from "./remote.js";
import { type Folder, fetchFolder, folderOf, invalidSource } from "./source.js";
import { checkSignal } from "./turn.js";
import type {
  AttendOptions,
  AttendResult,
  LoadOptions,
  ModelInfo,
  Progress,
  RunOptions,
  RunResult,
  ScoreOptions,
  ScoreResult,
  Source,
  Step,
  Token,
} from "./types.js";
import { wasmAddress, wasmBytes } from "./wasm-bytes.js";

/** What differs between browsers and Node. */
export interface Platform {
  /** The absolute address of a string or URL. Throws anything where it is none. */
  resolve(place: string | URL): URL;
  /** The folder at an address. Error: option_invalid. */
  folderAt(address: URL): Folder;
  /** The bytes of relata.wasm at an address. */
  wasmBytes(address: URL): Promise<ArrayBuffer | Uint8Array>;
}

const browser: Platform = {
  resolve: (place) => new URL(place, globalThis.document?.baseURI ?? globalThis.location?.href),
  folderAt: fetchFolder,
  wasmBytes,
};

type Wasm = NonNullable<LoadOptions["wasm"]>;

/** Loads a model as `options` say; `Model.load` of both entries. */
export async function loadBackend(
  source: Source,
  options: unknown,
  platform: Platform,
): Promise<Backend> {
  const given = check.optionsOf(options, ["dtype", "signal", "onProgress", "worker", "wasm"]);
  const watch = {
    signal: check.signalOf(given.signal),
    onProgress: check.functionOf<(progress: Progress) => void>(given.onProgress, "onProgress"),
  };
  const dtype = check.dtypeOf(given.dtype);
  const wasm = wasmOf(given.wasm, platform);
  const inWorker =
    check.booleanOf(given.worker, "worker") ?? typeof globalThis.document !== "undefined";
  const hasWorker = typeof Worker !== "undefined";
  if (given.worker === true && !hasWorker) {
    throw new RelataError("option_invalid", "worker", "worker: there is no Worker here");
  }
  const address =
    typeof source === "string" || source instanceof URL
      ? addressOf(source, "source", platform)
      : null;
  const folder = address !== null ? platform.folderAt(address) : folderOf(objectSource(source));
  checkSignal(watch.signal);

  if (inWorker && hasWorker) {
    // Not URL objects: they cannot be posted.
    const request = {
      source: address?.href ?? source,
      wasm: wasm instanceof URL ? wasm.href : wasm,
      dtype,
    };
    return RemoteEngine.load(request, watch);
  }
  const module = await compileCore(
    wasm === null || wasm instanceof URL ? await platform.wasmBytes(wasm ?? wasmAddress()) : wasm,
  );
  checkSignal(watch.signal);
  return Engine.load(await Core.instantiate(module), folder, dtype, watch);
}

/** where: the option the address came by. Error: option_invalid. */
function addressOf(place: string | URL, where: string, platform: Platform): URL {
  const invalid = (problem: string, cause?: unknown) =>
    new RelataError("option_invalid", where, `${where}: ${problem}`, cause);
  if (place === "") throw invalid("is empty");
  try {
    return platform.resolve(place);
  } catch (error) {
    throw invalid(`"${place}" is not an address`, error);
  }
}

function objectSource(source: unknown): Exclude<Source, string | URL> {
  if (typeof source === "object" && source !== null) return source as Exclude<Source, string | URL>;
  throw invalidSource(
    `expected an address, a folder, files or bytes by name, got ${String(source)}`,
  );
}

function wasmOf(value: unknown, platform: Platform): Exclude<Wasm, string> | null {
  if (value === undefined) return null;
  if (typeof value === "string" || value instanceof URL) return addressOf(value, "wasm", platform);
  if (
    value instanceof ArrayBuffer ||
    value instanceof Uint8Array ||
    value instanceof WebAssembly.Module
  )
    return value;
  throw new RelataError(
    "option_invalid",
    "wasm",
    "wasm: expected an address, bytes or a WebAssembly.Module",
  );
}

/**
 * A loaded model. Texts go in and come out; calls may overlap and do not disturb each other.
 *
 * All calls throw a RelataError: `option_invalid` or `input_invalid` for what they were given, `out_of_memory` for a
 * text longer than memory allows (the model stays usable), `disposed` after `dispose`. With a `signal` they
 * reject with the signal's reason within one step.
 */
export class Model {
  readonly #backend: Backend;
  #disposed = false;

  protected constructor(backend: Backend) {
    this.#backend = backend;
  }

  /**
   * Loads config.json, tokenizer.json, model.safetensors and, where it exists, generation_config.json.
   * Errors: those of a damaged or missing file, `network`, `wasm_unavailable`; a failed load keeps no memory.
   */
  static async load(source: Source, options: LoadOptions = {}): Promise<Model> {
    return new Model(await loadBackend(source, options, browser));
  }

  get info(): ModelInfo {
    return this.#backend.info;
  }

  /**
   * Generates greedily, one token at a time; the joined `text` of the steps is the whole text. Leaving the loop stops
   * the work. The generator's return value is what `run` gives. An empty text gives no step.
   */
  generate(text: string, options: RunOptions = {}): AsyncGenerator<Step, RunResult, undefined> {
    const given = check.optionsOf(options, ["maxNewTokens", "trace", "relation", "signal"]);
    const args = {
      text: check.textOf(text, "text"),
      maxNewTokens: check.maxNewTokensOf(given.maxNewTokens),
      trace: check.traceOf(given.trace, this.info),
      labels: check.labelsOf(given.relation, this.info),
    };
    return this.#usable().call("generate", args, check.signalOf(given.signal));
  }

  /** Generates the whole text. An empty text, or one of white space, gives the empty result with no encoder run. */
  async run(text: string, options: RunOptions = {}): Promise<RunResult> {
    return resultOf(this.generate(text, options));
  }

  /** The log probability of a given target, its end token counted. The source must not be empty. */
  async score(source: string, target: string, options: ScoreOptions = {}): Promise<ScoreResult> {
    const given = check.optionsOf(options, ["relation", "signal"]);
    const { tokens, score } = await this.#force(source, target, null, given);
    return { tokens, score };
  }

  /** The attentions of a pass over a given target. The source must not be empty. */
  async attend(source: string, target: string, options: AttendOptions = {}): Promise<AttendResult> {
    const given = check.optionsOf(options, ["trace", "relation", "signal"]);
    const everything = { kinds: ["encoder_self", "decoder_self", "cross"] };
    const trace = check.traceOf(given.trace ?? everything, this.info);
    const forced = await this.#force(source, target, trace, given);
    return { source: forced.source, target: forced.input, trace: forced.trace };
  }

  /** The tokens a source text is read as, special tokens included: n of them for n x n labels. */
  async tokenize(text: string): Promise<readonly Token[]> {
    return resultOf(this.#usable().call("tokenize", { text: check.textOf(text, "text") }));
  }

  /** Frees the model's memory. Calls in progress end with the error `disposed`. A second call does nothing. */
  dispose(): void {
    this.#disposed = true;
    this.#backend.dispose();
  }

  /** For `using`, where the platform has it. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  #force(
    source: string,
    target: string,
    trace: TraceSelection | null,
    given: Readonly<Record<string, unknown>>,
  ): Promise<Forced> {
    const args = {
      source: check.textOf(source, "source"),
      target: check.textOf(target, "target"),
      trace,
      labels: check.labelsOf(given.relation, this.info),
    };
    return resultOf(this.#usable().call("force", args, check.signalOf(given.signal)));
  }

  #usable(): Backend {
    if (this.#disposed) throw disposedError();
    return this.#backend;
  }
}

async function resultOf<Result>(steps: AsyncGenerator<Step, Result, undefined>): Promise<Result> {
  for (;;) {
    const { done, value } = await steps.next();
    if (done) return value;
  }
}
