#!/usr/bin/env node
// The command line: `relata run` and `relata inspect`.

import { readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { wordsOf } from "./errors.js";
import { Model, RelataError, type RelationInfo, type RunOptions, type RunResult } from "./node.js";
import { kMaxNewTokens, nearest } from "./options.js";

const kHelp = `relata: relative-position encoder-decoder Transformers

  relata run --model FOLDER [TEXT]     generate from TEXT, or from standard input: all its lines are one text
      --max-new-tokens N               stop after N tokens
      --json                           print tokens, log probabilities and times as JSON
      --trace FILE                     write every attention to FILE as JSON
  relata inspect --model FOLDER        print the configuration, the relations, the tensors and their sizes
      --json                           the same as JSON
  relata --help | --version

FOLDER is a path or a URL, and may stand without --model in inspect. It holds config.json, tokenizer.json and
model.safetensors. After -- everything is TEXT. Exit status: 0 done, 1 failed, 2 not understood.
`;

/** The command line itself is wrong. */
class UsageError extends Error {}

const kCommands = { run, inspect };

/** What a value is called. */
const kValueNames: Readonly<Record<string, string>> = {
  model: "FOLDER",
  "max-new-tokens": "N",
  trace: "FILE",
};

const kOptions = {
  run: {
    model: { type: "string" },
    "max-new-tokens": { type: "string" },
    json: { type: "boolean" },
    trace: { type: "string" },
  },
  inspect: { model: { type: "string" }, json: { type: "boolean" } },
} satisfies Record<keyof typeof kCommands, ParseArgsConfig["options"]>;

interface Arguments {
  readonly values: Readonly<Record<string, unknown>>;
  readonly positionals: readonly string[];
}

function parse(command: keyof typeof kOptions, argv: readonly string[]): Arguments {
  const options: NonNullable<ParseArgsConfig["options"]> = kOptions[command];
  const known = Object.keys(options);
  const { values, positionals, tokens } = parseArgs({
    args: [...argv],
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue } = token;
    if (!known.includes(name)) {
      const near = nearest(name, known);
      const hint =
        near === null
          ? `its options are --${known.join(", --")}`
          : `the nearest option is --${near}`;
      throw new UsageError(`${rawName} is unknown to ${command}; ${hint}`);
    }
    if (options[name]?.type === "boolean") {
      if (value !== undefined) throw new UsageError(`--${name} takes no value`);
    } else if (!value || (!inlineValue && value.startsWith("--"))) {
      throw new UsageError(`--${name} ${kValueNames[name]}: ${kValueNames[name]} is missing`);
    }
  }
  return { values, positionals };
}

function folderIn({ values }: Arguments, fallback?: string): string {
  const folder = values.model ?? fallback;
  if (typeof folder !== "string" || folder === "")
    throw new UsageError("--model FOLDER is missing");
  return folder;
}

async function standardInput(): Promise<string> {
  if (process.stdin.isTTY) throw new UsageError("there is no TEXT, and nothing on standard input");
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8").trim();
}

/** Floats as the shortest decimals that give them back (9 digits do). */
function toJson(value: unknown, indent?: number): string {
  const plain = (_key: string, item: unknown) =>
    item instanceof Float32Array || item instanceof Int32Array
      ? Array.from(item, (number) => Number(number.toPrecision(9)))
      : item;
  return `${JSON.stringify(value, plain, indent)}\n`;
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

/** False once nobody reads standard output any more, as in `relata … | head`: that is no failure. */
let hasReader = true;
// `print` hears of it too.
process.stdout.on("error", () => {});

/** Writes to standard output. Returns whether somebody reads it. */
async function print(text: string): Promise<boolean> {
  if (!hasReader) return false;
  try {
    await new Promise<void>((resolve, reject) => {
      process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
    });
  } catch (error) {
    hasReader = false;
    if ((error as NodeJS.ErrnoException).code !== "EPIPE")
      throw new Error(`standard output cannot be written: ${wordsOf(error)}`, { cause: error });
  }
  return hasReader;
}

async function run(argv: readonly string[]): Promise<void> {
  const given = parse("run", argv);
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

function relationLine(name: string, relation: RelationInfo): string {
  if (relation.effect === "none") return `${name}: none`;
  const parts = [`${relation.index} x ${relation.effect}`, `${relation.numRelations} relations`];
  if (relation.effect === "vectors") {
    parts.push(
      [relation.keys && "keys", relation.values && "values"].filter(Boolean).join(" and "),
    );
  }
  if (relation.ids.length > 0) {
    const last = relation.firstDistance + relation.ids.length - 1;
    parts.push(`distances ${relation.firstDistance} to ${last}`);
  }
  return `${name}: ${parts.join(", ")}`;
}

async function inspect(argv: readonly string[]): Promise<void> {
  const given = parse("inspect", argv);
  if (given.positionals.length > 1) throw new UsageError("inspect takes one folder");
  const model = await Model.load(folderIn(given, given.positionals[0]));
  const { info } = model;
  model.dispose();
  if (given.values.json) {
    await print(toJson(info, 2));
    return;
  }
  const { tensors, relation, weightBytes, ...config } = info;
  const rows = tensors.map(({ name, dtype, shape, bytes }) => [
    name,
    dtype,
    `[${shape.join(", ")}]`,
    String(bytes),
  ]);
  const widths = [0, 1, 2, 3].map((i) => Math.max(0, ...rows.map((row) => row[i]?.length ?? 0)));
  const stored = tensors.reduce((sum, { bytes }) => sum + bytes, 0);
  const lines = [
    ...Object.entries(config).map(([name, value]) => `${name}: ${value}`),
    relationLine("encoder_self", relation.encoder_self),
    relationLine("decoder_self", relation.decoder_self),
    "",
    ...rows.map((row) =>
      row
        .map((cell, i) => (i < 3 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
        .join("  "),
    ),
    "",
    `${tensors.length} tensors, ${stored} bytes in the file, ${weightBytes} bytes in memory`,
  ];
  await print(`${lines.join("\n")}\n`);
}

function version(): string {
  const file = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

function unknownCommand(name: string): UsageError {
  const known = Object.keys(kCommands);
  const near = nearest(name, known);
  const hint = near === null ? `the commands are ${known.join(" and ")}` : `the nearest is ${near}`;
  return new UsageError(`"${name}" is no command; ${hint}`);
}

async function main([command, ...rest]: readonly string[]): Promise<number> {
  const end = rest.indexOf("--");
  const options = end < 0 ? rest : rest.slice(0, end);
  try {
    if (command === "--version") await print(`${version()}\n`);
    else if (command === "--help" || command === "help" || options.includes("--help"))
      await print(kHelp);
    else if (command === "run" || command === "inspect") await kCommands[command](rest);
    else if (command === undefined) throw new UsageError("a command is missing: run or inspect");
    else throw unknownCommand(command);
    return 0;
  } catch (error) {
    const usage = error instanceof UsageError;
    const code = error instanceof RelataError ? ` [${error.code}]` : "";
    process.stderr.write(
      `relata: ${wordsOf(error)}${code}\n${usage ? "See relata --help.\n" : ""}`,
    );
    return usage ? 2 : 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
