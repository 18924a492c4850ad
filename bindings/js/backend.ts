// From a source to a loaded model, here or in a worker.

import { Core, type Host } from "./core.js";
import { Engine } from "./engine.js";
import { RelataError } from "./errors.js";
import * as check from "./options.js";
import type { Backend } from "./protocol.js";
import { RemoteEngine } from "./remote.js";
import { type Folder, folderOf, invalidSource } from "./source.js";
import { checkSignal } from "./turn.js";
import type { LoadOptions, Progress, Source } from "./types.js";
import { checkThreads, variantFor } from "./variant.js";
import { wasmAddress } from "./wasm-bytes.js";
import { compileCore } from "./wasm-module.js";

/** What differs between browsers and Node. */
export interface Platform extends Host {
  /** The absolute address of a string or URL. Throws anything where it is none. */
  resolve(place: string | URL): URL;
  /** The folder at an address. Error: option_invalid. */
  folderAt(address: URL): Folder;
}

type Wasm = NonNullable<LoadOptions["wasm"]>;

/** Loads a model as `options` say; `Model.load` of both entries. */
export async function loadBackend(
  source: Source,
  options: unknown,
  platform: Platform,
): Promise<Backend> {
  const given = check.optionsOf(options, [
    "dtype",
    "signal",
    "onProgress",
    "worker",
    "threads",
    "variant",
    "wasm",
  ]);
  const watch = {
    signal: check.signalOf(given.signal),
    onProgress: check.functionOf<(progress: Progress) => void>(given.onProgress, "onProgress"),
  };
  const dtype = check.dtypeOf(given.dtype);
  const variant = check.variantOf(given.variant);
  const numThreads = check.threadsOf(given.threads);
  const wasm = wasmOf(given.wasm, platform) ?? wasmAddress(variantFor(variant), numThreads);
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

  if (numThreads > 1) checkThreads(inWorker && hasWorker);

  if (inWorker && hasWorker) {
    // Not URL objects: they cannot be posted.
    const request = {
      source: address?.href ?? source,
      wasm: wasm instanceof URL ? wasm.href : wasm,
      dtype,
      numThreads,
    };
    return RemoteEngine.load(request, watch);
  }
  const module = await compileCore(wasm instanceof URL ? await platform.wasmBytes(wasm) : wasm);
  checkSignal(watch.signal);
  return Engine.load(await Core.instantiate(module, numThreads, platform), folder, dtype, watch);
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
