// Where the builds of the core are, and their bytes over the network.

import { RelataError, wordsOf } from "./errors.js";
import type { Variant } from "./types.js";

/** The file beside this package. Bundlers find the files by these expressions. */
export function wasmAddress(variant: Variant, numThreads: number): URL {
  if (numThreads > 1)
    return variant === "relaxed"
      ? new URL("./wasm/threads/relata-relaxed.wasm", import.meta.url)
      : new URL("./wasm/threads/relata.wasm", import.meta.url);
  return variant === "relaxed"
    ? new URL("./wasm/relata-relaxed.wasm", import.meta.url)
    : new URL("./wasm/relata.wasm", import.meta.url);
}

/** The module of readers. */
export function readersAddress(): URL {
  return new URL("./wasm/readers.wasm", import.meta.url);
}

/** The glue of the builds with threads. */
export function threadsGlueAddress(): URL {
  return new URL("./wasm/threads/relata.js", import.meta.url);
}

/** Error: wasm_unavailable. */
export async function wasmBytes(url: string | URL): Promise<ArrayBuffer> {
  const unavailable = (problem: string, cause?: unknown) =>
    new RelataError("wasm_unavailable", String(url), `${url} ${problem}`, cause);
  const response = await fetch(url).catch((error: unknown) => {
    throw unavailable(`cannot be fetched: ${wordsOf(error)}`, error);
  });
  if (!response.ok) throw unavailable(`was answered with HTTP status ${response.status}`);
  return response.arrayBuffer();
}
