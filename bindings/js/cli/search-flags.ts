// The options of a search as flags: --num-beams 4 for numBeams.

import { RelataError, type SearchOptions } from "../node.js";
import { checkTypes, kSearchNames } from "../search-options.js";
import { type Arguments, type OptionTable, UsageError } from "./arguments.js";

/** What each takes; all others, a number. A function cannot be written in a command line. */
const kKinds: Partial<Record<keyof SearchOptions, keyof typeof kReaders>> = {
  lengthPenaltyForm: "power|gnmt",
  earlyStopping: "true|false|never",
  badWords: "WORD…",
  badWordsIds: "ID,ID;ID",
  suppressTokens: "ID,ID",
  beginSuppressTokens: "ID,ID",
  forcedBosTokenId: "ID|none",
  forcedEosTokenId: "ID,ID|none",
  doSample: "flag",
  stopTokenIds: "ID,ID",
  stopStrings: "TEXT…",
  allowedStrings: "TEXT…",
  allowedSequences: "ID,ID;ID",
  targetPrefix: "TEXT",
};

const ids = (text: string) => text.split(",").map(number);
const sequences = (text: string) => text.split(";").map(ids);
const kReaders = {
  N: number,
  flag: (value: unknown) => value,
  TEXT: (text: string) => text,
  "TEXT…": (texts: unknown) => texts,
  "WORD…": (texts: unknown) => texts,
  "ID,ID": ids,
  "ID,ID;ID": sequences,
  "ID|none": (text: string) => (text === "none" ? null : number(text)),
  "ID,ID|none": (text: string) => (text === "none" ? null : ids(text)),
  "power|gnmt": (text: string) => text,
  "true|false|never": (text: string) => (text === "never" ? text : JSON.parse(text)),
};

function number(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || Number.isNaN(value)) throw new RangeError(text);
  return value;
}

const kebabCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const kNames = kSearchNames.filter((name) => name !== "allowedTokens");
const kindOf = (name: keyof SearchOptions) => kKinds[name] ?? "N";

/** The flags, for `parse`. */
export const kSearchFlags: OptionTable = Object.fromEntries(
  kNames.map((name) => [kebabCase(name), kindOf(name) === "flag" ? null : kindOf(name)]),
);

/** The search that the flags ask for. Error: UsageError. */
export function searchIn({ values }: Arguments): SearchOptions {
  const search: Record<string, unknown> = {};
  for (const name of kNames) {
    const flag = kebabCase(name);
    const value = values[flag];
    if (value === undefined) continue;
    const kind = kindOf(name);
    try {
      search[name] = (kReaders[kind] as (value: unknown) => unknown)(value);
    } catch {
      const expected = kind === "N" ? "a number" : kind;
      throw new UsageError(`--${flag} takes ${expected}, not ${value}`);
    }
  }
  try {
    checkTypes(search);
  } catch (error) {
    throw usageOf(error);
  }
  return search;
}

/** The options of a call that are flags of the same name. */
const kSameFlags = ["relation", "threads"];
/** The names of a search that flags write otherwise, as words that nobody has quoted. */
const kCamelCase = new RegExp(
  `(?<!["\\w])(${kNames.filter((name) => name !== kebabCase(name)).join("|")})(?!["\\w])`,
  "g",
);

/** What the package says of a call, with the flags in the place of its options. */
export function inFlags(words: string): string {
  return words.replace(kCamelCase, (name) => `--${kebabCase(name)}`);
}

/** An error of an option as one of its flag; what another says of options, it says of flags. */
export function usageOf(error: unknown): unknown {
  if (!(error instanceof RelataError)) return error;
  const { code, where, message } = error;
  if (code === "input_invalid") return new RelataError(code, where, inFlags(message), error);
  const [name = ""] = where.split(/[.[]/);
  if (code !== "option_invalid" || ![...kNames, ...kSameFlags].includes(name)) return error;
  return new UsageError(`--${kebabCase(name)}: ${inFlags(message.slice(where.length + 2))}`);
}
