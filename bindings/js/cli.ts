#!/usr/bin/env node
// The command line: `relata run`, `relata inspect` and `relata convert`.

import { readFileSync } from "node:fs";
import { UsageError } from "./cli/arguments.js";
import { convert } from "./cli/convert.js";
import { inspect } from "./cli/inspect.js";
import { print } from "./cli/output.js";
import { run } from "./cli/run.js";
import { kSearchFlags } from "./cli/search-flags.js";
import { wordsOf } from "./errors.js";
import { RelataError } from "./node.js";
import { nearest } from "./options.js";

/** The options of a search, as many on a line as fit. */
function searchHelp(): string {
  const lines: string[] = [];
  for (const [flag, takes] of Object.entries(kSearchFlags)) {
    const words = takes === null ? `--${flag}` : `--${flag} ${takes}`;
    const last = lines.at(-1);
    if (last === undefined || last.length + words.length > 116) lines.push(`      ${words}`);
    else lines[lines.length - 1] = `${last}, ${words}`;
  }
  return lines.join(",\n");
}

const kHelp = `relata: relative-position encoder-decoder Transformers

  relata run --model FOLDER [TEXT]     generate from TEXT, or from each line of standard input or of a file
${searchHelp()}
      --dtype f32|int8                 how weights are kept in memory; left out: 8 bits where the file has them
      --threads N                      how many work on one model
      --relation off|keys|values|mirrored|clip=N
                                       without the relation, or with what is left of it
      --json                           TEXT: tokens, log probabilities and times; many texts: a line of JSON each
      --trace FILE                     TEXT: write every attention to FILE as JSON
      --input FILE                     texts from FILE, by its name: .jsonl, .tsv, .csv, else a line each
      --field NAME | --column NAME|N   where a text is in JSONL ("text") or in a table (1); with a NAME, its first
                                       line holds the names
      --output FILE [--resume]         write to FILE; go on with what an interrupted run with the same options has left
                                       there, and with --json do again what failed
      --workers N                      as many threads, each with a model of its own
      --perplexity                     of given pairs, with --target-field NAME ("target") or --target-column NAME|N (2)
  relata inspect FOLDER                print the format, the configuration, the relations, the tensors and their sizes
      --json                           the same as JSON
  relata convert IN OUT                write any model as a folder with model.safetensors, which loads here and, of T5 and Marian, in transformers
      --dtype TYPE                     f32 (default), f16 or int8, which loads at once, only here
  relata --help | --version

ID,ID;ID are lists of ids; WORD… and TEXT… may be given again and again. FOLDER and IN are paths or URLs. They name a folder of Hugging Face or CTranslate2,
a GGUF file or an .argosmodel package. After -- everything is TEXT. Exit status: 0 done, 1 failed, if only one of many texts,
2 not understood.
`;

const kCommands = { run, inspect, convert };
const isCommand = (name: string): name is keyof typeof kCommands => Object.hasOwn(kCommands, name);

function version(): string {
  const file = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

function unknownCommand(name: string): UsageError {
  const known = Object.keys(kCommands);
  const near = nearest(name, known);
  const hint = near === null ? `the commands are ${known.join(", ")}` : `the nearest is ${near}`;
  return new UsageError(`"${name}" is no command; ${hint}`);
}

async function main([command, ...rest]: readonly string[]): Promise<number> {
  const end = rest.indexOf("--");
  const options = end < 0 ? rest : rest.slice(0, end);
  try {
    if (command === "--version") await print(`${version()}\n`);
    else if (command === "--help" || command === "help" || options.includes("--help"))
      await print(kHelp);
    else if (command === undefined)
      throw new UsageError(`a command is missing: ${Object.keys(kCommands).join(", ")}`);
    else if (isCommand(command)) return (await kCommands[command](rest)) ? 1 : 0;
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
