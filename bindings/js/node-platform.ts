// What the package needs of Node: paths as folders and files, and the core's bytes from the disk.

import { open, readdir, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Platform } from "./backend.js";
import { RelataError, wordsOf } from "./errors.js";
import { fetchFolder } from "./fetched.js";
import { type Folder, type OpenFile, rangedFile, unsupportedScheme } from "./source.js";
import { wasmBytes } from "./wasm-bytes.js";

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
  // One piece for all, or megabytes of them wait to be collected.
  let piece = new Uint8Array(0);
  const range = async (offset: number, length: number) => {
    if (piece.length < length) piece = new Uint8Array(length);
    const { bytesRead } = await handle.read(piece, 0, length, offset);
    return piece.subarray(0, bytesRead);
  };
  const readInto = async (target: Uint8Array, offset: number) =>
    (await handle.read(target, 0, target.length, offset)).bytesRead;
  return rangedFile(stats.size, range, { place, signal, readInto, close: () => handle.close() });
}

function isMissing(error: unknown): boolean {
  return (
    error instanceof Error &&
    "code" in error &&
    ["ENOENT", "ENOTDIR", "EISDIR"].includes(String(error.code))
  );
}

export const node: Platform = {
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
  async startThread(start) {
    // Most never need it.
    const { Worker } = await import("node:worker_threads");
    // What the program was started with is not for it: --input-type, say.
    const worker = new Worker(new URL("./node-thread.js", import.meta.url), { execArgv: [] });
    await new Promise((resolve, reject) => {
      worker.once("message", resolve).once("error", reject);
      worker.once("exit", () => reject(new Error("a worker has ended before it worked")));
      worker.postMessage(start);
    });
    // A program ends though it has not disposed of its models.
    worker.unref();
    return { terminate: () => void worker.terminate() };
  },
};
