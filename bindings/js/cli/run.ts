// `relata run`: one text from the command line, or many from standard input or a file.

import { open } from "node:fs/promises";
import { wordsOf } from "../errors.js";
import { Model, type RunOptions, type RunResult } from "../node.js";
import { type Arguments, folderIn, type OptionTable, parse, UsageError } from "./arguments.js";
import { runLines } from "./lines.js";
import { print, toJson } from "./output.js";
import { runPerplexity } from "./perplexity.js";
import type { Loading } from "./pool.js";
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
  relation: "off|keys|values|mirrored|clip=N",
  threads: "N",
  workers: "N",
  perplexity: null,
  ...kSearchFlags,
};
/** Options that are for many texts only. */
const kOfMany = [
  ...["input", "field", "column", "target-field", "target-column"],
  ...["output", "resume", "workers", "perplexity"],
];
const kSwitches = ["off", "keys", "values", "mirrored"] as const;
/** Of threads for one model, and of models side by side. */
const kMostThreads = 64;

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
  const options: RunOptions = { ...searchIn(given), ...relationIn(given) };
  const loading = loadingIn(given);
  if (positionals.length > 1)
    throw new UsageError(`one TEXT is expected, not ${positionals.length}: quote it`);
  const [text] = positionals;
  try {
    if (text === undefined) return await runMany(given, folder, loading, options);
    const many = kOfMany.find((name) => values[name] !== undefined);
    if (many !== undefined)
      throw new UsageError(`--${many} is for texts of a file or of standard input, not for TEXT`);
    await runOne(given, folder, loading, text, options);
    return 0;
  } catch (error) {
    throw usageOf(error);
  }
}

/** How the model is to be loaded; the dtype is left out where the file decides. */
function loadingIn({ values }: Arguments): Loading {
  const { dtype, threads } = values;
  if (dtype !== undefined && dtype !== "f32" && dtype !== "int8")
    throw new UsageError(`--dtype takes f32 or int8, not ${dtype}`);
  return {
    ...(dtype !== undefined && { dtype }),
    ...(threads !== undefined && { threads: countIn("threads", threads) }),
  };
}

/** What is to be altered about the relation. */
function relationIn({ values }: Arguments): Pick<RunOptions, "relation"> {
  const { relation } = values;
  if (relation === undefined) return {};
  const clip = /^clip=(\d{1,9})$/.exec(String(relation))?.[1];
  const word = kSwitches.find((one) => one === relation);
  if (clip !== undefined) return { relation: { switch: { clip: Number(clip) } } };
  if (word !== undefined) return { relation: { switch: word } };
  throw new UsageError(`--relation takes ${kSwitches.join(", ")} or clip=N, not ${relation}`);
}

function countIn(name: string, value: unknown): number {
  const count = Number(value);
  if (Number.isInteger(count) && count >= 1 && count <= kMostThreads) return count;
  throw new UsageError(`--${name} takes a number from 1 to ${kMostThreads}, not ${value}`);
}

/** Prints a text as it grows. */
async function runOne(
  { values }: Arguments,
  folder: string,
  loading: Loading,
  text: string,
  options: RunOptions,
): Promise<void> {
  if (values.trace !== undefined)
    options.trace = { kinds: ["encoder_self", "decoder_self", "cross"] };
  const model = await Model.load(folder, loading);
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
  loading: Loading,
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
  const workers = countIn("workers", values.workers ?? "1");
  const json = values.json === true;
  const ofLines = [...Object.keys(kSearchFlags), "output", "resume", "workers"];
  const other = ofLines.find((name) => values[name] !== undefined);
  if (values.perplexity && other !== undefined)
    throw new UsageError(`--${other} is not for --perplexity`);
  const records = await Records.open(input, layout);
  const relation = relationIn(given);
  try {
    if (values.perplexity) return await runPerplexity(records, { folder, loading, relation, json });
    const setup = { folder, loading, search };
    const output = file("output");
    return await runLines(records, {
      ...{ setup, workers, json, input, output, resume: values.resume === true },
    });
  } finally {
    await records.close();
  }
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
