// `relata run`: one text from the command line, or many from standard input or a file.

import { open } from "node:fs/promises";
import { wordsOf } from "../errors.js";
import { type Dtype, Model, type RunOptions, type RunResult } from "../node.js";
import { type Arguments, folderIn, type OptionTable, parse, UsageError } from "./arguments.js";
import { runLines } from "./lines.js";
import { print, toJson } from "./output.js";
import { runPerplexity } from "./perplexity.js";
import { type Format, type Layout, Records } from "./records.js";
import { kSearchFlags, searchIn, usageOf } from "./search-flags.js";

const kOptions: OptionTable = {
  model: "FOLDER",
  json: null,
  trace: "FILE",
  dtype: "f32|int8",
  input: "FILE",
  field: "NAME",
  column: "NAME|N",
  "target-field": "NAME",
  "target-column": "NAME|N",
  output: "FILE",
  resume: null,
  workers: "N",
  perplexity: null,
  ...kSearchFlags,
};
/** Options that are for many texts only. */
const kOfMany = [
  ...["input", "field", "column", "target-field", "target-column"],
  ...["output", "resume", "workers", "perplexity"],
];
const kMostWorkers = 64;

/** Opens a file and returns what writes it. */
async function openTrace(file: string): Promise<(text: string) => Promise<void>> {
  const unwritable = (error: unknown) => {
    throw new Error(`${file} cannot be written: ${wordsOf(error)}`, { cause: error });
  };
  const handle = await open(file, "w").catch(unwritable);
  return async (text) => {
    await handle.writeFile(text).catch(unwritable);
    await handle.close().catch(unwritable);
  };
}

/** Returns how many texts have failed. */
export async function run(argv: readonly string[]): Promise<number> {
  const given = parse("run", kOptions, argv);
  const { values, positionals } = given;
  const folder = folderIn(given);
  const options = searchIn(given);
  const dtype = dtypeIn(given);
  if (positionals.length > 1)
    throw new UsageError(`one TEXT is expected, not ${positionals.length}: quote it`);
  const [text] = positionals;
  try {
    if (text === undefined) return await runMany(given, folder, dtype, options);
    const many = kOfMany.find((name) => values[name] !== undefined);
    if (many !== undefined)
      throw new UsageError(`--${many} is for texts of a file or of standard input, not for TEXT`);
    await runOne(given, folder, dtype, text, options);
    return 0;
  } catch (error) {
    throw usageOf(error);
  }
}

function dtypeIn({ values }: Arguments): Dtype {
  const dtype = values.dtype ?? "f32";
  if (dtype === "f32" || dtype === "int8") return dtype;
  throw new UsageError(`--dtype takes f32 or int8, not ${dtype}`);
}

/** Prints a text as it grows. */
async function runOne(
  { values }: Arguments,
  folder: string,
  dtype: Dtype,
  text: string,
  options: RunOptions,
): Promise<void> {
  if (values.trace !== undefined)
    options.trace = { kinds: ["encoder_self", "decoder_self", "cross"] };
  const model = await Model.load(folder, { dtype });
  try {
    // Before the work, for which there may be no second chance.
    const trace = typeof values.trace === "string" ? await openTrace(values.trace) : null;
    const steps = model.generate(text, options);
    let result: RunResult;
    for (;;) {
      const { done, value } = await steps.next();
      if (done) {
        result = value;
        break;
      }
      if (values.json) continue;
      if (!(await print(value.text)) && trace === null) return;
    }
    await trace?.(toJson(result));
    const { trace: _heads, ...summary } = result;
    const others = summary.sequences.slice(1).map((one) => `\n${one.text}`);
    await print(values.json ? toJson(summary, 2) : `${others.join("")}\n`);
  } finally {
    model.dispose();
  }
}

async function runMany(
  given: Arguments,
  folder: string,
  dtype: Dtype,
  search: RunOptions,
): Promise<number> {
  const { values } = given;
  const file = (name: string) => (values[name] ?? null) as string | null;
  if (values.trace !== undefined) throw new UsageError("--trace is for one TEXT");
  if (values.resume && values.output === undefined)
    throw new UsageError("--resume goes on with the FILE of --output, which is missing");
  const input = file("input");
  const layout = layoutIn(given, input);
  if (input === null && process.stdin.isTTY)
    throw new UsageError("there is no TEXT, and nothing on standard input");
  const workers = workersIn(given);
  const json = values.json === true;
  const ofLines = [...Object.keys(kSearchFlags), "output", "resume", "workers"];
  const other = ofLines.find((name) => values[name] !== undefined);
  if (values.perplexity && other !== undefined)
    throw new UsageError(`--${other} is not for --perplexity`);
  const records = await Records.open(input, layout);
  try {
    if (values.perplexity) return await runPerplexity(records, { folder, dtype, json });
    const setup = { folder, dtype, search };
    const output = file("output");
    return await runLines(records, {
      ...{ setup, workers, json, input, output, resume: values.resume === true },
    });
  } finally {
    await records.close();
  }
}

function workersIn({ values }: Arguments): number {
  const { workers = "1" } = values;
  const count = Number(workers);
  if (Number.isInteger(count) && count >= 1 && count <= kMostWorkers) return count;
  throw new UsageError(`--workers takes a number from 1 to ${kMostWorkers}, not ${workers}`);
}

/** How the input is laid out: as its options say, else by the end of its name. */
function layoutIn({ values }: Arguments, file: string | null): Layout {
  const pairs = values.perplexity === true;
  const ofFields = ["field", "target-field"].find((name) => values[name] !== undefined);
  const ofColumns = ["column", "target-column"].find((name) => values[name] !== undefined);
  if (ofFields !== undefined && ofColumns !== undefined)
    throw new UsageError(`--${ofFields} is of JSONL, and --${ofColumns} of a table`);
  const target = ["target-field", "target-column"].find((name) => values[name] !== undefined);
  if (target !== undefined && !pairs) throw new UsageError(`--${target} is for --perplexity`);
  const ending = /\.(jsonl|tsv|csv)$/i.exec(file ?? "")?.[1]?.toLowerCase() as Format | undefined;
  let format: Format = ending ?? (pairs ? "tsv" : "text");
  if (ofFields !== undefined) format = "jsonl";
  else if (ofColumns !== undefined && format !== "csv") format = "tsv";
  const [first, second] =
    format === "jsonl"
      ? [values.field ?? "text", values["target-field"] ?? "target"]
      : [values.column ?? "1", values["target-column"] ?? "2"];
  return { format, fields: (pairs ? [first, second] : [first]) as string[] };
}
