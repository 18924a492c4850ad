// Where a model's files come from. Every file is read in pieces, so that no file is held as a whole.

import { RelataError, wordsOf } from "./errors.js";
import type { Source } from "./types.js";

/** Bytes handed on at once. */
export const kPieceBytes = 1 << 20;

/** A file open for reading. */
export interface OpenFile {
  readonly size: number;
  /** False where what lies before a byte has to be gone through to reach it. Known after the first `peek`. */
  readonly seekable: boolean;
  /**
   * The bytes [offset, offset + length), in pieces, each of which is valid until the next is asked for. Forwards is cheap. No call
   * may start before the end of the last one.
   */
  read(offset: number, length: number): AsyncIterable<Uint8Array>;
  /** Reads [offset, …) into all of `target` or less, and returns how much: without a copy of its own, where that can be had. */
  readInto?(target: Uint8Array, offset: number): Promise<number>;
  /** The same for a few bytes, which need not lie ahead. */
  peek(offset: number, length: number): Promise<Uint8Array>;
  /** Lets go of what it holds while nothing is read; a later read takes it up again. */
  pause?(): Promise<void>;
  close(): Promise<void>;
}

/** A model's folder, or the one file that holds all of it. */
export interface Folder {
  /** How messages name a file of it; "" names the source itself. */
  place(file: string): string;
  /** Null where there is no such file. "" is the source itself, where that is a file. */
  open(file: string, signal?: AbortSignal): Promise<OpenFile | null>;
  /** The files in it; null where nobody can say. */
  list(): Promise<readonly string[] | null>;
  /** Whether to ask for the source itself first. */
  readonly fileFirst: boolean;
}

/** A file whose bytes can be had from anywhere in it. */
export function rangedFile(
  size: number,
  range: (offset: number, length: number) => Promise<Uint8Array> | Uint8Array,
  {
    place,
    close,
    signal,
    readInto,
  }: {
    place: string;
    close?: () => Promise<void>;
    signal?: AbortSignal | undefined;
    readInto?: NonNullable<OpenFile["readInto"]>;
  },
): OpenFile {
  const unreadable = (error: unknown) =>
    new RelataError("file_damaged", place, `${place} cannot be read: ${wordsOf(error)}`, error);
  const file: OpenFile = {
    size,
    seekable: true,
    async *read(offset, length) {
      const end = Math.min(offset + length, size);
      for (let at = offset; at < end; at += kPieceBytes) {
        if (signal?.aborted) throw signal.reason;
        let piece: Uint8Array;
        try {
          piece = await range(at, Math.min(kPieceBytes, end - at));
        } catch (error) {
          throw unreadable(error);
        }
        yield piece;
      }
    },
    ...(readInto && {
      readInto: (target: Uint8Array, offset: number) =>
        readInto(target, offset).catch((error: unknown) => {
          throw unreadable(error);
        }),
    }),
    peek: (offset, length) => gather(file, offset, length),
    close: close ?? (async () => {}),
  };
  return file;
}

/** The bytes [offset, offset + length) in one piece, fewer where the file ends before. */
export async function gather(
  file: Pick<OpenFile, "size" | "read">,
  offset: number,
  length: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(Math.max(0, Math.min(length, file.size - offset)));
  let at = 0;
  for await (const piece of file.read(offset, bytes.length)) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes.subarray(0, at);
}

/** The files or bytes a source consists of. Error: option_invalid. */
export function folderOf(source: Exclude<Source, string | URL>): Folder {
  if (Array.isArray(source)) return filesFolder(source);
  if (source instanceof Blob) return filesFolder([source as File]);
  if (isBytes(source)) return namedFolder(new Map([["", bytesFile(source)]]));
  return bytesFolder(source as Readonly<Record<string, ArrayBuffer | Uint8Array>>);
}

type Opener = (place: string, signal?: AbortSignal) => OpenFile;

/** Files that are all at hand. A single one may be the whole model. */
function namedFolder(files: ReadonlyMap<string, Opener>): Folder {
  const [only, another] = files.keys();
  const place = (name: string) => (name === "" ? (only ?? "") || "the file" : name);
  const alone = another === undefined && !/\.json$/i.test(only ?? "");
  return {
    place,
    fileFirst: true,
    async open(name, signal) {
      const opener = files.get(name === "" && alone ? (only ?? "") : name);
      return opener === undefined ? null : opener(place(name), signal);
    },
    list: async () => [...files.keys()],
  };
}

function filesFolder(files: readonly File[]): Folder {
  const wrong = files.findIndex((file) => !(file instanceof Blob) || typeof file.name !== "string");
  if (wrong >= 0) throw invalidSource(`[${wrong}] is not a File`);
  // A chosen folder's files know their place in it, whose first part is the folder's own name.
  const nameOf = ({ webkitRelativePath, name }: File) =>
    webkitRelativePath ? webkitRelativePath.replace(/^[^/]*\//, "") : name;
  return namedFolder(
    new Map(
      files.map((file) => {
        const range = async (offset: number, length: number) =>
          new Uint8Array(await file.slice(offset, offset + length).arrayBuffer());
        return [nameOf(file), (place, signal) => rangedFile(file.size, range, { place, signal })];
      }),
    ),
  );
}

function isBytes(value: unknown): value is ArrayBuffer | Uint8Array {
  return value instanceof ArrayBuffer || value instanceof Uint8Array;
}

function bytesFile(given: ArrayBuffer | Uint8Array): Opener {
  const bytes = given instanceof Uint8Array ? given : new Uint8Array(given);
  const range = (offset: number, length: number) => bytes.subarray(offset, offset + length);
  return (place, signal) => rangedFile(bytes.length, range, { place, signal });
}

function bytesFolder(files: Readonly<Record<string, ArrayBuffer | Uint8Array>>): Folder {
  return namedFolder(
    new Map(
      Object.entries(files).map(([name, bytes]) => {
        if (!isBytes(bytes))
          throw invalidSource(`${name} is neither an ArrayBuffer nor a Uint8Array`);
        return [name, bytesFile(bytes)];
      }),
    ),
  );
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
