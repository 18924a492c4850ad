#!/usr/bin/env node
// The command line: `relata run` and `relata inspect`.

import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { Model, RelataError, type RelationInfo, type RunOptions, type RunResult } from "./node.js";
import { nearest } from "./options.js";

const kHelp = `relata: relative-position encoder-decoder Transformers

  relata run --model FOLDER [TEXT]     generate from TEXT, or from standard input
      --max-new-tokens N               stop after N tokens
      --json                           print tokens, log probabilities and times as JSON
      --trace FILE                     write every attention to FILE as JSON
  relata inspect --model FOLDER        print the configuration, the relations, the tensors and their sizes
      --json                           the same as JSON
  relata --help | --version

FOLDER is a path or a URL, and may stand without --model in inspect. It holds config.json, tokenizer.json and
model.safetensors. Exit status: 0 done, 1 failed, 2 not understood.
`;

/** The command line itself is wrong. */
class UsageError extends Error {}

const kCommands = { run, inspect };

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
  const options = kOptions[command];
  const known = Object.keys(options);
  for (const argument of argv) {
    if (argument === "--") break;
    const name = /^--([^=]+)/.exec(argument)?.[1];
    if (name === undefined || known.includes(name)) continue;
    throw new UsageError(
      `--${name} is unknown to ${command}; the nearest option is --${nearest(name, known)}`,
    );
  }
  try {
    return parseArgs({ args: [...argv], options: { ...options }, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
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

async function run(argv: readonly string[]): Promise<void> {
  const given = parse("run", argv);
  const { values, positionals } = given;
  const folder = folderIn(given);
  if (positionals.length > 1)
    throw new UsageError(`one TEXT is expected, not ${positionals.length}: quote it`);
  const options: RunOptions = {};
  const limit = values["max-new-tokens"];
  if (limit !== undefined) {
    if (!/^[1-9]\d{0,8}$/.test(String(limit)))
      throw new UsageError(`--max-new-tokens takes a number, not ${limit}`);
    options.maxNewTokens = Number(limit);
  }
  if (values.trace !== undefined)
    options.trace = { kinds: ["encoder_self", "decoder_self", "cross"] };
  const text = positionals[0] ?? (await standardInput());

  const model = await Model.load(folder);
  try {
    const steps = model.generate(text, options);
    let result: RunResult;
    for (;;) {
      const { done, value } = await steps.next();
      if (done) {
        result = value;
        break;
      }
      if (!values.json) process.stdout.write(value.text);
    }
    const { trace, ...summary } = result;
    process.stdout.write(values.json ? toJson(summary, 2) : "\n");
    if (typeof values.trace === "string") await writeFile(values.trace, toJson(result));
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
    process.stdout.write(toJson(info, 2));
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
  process.stdout.write(`${lines.join("\n")}\n`);
}

function version(): string {
  const file = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

async function main([command, ...rest]: readonly string[]): Promise<number> {
  try {
    if (command === "--version") process.stdout.write(`${version()}\n`);
    else if (command === "--help" || command === "help" || rest.includes("--help"))
      process.stdout.write(kHelp);
    else if (command === "run" || command === "inspect") await kCommands[command](rest);
    else if (command === undefined) throw new UsageError("a command is missing: run or inspect");
    else
      throw new UsageError(
        `"${command}" is no command; the nearest is ${nearest(command, Object.keys(kCommands))}`,
      );
    return 0;
  } catch (error) {
    const usage = error instanceof UsageError;
    const words = error instanceof Error ? error.message : String(error);
    const code = error instanceof RelataError ? ` [${error.code}]` : "";
    process.stderr.write(`relata: ${words}${code}\n${usage ? "See relata --help.\n" : ""}`);
    return usage ? 2 : 1;
  }
}

// A reader that went away, as in `relata … | head`, is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});
process.exitCode = await main(process.argv.slice(2));
