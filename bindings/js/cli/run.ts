// `relata run`: texts from the command line, standard input or a file.

import { open } from "node:fs/promises";
import { wordsOf } from "../errors.js";
import { Model, type RunOptions, type RunResult } from "../node.js";
import { kMaxNewTokens } from "../options.js";
import { folderIn, type OptionTable, parse, UsageError } from "./arguments.js";
import { print, toJson } from "./output.js";

const kOptions: OptionTable = {
  model: "FOLDER",
  "max-new-tokens": "N",
  json: null,
  trace: "FILE",
};

async function standardInput(): Promise<string> {
  if (process.stdin.isTTY) throw new UsageError("there is no TEXT, and nothing on standard input");
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8").trim();
}

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

export async function run(argv: readonly string[]): Promise<void> {
  const given = parse("run", kOptions, argv);
  const { values, positionals } = given;
  const folder = folderIn(given);
  if (positionals.length > 1)
    throw new UsageError(`one TEXT is expected, not ${positionals.length}: quote it`);
  const options: RunOptions = {};
  const limit = values["max-new-tokens"];
  if (limit !== undefined) {
    if (!/^[1-9]\d*$/.test(String(limit)) || Number(limit) > kMaxNewTokens)
      throw new UsageError(
        `--max-new-tokens takes a number from 1 to ${kMaxNewTokens}, not ${limit}`,
      );
    options.maxNewTokens = Number(limit);
  }
  if (values.trace !== undefined)
    options.trace = { kinds: ["encoder_self", "decoder_self", "cross"] };
  const text = positionals[0] ?? (await standardInput());

  const model = await Model.load(folder);
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
    await print(values.json ? toJson(summary, 2) : "\n");
  } finally {
    model.dispose();
  }
}
