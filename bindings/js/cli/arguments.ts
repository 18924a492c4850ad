// The words of the command line: options and values of a command, and what is said of those that are wrong.

import { type ParseArgsConfig, parseArgs } from "node:util";
import { nearest } from "../options.js";

/** The command line itself is wrong. */
export class UsageError extends Error {}

/** A command's options by name: what the value is called, with … where the option may be repeated, or null: no value. */
export type OptionTable = Readonly<Record<string, string | null>>;

export interface Arguments {
  readonly values: Readonly<Record<string, unknown>>;
  readonly positionals: readonly string[];
}

/** Error: UsageError, for an option that `command` has not or a value that is missing. */
export function parse(command: string, table: OptionTable, argv: readonly string[]): Arguments {
  const known = Object.keys(table);
  const options: NonNullable<ParseArgsConfig["options"]> = {};
  for (const name of known) {
    const called = table[name];
    options[name] = called
      ? { type: "string", multiple: called.endsWith("…") }
      : { type: "boolean" };
  }
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
    const called = table[name];
    if (called === null) {
      if (value !== undefined) throw new UsageError(`--${name} takes no value`);
    } else if (!value || (!inlineValue && value.startsWith("--"))) {
      throw new UsageError(`--${name} ${called}: ${called} is missing`);
    }
  }
  return { values, positionals };
}

export function folderIn({ values }: Arguments, fallback?: string): string {
  const folder = values.model ?? fallback;
  if (typeof folder !== "string" || folder === "")
    throw new UsageError("--model FOLDER is missing");
  return folder;
}
