// The package's entry for Node: the same, and a source may be the path of a folder or a file.

import { open, readdir, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { loadBackend, type Platform } from "./backend.js";
import { RelataError, wordsOf } from "./errors.js";
import { fetchFolder } from "./fetched.js";
import { Model as BrowserModel } from "./model.js";
import { type Folder, type OpenFile, rangedFile, unsupportedScheme } from "./source.js";
import type { LoadOptions, Source } from "./types.js";
import { wasmBytes } from "./wasm-bytes.js";

export { RelataError } from "./errors.js";
export { perplexity } from "./perplexity.js";
export type * from "./types.js";

/** A scheme of two letters or more: C:\models is a path. */
const kAddress = /^[a-z][a-z0-9+.-]+:/i;

/** Error: option_invalid, as for a file on another host. */
function localPath(address: URL): string {
  try {
    return fileURLToPath(address);
  } catch (error) {
    throw new RelataError(
      "option_invalid",
      "source",
      `source: ${address} is no path here: ${wordsOf(error)}`,
      error,
    );
  }
}

function pathFolder(address: URL): Folder {
  const folder = localPath(address);
  const at = (file: string) => (file === "" ? folder : resolve(folder, file));
  return {
    place: at,
    fileFirst: true,
    open: (file, signal) => openPath(at(file), signal),
    async list() {
      const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
      return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
    },
  };
}

/** Null where there is nothing, or a folder. */
async function openPath(place: string, signal?: AbortSignal): Promise<OpenFile | null> {
  const unreadable = (error: unknown) =>
    new RelataError("file_missing", place, `${place} cannot be opened: ${wordsOf(error)}`, error);
  const handle = await open(place).catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw unreadable(error);
  });
  if (handle === null) return null;
  const stats = await handle.stat();
  if (stats.isDirectory()) {
    await handle.close();
    return null;
  }
  const range = async (offset: number, length: number) => {
    const bytes = new Uint8Array(length);
    const { bytesRead } = await handle.read(bytes, 0, length, offset);
    return bytes.subarray(0, bytesRead);
  };
  return rangedFile(stats.size, range, { place, signal, close: () => handle.close() });
}

function isMissing(error: unknown): boolean {
  return (
    error instanceof Error &&
    "code" in error &&
    ["ENOENT", "ENOTDIR", "EISDIR"].includes(String(error.code))
  );
}

const node: Platform = {
  resolve(place) {
    if (place instanceof URL) return place;
    return kAddress.test(place) ? new URL(place) : pathToFileURL(resolve(place));
  },
  folderAt(address) {
    if (address.protocol === "file:") return pathFolder(address);
    if (!/^https?:$/.test(address.protocol)) throw unsupportedScheme(address);
    return fetchFolder(address);
  },
  async wasmBytes(address) {
    if (address.protocol !== "file:") return wasmBytes(address);
    return readFile(address).catch((error: unknown) => {
      throw new RelataError(
        "wasm_unavailable",
        address.href,
        `${address} cannot be read: ${wordsOf(error)}`,
        error,
      );
    });
  },
};

export class Model extends BrowserModel {
  static override async load(source: Source, options: LoadOptions = {}): Promise<Model> {
    return new Model(await loadBackend(source, options, node));
  }
}
