// Reading the files of a model: the small ones whole, the large ones into the core, and what a load may be watched by.

import type { Core } from "../core.js";
import { RelataError } from "../errors.js";
import type { RawBuffer, RawFiles } from "../raw-files.js";
import { type Folder, gather, type OpenFile } from "../source.js";
import { checkSignal, turn } from "../turn.js";
import type { Progress } from "../types.js";

/** No file beside the weights is as long; checked before it is read. */
const kMaxSmallBytes = 1 << 28;

export interface Watch {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** A small file of a model, by its name. */
export interface SmallFile {
  readonly name: string;
  readonly place: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** A file of weights. */
export interface WeightsFile {
  readonly name: string;
  readonly place: string;
  readonly file: OpenFile;
}

/** The files of a folder as one model asks for them. */
export class ModelFiles {
  readonly folder: Folder;
  readonly signal: AbortSignal | undefined;
  /** All small files so far: part of the progress, and of what a conversion copies. */
  readonly read: SmallFile[] = [];

  constructor(folder: Folder, signal: AbortSignal | undefined) {
    this.folder = folder;
    this.signal = signal;
  }

  /** Null where there is no such file. Error: file_damaged where it is too long. */
  async small(name: string): Promise<SmallFile | null> {
    const before = this.read.find((file) => file.name === name);
    if (before !== undefined) return before;
    const opened = await this.folder.open(name, this.signal);
    if (opened === null) return null;
    const place = this.folder.place(name);
    try {
      if (opened.size > kMaxSmallBytes) {
        const problem = `${place} is too long for such a file: ${opened.size} bytes`;
        throw new RelataError("file_damaged", place, problem);
      }
      const file = { name, place, bytes: await gather(opened, 0, opened.size) };
      this.read.push(file);
      return file;
    } finally {
      await opened.close();
    }
  }

  /** The first of some files that is there. */
  async first(names: readonly string[]): Promise<SmallFile | null> {
    for (const name of names) {
      const file = await this.small(name);
      if (file !== null) return file;
    }
    return null;
  }

  async weights(name: string): Promise<WeightsFile | null> {
    const file = await this.folder.open(name, this.signal);
    const place = this.folder.place(name);
    const called = name || (place.split(/[/\\]/).at(-1) as string);
    return file === null ? null : { name: called, place, file };
  }

  /** instead: what was looked for in its place, or what to do. */
  missing(name: string, instead = ""): RelataError {
    const place = this.folder.place(name);
    return new RelataError("file_missing", place, `${place} is missing${instead}`);
  }
}

/**
 * Copies the file's bytes [offset, offset + length) into a buffer of the core, from its byte `at` on. report: the position
 * in the file reached.
 */
export async function fill(
  buffer: RawBuffer<Uint8Array>,
  at: number,
  { name, place, file }: WeightsFile,
  offset: number,
  length: number,
  report: (position: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  let filled = 0;
  const done = async (count: number) => {
    filled += count;
    report(offset + filled);
    await turn();
    checkSignal(signal);
  };
  if (file.readInto !== undefined) {
    // Nothing else runs in the core while it is loaded into, so that its heap stays where it is.
    let count = 1;
    while (filled < length && count > 0) {
      const target = buffer.view().subarray(at + filled, at + length);
      count = await file.readInto(target, offset + filled);
      await done(count);
    }
  } else {
    for await (const piece of file.read(offset, length)) {
      buffer.view().set(piece, at + filled);
      await done(piece.length);
    }
  }
  if (filled < length) {
    const problem = `${name} ends at byte ${offset + filled}, too early`;
    throw new RelataError("file_damaged", place, problem);
  }
}

/**
 * The beginning of a file in a buffer of the core, as much as `sizeOf` finds it to take: it is shown more and more until it
 * asks for no more than it was shown. The caller deletes it.
 */
export async function readHeader(
  core: Core<RawFiles>,
  weights: WeightsFile,
  first: number,
  sizeOf: (shown: RawBuffer<Uint8Array>) => number,
  signal?: AbortSignal,
): Promise<RawBuffer<Uint8Array>> {
  let shown = core.bytes(Math.min(first, weights.file.size));
  try {
    let have = 0;
    for (;;) {
      const due = shown.view().length;
      await fill(shown, have, weights, have, due - have, () => {}, signal);
      const size = sizeOf(shown);
      if (size <= due || due === weights.file.size) return shown;
      const more = core.bytes(Math.min(size, weights.file.size));
      more.view().set(shown.view());
      shown.delete();
      shown = more;
      have = due;
    }
  } catch (error) {
    shown.delete();
    throw error;
  }
}
