// The options of a search: their types in one table, what of them goes to the core under which name, and which of them
// contradict each other. Ranges are the core's business.

import {
  arrayOf,
  booleanOf,
  describe,
  functionOf,
  idsOf,
  integer,
  invalid,
  kMaxNewTokens,
  wordOf,
} from "./options.js";
import type { RawOptions } from "./raw-model.js";
import type { ModelInfo, SearchOptions } from "./types.js";

/** A checked search. Texts in it become ids where the tokenizer is. */
export interface SearchRequest {
  readonly core: RawOptions;
  readonly badWords: readonly string[];
  readonly allowedStrings: readonly string[];
  readonly stopStrings: readonly string[];
  /** One for each text. */
  readonly targetPrefixes: readonly (string | readonly number[])[];
  /** 0: all. */
  readonly maxSourceTokens: number;
}

type Check = (value: unknown, where: string) => unknown;
type Name = keyof SearchOptions;

const atLeast =
  (least: number, most?: number): Check =>
  (value, where) =>
    integer(value, where, least, most);
const flag: Check = booleanOf;
const real: Check = (value, where) => {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw invalid(where, `expected a number, got ${describe(value)}`);
};
const sequences: Check = (value, where) => arrayOf(value, where, idsOf);
const texts: Check = (value, where) =>
  arrayOf(value, where, (text, place) => {
    if (typeof text === "string" && text !== "") return text;
    throw invalid(place, `expected a string that is not empty, got ${describe(text)}`);
  });
const some =
  (check: Check): Check =>
  (value, where) => {
    if (Array.isArray(value) && value.length === 0) throw invalid(where, "is empty");
    return check(value, where);
  };

const kChecks: Readonly<Record<Name, Check>> = {
  maxNewTokens: atLeast(1, kMaxNewTokens),
  minNewTokens: atLeast(0),
  numBeams: atLeast(1),
  numReturnSequences: atLeast(1),
  lengthPenalty: real,
  lengthPenaltyForm: (value, where) =>
    ["power", "gnmt"].indexOf(wordOf(value, where, ["power", "gnmt"])),
  // In the core's order: no, yes, never.
  earlyStopping: (value, where) =>
    [false, true, "never"].indexOf(wordOf(value, where, [false, true, "never"])),
  repetitionPenalty: real,
  noRepeatNgramSize: atLeast(0),
  badWords: texts,
  badWordsIds: sequences,
  suppressTokens: idsOf,
  beginSuppressTokens: idsOf,
  forcedBosTokenId: (value, where) => (value === null ? -1 : integer(value, where, 0)),
  forcedEosTokenId: (value, where) => {
    if (value === null) return [];
    return typeof value === "number" ? [integer(value, where, 0)] : idsOf(value, where);
  },
  doSample: flag,
  temperature: real,
  topK: atLeast(0),
  topP: real,
  minP: real,
  typicalP: real,
  seed: atLeast(0, 2 ** 32 - 1),
  stopTokenIds: idsOf,
  stopStrings: texts,
  maxRepeats: atLeast(0),
  maxRepeatNgram: atLeast(1),
  allowedStrings: some(texts),
  allowedSequences: some(sequences),
  allowedTokens: functionOf,
  decoderStartTokenId: atLeast(0),
  targetPrefix: (value) => value,
  batchSize: atLeast(1),
  maxSourceTokens: atLeast(1),
};

export const kSearchNames = Object.keys(kChecks) as readonly Name[];

/** What the core does not hear of, or not as it is. */
const kNotOfTheCore: readonly Name[] = [
  ...(["badWords", "allowedStrings", "stopStrings"] as const),
  ...(["targetPrefix", "maxSourceTokens", "allowedTokens", "forcedEosTokenId"] as const),
];
const kOfBeams: readonly Name[] = ["lengthPenalty", "lengthPenaltyForm", "earlyStopping"];
const kOfSampling: readonly Name[] = ["temperature", "topK", "topP", "minP", "typicalP", "seed"];

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Each option in the core's form. Error: option_invalid. */
export function checkTypes(
  given: Readonly<Record<string, unknown>>,
): Partial<Record<Name, unknown>> {
  const checked: Partial<Record<Name, unknown>> = {};
  for (const name of kSearchNames) {
    if (given[name] !== undefined) checked[name] = kChecks[name](given[name], name);
  }
  return checked;
}

/** given: an options object that may hold others, too. count: of texts in a list; null where there is one, in no list. */
export function searchOf(
  given: Readonly<Record<string, unknown>>,
  { search }: ModelInfo,
  count: number | null,
): SearchRequest {
  const checked = checkTypes(given);
  checkTogether(checked, search);
  const core: Record<string, unknown> = {};
  for (const name of kSearchNames) {
    if (checked[name] !== undefined && !kNotOfTheCore.includes(name))
      core[snakeCase(name)] = checked[name];
  }
  if (checked.forcedEosTokenId !== undefined) core.forced_eos_token_ids = checked.forcedEosTokenId;
  if (checked.allowedTokens !== undefined) core.constrained = true;
  if (checked.doSample ?? search.doSample)
    core.seed ??= crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  return {
    core,
    badWords: (checked.badWords ?? []) as string[],
    allowedStrings: (checked.allowedStrings ?? []) as string[],
    stopStrings: (checked.stopStrings ?? []) as string[],
    targetPrefixes: targetPrefixesOf(given.targetPrefix, count),
    maxSourceTokens: (checked.maxSourceTokens ?? 0) as number,
  };
}

/** Refuses what would be without effect; what contradicts itself within the search, the core refuses. */
function checkTogether(
  checked: Partial<Record<Name, unknown>>,
  { numBeams, numReturnSequences, doSample }: ModelInfo["search"],
): void {
  const has = (name: Name) => checked[name] !== undefined;
  const beams = Number(checked.numBeams ?? numBeams);
  const samples = Boolean(checked.doSample ?? doSample);
  const ofBeams = kOfBeams.find(has);
  if (ofBeams !== undefined && beams === 1)
    throw invalid(ofBeams, "is of beams only, and numBeams is 1");
  const ofSampling = kOfSampling.find(has);
  if (ofSampling !== undefined && !samples)
    throw invalid(ofSampling, "is of sampling only, and doSample is false");
  if (has("maxRepeatNgram") && !checked.maxRepeats)
    throw invalid("maxRepeatNgram", "is of the loop guard only, and maxRepeats is 0");
  if (
    has("stopStrings") &&
    (beams > 1 || Number(checked.numReturnSequences ?? numReturnSequences) > 1)
  )
    throw invalid("stopStrings", "stops one sequence at a time: not with beams or several samples");
}

function targetPrefixesOf(value: unknown, count: number | null): (string | readonly number[])[] {
  const where = "targetPrefix";
  const one = (prefix: unknown, place: string) =>
    typeof prefix === "string" ? prefix : idsOf(prefix, place);
  const texts = count ?? 1;
  const isList =
    count !== null && Array.isArray(value) && value.length > 0 && typeof value[0] !== "number";
  if (!isList) return Array(texts).fill(value === undefined ? [] : one(value, where));
  if (value.length !== texts)
    throw invalid(where, `expected one, or a list of ${texts}, one for each text`);
  return arrayOf(value, where, one);
}
