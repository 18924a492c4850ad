// How to search for a translation: what the options drawer holds, and what the package is asked for.

import type { ModelInfo, RunOptions } from "relata";

export type Method = "greedy" | "beams" | "sampling";

/** One value per field of the drawer; each method reads its own. */
export interface SearchChoice {
  readonly method: Method;
  readonly numBeams: number;
  readonly lengthPenalty: number;
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  /** Null draws a new one each time. */
  readonly seed: number | null;
  readonly numReturnSequences: number;
  readonly maxNewTokens: number;
  readonly repetitionPenalty: number;
  readonly noRepeatNgramSize: number;
}

export type SearchField = Exclude<keyof SearchChoice, "method">;

/** The package's own defaults; what a model wants otherwise takes their place when it is loaded. */
export const defaultSearch: SearchChoice = {
  ...{ method: "greedy", numBeams: 4, lengthPenalty: 1 },
  ...{ temperature: 1, topK: 0, topP: 1, seed: null },
  ...{ numReturnSequences: 4, maxNewTokens: 64, repetitionPenalty: 1, noRepeatNgramSize: 0 },
};

export function searchOf({ search }: ModelInfo): SearchChoice {
  const { numBeams, numReturnSequences, doSample, maxNewTokens } = search;
  const method = doSample ? "sampling" : numBeams > 1 ? "beams" : "greedy";
  return {
    ...defaultSearch,
    method,
    maxNewTokens,
    ...(numBeams > 1 ? { numBeams } : {}),
    ...(numReturnSequences > 1 ? { numReturnSequences } : {}),
  };
}

export interface FieldRange {
  readonly name: SearchField;
  readonly least: number;
  readonly most: number;
  readonly step: number;
}

const field = (name: SearchField, least: number, most: number, step: number): FieldRange => ({
  ...{ name, least, most, step },
});

const common = [
  field("maxNewTokens", 1, 4096, 1),
  field("repetitionPenalty", 1, 4, 0.05),
  field("noRepeatNgramSize", 0, 16, 1),
];

/** The fields of each method, in the order of the drawer. */
export const searchFields: Readonly<Record<Method, readonly FieldRange[]>> = {
  greedy: common,
  beams: [
    field("numBeams", 2, 64, 1),
    field("numReturnSequences", 1, 64, 1),
    field("lengthPenalty", -4, 4, 0.1),
    ...common,
  ],
  sampling: [
    field("numReturnSequences", 1, 64, 1),
    field("temperature", 0.05, 4, 0.05),
    field("topK", 0, 1000, 1),
    field("topP", 0.01, 1, 0.01),
    field("seed", 0, 2 ** 32 - 1, 1),
    ...common,
  ],
};

/** The choice with one value changed to the nearest the field allows. */
export function withField(
  choice: SearchChoice,
  name: SearchField,
  value: number | null,
): SearchChoice {
  const range = Object.values(searchFields)
    .flat()
    .find((candidate) => candidate.name === name);
  if (!range) return choice;
  if (value === null || Number.isNaN(value)) return { ...choice, [name]: defaultSearch[name] };
  const kept = Math.min(range.most, Math.max(range.least, value));
  return { ...choice, [name]: range.step >= 1 ? Math.round(kept) : kept };
}

/** What the package is asked for: only what the method reads, everything spelled out. */
export function searchOptions(choice: SearchChoice): RunOptions {
  const { method, maxNewTokens, repetitionPenalty, noRepeatNgramSize } = choice;
  const shared = { maxNewTokens, repetitionPenalty, noRepeatNgramSize };
  if (method === "greedy")
    return { ...shared, numBeams: 1, doSample: false, numReturnSequences: 1 };
  if (method === "beams") {
    const { numBeams, lengthPenalty } = choice;
    const numReturnSequences = Math.min(numBeams, choice.numReturnSequences);
    return { ...shared, numBeams, lengthPenalty, numReturnSequences, doSample: false };
  }
  const { temperature, topK, topP, seed, numReturnSequences } = choice;
  const drawn = { temperature, topK, topP, numReturnSequences, ...(seed === null ? {} : { seed }) };
  return { ...shared, numBeams: 1, doSample: true, ...drawn };
}
