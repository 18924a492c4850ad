// Where relata.wasm is, and its bytes over the network. Bundlers find the file by this expression.

import { RelataError, wordsOf } from "./errors.js";

export function wasmAddress(): URL {
  return new URL("./wasm/relata.wasm", import.meta.url);
}

/** address: null for the file beside this package. Error: wasm_unavailable. */
export async function wasmBytes(address: string | URL | null): Promise<ArrayBuffer> {
  const url = address ?? wasmAddress();
  const unavailable = (problem: string, cause?: unknown) =>
    new RelataError("wasm_unavailable", String(url), `${url} ${problem}`, cause);
  const response = await fetch(url).catch((error: unknown) => {
    throw unavailable(`cannot be fetched: ${wordsOf(error)}`, error);
  });
  if (!response.ok) throw unavailable(`was answered with HTTP status ${response.status}`);
  return response.arrayBuffer();
}
