// What an interrupted run has left in its file: which lines are whole, which of them have failed, and whether they are of this run.

import { createReadStream } from "node:fs";
import { wordsOf } from "../errors.js";
import { UsageError } from "./arguments.js";

export interface Before {
  /** Whole lines, and the bytes they take. */
  readonly lines: number;
  readonly bytes: number;
  /** The numbers of those with an error; plain text does not tell. */
  readonly failed: readonly number[];
  /** Some of the last that have not failed, by number: what they say is compared with what this run gives. */
  readonly last: ReadonlyMap<number, string>;
}

export const kNothingBefore: Before = { lines: 0, bytes: 0, failed: [], last: new Map() };

const kCompared = 8;
const kNewline = 10;

/** Errors: UsageError where the lines are of another kind. */
export async function readBefore(file: string, json: boolean): Promise<Before> {
  const other = (line: number) => {
    const form = json ? "--json" : "plain text";
    return new UsageError(
      `line ${line} of --output ${file} is none that a run with ${form} writes`,
    );
  };
  let [lines, bytes] = [0, 0];
  const failed: number[] = [];
  const last = new Map<number, string>();
  for await (const { line, end } of wholeLines(file)) {
    lines += 1;
    bytes = end;
    const record = json ? recordIn(line) : null;
    if (json && record?.line !== lines) throw other(lines);
    if (record !== null && "error" in record) failed.push(lines);
    else last.set(lines, line);
    const [oldest] = last.keys();
    if (last.size > kCompared) last.delete(oldest as number);
  }
  // One line of plain text may look like anything; the last is asked.
  if (!json && recordIn(last.get(lines) ?? "") !== null) throw other(lines);
  return { lines, bytes, failed, last };
}

/** Whether two lines are results of one text and one search. Scores may differ in their last digits from machine to machine. */
export function isSame(one: string, other: string, json: boolean): boolean {
  return json ? withoutScores(one) === withoutScores(other) : one === other;
}

function withoutScores(line: string): string {
  const record = JSON.parse(line);
  return JSON.stringify(record, (key, value) => (key === "score" ? undefined : value));
}

/** A file's lines with some of them replaced, by number. */
export async function* replaced(
  file: string,
  by: ReadonlyMap<number, string>,
): AsyncGenerator<string> {
  let number = 0;
  for await (const { line } of wholeLines(file)) yield by.get(++number) ?? line;
}

/** The record of a text, as a line of JSON has it; null where it is none. */
function recordIn(line: string): { readonly line: number } | null {
  try {
    const record = JSON.parse(line);
    return Number.isInteger(record.line) ? record : null;
  } catch {
    return null;
  }
}

/** The whole lines of a file, with their line feeds, and where each ends. */
async function* wholeLines(file: string): AsyncGenerator<{ line: string; end: number }> {
  let rest: Buffer = Buffer.alloc(0);
  let start = 0;
  try {
    for await (const piece of createReadStream(file)) {
      const bytes = Buffer.concat([rest, piece as Buffer]);
      let from = 0;
      for (let at = bytes.indexOf(kNewline); at >= 0; at = bytes.indexOf(kNewline, from)) {
        yield { line: bytes.toString("utf8", from, at + 1), end: start + at + 1 };
        from = at + 1;
      }
      rest = bytes.subarray(from);
      start += from;
    }
  } catch (error) {
    throw new Error(`${file} cannot be read: ${wordsOf(error)}`, { cause: error });
  }
}
