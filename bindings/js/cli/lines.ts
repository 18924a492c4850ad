// `relata run` over many texts: each gives a line of output, in their order.

import type { SearchOptions } from "../node.js";
import { UsageError } from "./arguments.js";
import { type Before, isSame } from "./before.js";
import { toJson } from "./output.js";
import { type OutputPlan, openOutput } from "./output-file.js";
import { type Outcome, openPool, type Pool, type Setup } from "./pool.js";
import { Progress } from "./progress.js";
import type { Field, Records } from "./records.js";
import { inFlags } from "./search-flags.js";

export interface LinesPlan extends OutputPlan {
  readonly setup: Setup;
  readonly workers: number;
}

/**
 * Rows that a lot gives a model to do. A lot is written when all of it is done: so much of an interrupted run is done again,
 * and so much there is to sort by length.
 */
const kLotRows = 64;

function lotOf({ numBeams, numReturnSequences, batchSize }: SearchOptions): number {
  const rows = Math.max(numBeams ?? 1, numReturnSequences ?? 1);
  return Math.max(1, Math.min(Math.floor(kLotRows / rows), batchSize ?? kLotRows));
}

/** What one text gives: a line of output, and what is said of it elsewhere. */
function lineOf(plan: LinesPlan, number: number, outcome: Outcome): string {
  const { text, score, finishReason, sequences, error } = outcome;
  // A line is a line.
  if (!plan.json) return `${text.replace(/\r\n|[\n\r\u2028\u2029]/g, " ")}\n`;
  if (error !== null) return toJson({ line: number, error });
  const more = sequences.length > 1 ? { sequences } : {};
  return toJson({ line: number, text, score, finishReason, ...more });
}

/** The outcomes of a lot, in which some records may have no text. */
async function outcomesOf(
  run: (texts: readonly string[]) => Promise<readonly Outcome[]>,
  fields: readonly Field[],
): Promise<Outcome[]> {
  const texts = fields.flatMap((field) => ("text" in field ? [field.text] : []));
  const outcomes = texts.length === 0 ? [] : await run(texts);
  let next = 0;
  return fields.map((field) => {
    const outcome = "text" in field ? outcomes[next++] : undefined;
    if (outcome !== undefined) return outcome;
    const message = "problem" in field ? field.problem : "it gave nothing";
    const error = { code: "input_invalid" as const, where: "input", message };
    return { text: "", score: 0, finishReason: "failed", sequences: [], error, isDrawn: false };
  });
}

const fieldOf = (first: Field | undefined): Field => first ?? { problem: "it is empty" };

/** Texts whose lines are there and that are done once more, by number. */
type Again = ReadonlyMap<number, Field>;

/** Skips the texts whose lines are there, and returns those that are done once more. */
async function skip(records: Records, plan: LinesPlan, before: Before): Promise<Again> {
  const numbers = new Set([...before.last.keys(), ...before.failed]);
  const again = new Map<number, Field>();
  for (let skipped = 0; skipped < before.lines; ) {
    const some = await records.take(before.lines - skipped);
    if (some.length === 0)
      throw new Error(
        `${plan.output} has ${before.lines} lines, and the input only ${skipped} texts: it is of another run`,
      );
    for (const [first] of some) {
      skipped += 1;
      if (numbers.has(skipped)) again.set(skipped, fieldOf(first));
    }
  }
  return again;
}

/**
 * Does texts once more: the last ones, whose lines have to be the same, and those that had failed, whose new lines are
 * returned. Error: UsageError where the lines are of another run.
 */
async function doAgain(
  again: Again,
  before: Before,
  plan: LinesPlan,
  pool: Pool,
  tell: (number: number, outcome: Outcome) => void,
): Promise<Map<number, string>> {
  const mended = new Map<number, string>();
  const lot = lotOf(plan.setup.search);
  // The comparisons first: where one fails, nothing else is wanted.
  const numbers = [...before.last.keys(), ...before.failed];
  for (let from = 0; from < numbers.length; from += lot) {
    const some = numbers.slice(from, from + lot);
    const outcomes = await outcomesOf(
      pool.run,
      some.map((number) => fieldOf(again.get(number))),
    );
    for (const [i, outcome] of outcomes.entries()) {
      const number = some[i] as number;
      const kept = before.last.get(number);
      const line = lineOf(plan, number, outcome);
      if (kept !== undefined && !outcome.isDrawn && !isSame(kept, line, plan.json)) {
        throw new UsageError(
          `line ${number} of --output ${plan.output} is not what this run gives for text ${number}: another model, other options or another input have given it`,
        );
      }
      tell(number, outcome);
      if (kept === undefined && outcome.error === null) mended.set(number, line);
    }
  }
  return mended;
}

/** Returns how many texts have failed; each of them is told of on standard error. */
export async function runLines(records: Records, plan: LinesPlan): Promise<number> {
  // Before the work, for which there may be no second chance.
  const output = await openOutput(plan);
  try {
    const { before } = output;
    const again = await skip(records, plan, before);
    const pool = await openPool(plan.setup, plan.workers);
    const progress = new Progress(process.stderr, before.lines);
    let [written, failed] = [before.lines, 0];
    const tell = (number: number, { error }: Outcome) => {
      if (error === null) return;
      failed += 1;
      progress.clear();
      process.stderr.write(`relata: text ${number}: ${inFlags(error.message)} [${error.code}]\n`);
    };
    const lots: Promise<Outcome[]>[] = [];
    /** Writes the oldest lot. Returns whether somebody still reads. */
    const write = async (): Promise<boolean> => {
      const outcomes = (await lots.shift()) ?? [];
      let text = "";
      for (const outcome of outcomes) {
        written += 1;
        text += lineOf(plan, written, outcome);
        tell(written, outcome);
      }
      if (!(await output.write(text))) return false;
      const { size, bytesRead, found } = records;
      progress.show(written, size === null ? null : Math.round((found * size) / bytesRead));
      return true;
    };
    try {
      await output.goOn(await doAgain(again, before, plan, pool, tell));
      const lot = lotOf(plan.setup.search);
      let isRead = true;
      for (;;) {
        const some = await records.take(lot);
        if (some.length === 0) break;
        const outcomes = outcomesOf(
          pool.run,
          some.map(([first]) => fieldOf(first)),
        );
        // Its error is thrown when its turn comes.
        outcomes.catch(() => {});
        lots.push(outcomes);
        if (lots.length >= 2 * pool.width - 1) isRead = await write();
        if (!isRead) break;
      }
      while (isRead && lots.length > 0) isRead = await write();
      return failed;
    } finally {
      progress.clear();
      pool.close();
    }
  } finally {
    await output.close();
  }
}
