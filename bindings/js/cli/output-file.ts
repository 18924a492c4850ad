// Where results go, a line for each: standard output, or a file that an interrupted run can go on with.

import { chmod, open, realpath, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { wordsOf } from "../errors.js";
import { UsageError } from "./arguments.js";
import { type Before, kNothingBefore, readBefore, replaced } from "./before.js";
import { print } from "./output.js";

export interface Output {
  readonly before: Before;
  /** Cuts off what is half written and puts lines in the place of others, by number: before the first `write`. */
  goOn(mended: ReadonlyMap<number, string>): Promise<void>;
  /** Returns whether somebody still reads. */
  write(text: string): Promise<boolean>;
  close(): Promise<void>;
}

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
  if (file === null)
    return { before: kNothingBefore, goOn: async () => {}, write: print, close: async () => {} };
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
  const before = resume && there?.isFile() ? await readBefore(file, json) : kNothingBefore;
  let handle = await open(file, resume ? "a" : "w").catch(unwritable);
  /** How long the file has to be: longer or shorter, another run writes to it. A pipe has no length. */
  let due = (await handle.stat()).isFile() ? (there && resume ? there.size : 0) : null;
  const check = async () => {
    if (due === null || (await stat(file).catch(unwritable))?.size === due) return;
    throw new Error(`${file} is written to by somebody else as well: one run at a time`);
  };
  return {
    before,
    async goOn(mended) {
      if (!there?.isFile()) return;
      await check();
      if (mended.size === 0) {
        due = before.bytes;
        return truncate(file, due).catch(unwritable);
      }
      // Never less than what was there, whenever this ends.
      const path = await realpath(file);
      // A name that nobody else has given a file.
      const part = `${path}.${process.pid}.part`;
      try {
        await writeFile(part, replaced(path, mended));
        await chmod(part, there.mode);
        due = (await stat(part)).size;
        await rename(part, path);
      } catch (error) {
        await rm(part, { force: true });
        unwritable(error);
      }
      await handle.close();
      handle = await open(path, "a").catch(unwritable);
    },
    async write(text) {
      await check();
      await handle.appendFile(text).catch(unwritable);
      if (due !== null) due += Buffer.byteLength(text);
      return true;
    },
    close: () => handle.close().catch(unwritable),
  };
}
