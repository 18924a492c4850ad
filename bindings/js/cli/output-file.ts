// Where results go, a line for each: standard output, or a file that an interrupted run can go on with.

import { type FileHandle, open } from "node:fs/promises";
import { wordsOf } from "../errors.js";
import { print } from "./output.js";

export interface Output {
  /** Lines that were there before. */
  readonly done: number;
  /** Returns whether somebody still reads. */
  write(text: string): Promise<boolean>;
  close(): Promise<void>;
}

const kNewline = 10;
const kPieceBytes = 1 << 16;

/** file: null for standard output. resume: go on behind the last whole line of the file, if it is there. */
export async function openOutput(file: string | null, resume: boolean): Promise<Output> {
  if (file === null) return { done: 0, write: print, close: async () => {} };
  const unwritable = (error: unknown) => {
    throw new Error(`${file} cannot be written: ${wordsOf(error)}`, { cause: error });
  };
  const handle = await open(file, resume ? "a+" : "w").catch(unwritable);
  const { lines, bytes } = resume ? await wholeLines(handle) : { lines: 0, bytes: 0 };
  // What is behind it was cut off in the middle.
  if (resume) await handle.truncate(bytes).catch(unwritable);
  return {
    done: lines,
    async write(text) {
      await handle.appendFile(text).catch(unwritable);
      return true;
    },
    close: () => handle.close().catch(unwritable),
  };
}

/** How many lines of a file are whole, and where the last of them ends. */
async function wholeLines(handle: FileHandle): Promise<{ lines: number; bytes: number }> {
  const piece = new Uint8Array(kPieceBytes);
  let [lines, bytes, at] = [0, 0, 0];
  for (;;) {
    const { bytesRead } = await handle.read(piece, 0, kPieceBytes, at);
    if (bytesRead === 0) return { lines, bytes };
    for (let i = piece.indexOf(kNewline); i >= 0 && i < bytesRead; ) {
      lines += 1;
      bytes = at + i + 1;
      i = piece.indexOf(kNewline, i + 1);
    }
    at += bytesRead;
  }
}
