// Where a model's files come from. Every file is read front to back in pieces, so that no file is held as a whole.

import { RelataError, wordsOf } from "./errors.js";
import type { Source } from "./types.js";

/** Bytes handed on at once. */
export const kPieceBytes = 1 << 20;

/** A file open for reading, front to back. */
export interface OpenFile {
  readonly size: number;
  /** The bytes [offset, offset + length), in pieces. No call may start before the end of the last one. */
  read(offset: number, length: number): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** A model's folder. */
export interface Folder {
  /** How messages name a file of it. */
  place(file: string): string;
  /** Null where there is no such file. */
  open(file: string, signal?: AbortSignal): Promise<OpenFile | null>;
}

/** A file whose bytes can be had from anywhere in it. */
export function rangedFile(
  size: number,
  range: (offset: number, length: number) => Promise<Uint8Array> | Uint8Array,
  {
    place,
    close,
    signal,
  }: { place: string; close?: () => Promise<void>; signal?: AbortSignal | undefined },
): OpenFile {
  return {
    size,
    async *read(offset, length) {
      const end = Math.min(offset + length, size);
      for (let at = offset; at < end; at += kPieceBytes) {
        if (signal?.aborted) throw signal.reason;
        let piece: Uint8Array;
        try {
          piece = await range(at, Math.min(kPieceBytes, end - at));
        } catch (error) {
          throw new RelataError(
            "file_damaged",
            place,
            `${place} cannot be read: ${wordsOf(error)}`,
            error,
          );
        }
        yield piece;
      }
    },
    close: close ?? (async () => {}),
  };
}

/** All of a file's bytes; for the small ones. */
export async function readAll(file: OpenFile): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(file.size);
  let at = 0;
  for await (const piece of file.read(0, file.size)) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes.subarray(0, at);
}

/** The folder of files or bytes a source names; null where it is an address instead. */
export function folderOf(source: Exclude<Source, string | URL>): Folder {
  return Array.isArray(source)
    ? filesFolder(source)
    : bytesFolder(source as Readonly<Record<string, ArrayBuffer | Uint8Array>>);
}

function filesFolder(files: readonly File[]): Folder {
  const wrong = files.findIndex((file) => !(file instanceof Blob) || typeof file.name !== "string");
  if (wrong >= 0) throw invalidSource(`[${wrong}] is not a File`);
  return {
    place: (name) => name,
    async open(name, signal) {
      const file = files.find((candidate) => candidate.name === name);
      if (file === undefined) return null;
      const range = async (offset: number, length: number) =>
        new Uint8Array(await file.slice(offset, offset + length).arrayBuffer());
      return rangedFile(file.size, range, { place: name, signal });
    },
  };
}

function bytesFolder(files: Readonly<Record<string, ArrayBuffer | Uint8Array>>): Folder {
  for (const [name, bytes] of Object.entries(files)) {
    if (bytes instanceof ArrayBuffer || bytes instanceof Uint8Array) continue;
    throw invalidSource(`${name} is neither an ArrayBuffer nor a Uint8Array`);
  }
  return {
    place: (name) => name,
    async open(name, signal) {
      const entry = Object.hasOwn(files, name) ? files[name] : undefined;
      if (entry === undefined) return null;
      const bytes = entry instanceof Uint8Array ? entry : new Uint8Array(entry);
      const range = (offset: number, length: number) => bytes.subarray(offset, offset + length);
      return rangedFile(bytes.length, range, { place: name, signal });
    },
  };
}

export function invalidSource(problem: string): RelataError {
  return new RelataError("option_invalid", "source", `source: ${problem}`);
}

/** For an address whose scheme knows no folders, as that of data: does not. */
export function unsupportedScheme({ protocol }: URL): RelataError {
  return invalidSource(
    `${protocol} addresses are not supported: a folder is at http:, https: or file:`,
  );
}

/** A folder behind an address; a last `/` is added where it is missing. Error: option_invalid. */
export function fetchFolder(address: URL): Folder {
  if (address.pathname !== "" && !address.pathname.startsWith("/"))
    throw unsupportedScheme(address);
  const base = new URL(address);
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  return {
    place: (file) => new URL(file, base).href,
    open: (file, signal) => openAddress(new URL(file, base), signal),
  };
}

/** Asks for an address; null where the server has nothing there. */
async function openAddress(address: URL, signal?: AbortSignal): Promise<OpenFile | null> {
  const place = address.href;
  const network = (problem: string, cause?: unknown) =>
    new RelataError("network", place, `${place} ${problem}`, cause);
  const orReason = (error: unknown) =>
    signal?.aborted ? signal.reason : network(`cannot be fetched: ${wordsOf(error)}`, error);

  const response = await fetch(address, signal ? { signal } : {}).catch((error: unknown) => {
    throw orReason(error);
  });
  // Servers of single-page applications answer any address with their page.
  const isPage = response.headers.get("content-type")?.startsWith("text/html") ?? false;
  if (response.status === 404 || response.status === 410 || (response.ok && isPage)) {
    await response.body?.cancel();
    return null;
  }
  if (!response.ok) {
    await response.body?.cancel();
    throw network(`was answered with HTTP status ${response.status}`);
  }

  const size = Number(response.headers.get("content-length") ?? Number.NaN);
  if (
    response.body === null ||
    !Number.isSafeInteger(size) ||
    response.headers.has("content-encoding")
  ) {
    // The length of what will arrive is not known before it has.
    const bytes = new Uint8Array(
      await response.arrayBuffer().catch((error: unknown) => {
        throw orReason(error);
      }),
    );
    return rangedFile(bytes.length, (offset, length) => bytes.subarray(offset, offset + length), {
      place,
      signal,
    });
  }

  const reader = response.body.getReader();
  let rest = new Uint8Array(0);
  let position = 0;
  return {
    size,
    async *read(offset, length) {
      const end = Math.min(offset + length, size);
      while (position < end) {
        if (rest.length === 0) {
          const { done, value } = await reader.read().catch((error: unknown) => {
            throw orReason(error);
          });
          if (done) throw network(`ended after ${position} of ${size} bytes`);
          rest = value;
          continue;
        }
        const skipped = Math.min(rest.length, Math.max(0, offset - position));
        const piece = rest.subarray(skipped, Math.min(rest.length, end - position));
        rest = rest.subarray(skipped + piece.length);
        position += skipped + piece.length;
        if (piece.length > 0) yield piece;
      }
    },
    async close() {
      await reader.cancel().catch(() => {});
    },
  };
}
