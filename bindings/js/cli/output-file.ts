// Where results go, a line for each: standard output, or a file that an interrupted run can go on with.

import { type FileHandle, open, stat } from "node:fs/promises";
import { wordsOf } from "../errors.js";
import { UsageError } from "./arguments.js";
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

export interface OutputPlan {
  /** Null: standard output. */
  readonly output: string | null;
  /** Null: standard input. */
  readonly input: string | null;
  /** Go on behind the last whole line of the file, if it is there. */
  readonly resume: boolean;
  readonly json: boolean;
}

/** Errors: UsageError where something would be lost: the input itself, or results of a run before. */
export async function openOutput({ output, input, resume, json }: OutputPlan): Promise<Output> {
  const file = output;
  if (file === null) return { done: 0, write: print, close: async () => {} };
  const [there, read] = await Promise.all(
    [file, input].map((path) => (path === null ? null : stat(path).catch(() => null))),
  );
  if (there && read && there.dev === read.dev && there.ino === read.ino)
    throw new UsageError(`--output ${file} is the file of --input`);
  if (there?.isFile() && there.size > 0 && !resume)
    throw new UsageError(`--output ${file} is there and not empty: --resume goes on with it`);
  const unwritable = (error: unknown) => {
    throw new Error(`${file} cannot be written: ${wordsOf(error)}`, { cause: error });
  };
  const handle = await open(file, resume ? "a+" : "w").catch(unwritable);
  const { lines, bytes, last } = resume
    ? await wholeLines(handle)
    : { lines: 0, bytes: 0, last: "" };
  if (lines > 0 && numberIn(last) !== (json ? lines : null)) {
    await handle.close();
    const form = json ? "--json" : "plain text";
    throw new UsageError(`--output ${file} ends with a line that no run with ${form} has written`);
  }
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

/** The number of the text that a line of JSON is of; null where it is none. */
function numberIn(line: string): number | null {
  try {
    const { line: number } = JSON.parse(line);
    return Number.isInteger(number) ? number : null;
  } catch {
    return null;
  }
}

/** How many lines of a file are whole, where the last of them ends, and what it says. */
async function wholeLines(handle: FileHandle) {
  const piece = new Uint8Array(kPieceBytes);
  let [lines, before, bytes, at] = [0, 0, 0, 0];
  for (;;) {
    const { bytesRead } = await handle.read(piece, 0, kPieceBytes, at);
    if (bytesRead === 0) {
      const last = new Uint8Array(bytes - before);
      await handle.read(last, 0, last.length, before);
      return { lines, bytes, last: new TextDecoder().decode(last) };
    }
    for (let i = piece.indexOf(kNewline); i >= 0 && i < bytesRead; ) {
      lines += 1;
      before = bytes;
      bytes = at + i + 1;
      i = piece.indexOf(kNewline, i + 1);
    }
    at += bytesRead;
  }
}
