// `relata run` over many texts: each gives a line of output, in their order.

import type { SearchOptions } from "../node.js";
import { toJson } from "./output.js";
import { type OutputPlan, openOutput } from "./output-file.js";
import { type Outcome, openPool, type Setup } from "./pool.js";
import { Progress } from "./progress.js";
import type { Field, Records } from "./records.js";

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
    return { text: "", score: 0, finishReason: "failed", sequences: [], error };
  });
}

/** Returns how many texts have failed; each of them is told of on standard error. */
export async function runLines(records: Records, plan: LinesPlan): Promise<number> {
  // Before the work, for which there may be no second chance.
  const output = await openOutput(plan);
  try {
    for (let skipped = 0; skipped < output.done; ) {
      const some = await records.take(output.done - skipped);
      if (some.length === 0)
        throw new Error(
          `${plan.output} has ${output.done} lines, and the input only ${skipped} texts: it is of another run`,
        );
      skipped += some.length;
    }
    const pool = await openPool(plan.setup, plan.workers);
    const progress = new Progress(process.stderr, output.done);
    let [written, failed] = [output.done, 0];
    const lot = lotOf(plan.setup.search);
    const lots: Promise<Outcome[]>[] = [];
    /** Writes the oldest lot. Returns whether somebody still reads. */
    const write = async (): Promise<boolean> => {
      const outcomes = (await lots.shift()) ?? [];
      let text = "";
      for (const outcome of outcomes) {
        written += 1;
        text += lineOf(plan, written, outcome);
        if (outcome.error === null) continue;
        failed += 1;
        progress.clear();
        const { code, message } = outcome.error;
        process.stderr.write(`relata: text ${written}: ${message} [${code}]\n`);
      }
      if (!(await output.write(text))) return false;
      const { size, bytesRead, found } = records;
      progress.show(written, size === null ? null : Math.round((found * size) / bytesRead));
      return true;
    };
    try {
      let isRead = true;
      for (;;) {
        const some = await records.take(lot);
        if (some.length === 0) break;
        const fields = some.map(([first]) => first ?? { problem: "it is empty" });
        const outcomes = outcomesOf(pool.run, fields);
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
