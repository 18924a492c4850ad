// A tokenizer with the files it comes from.

import type { Tokenizer } from "../text/types.js";

export interface NamedTokenizer {
  readonly tokenizer: Tokenizer;
  /** The file its errors name. */
  readonly place: string;
  /** What it is, in words. */
  readonly kind: string;
  /** What a copy of the model needs of it, by name. */
  files(): ReadonlyMap<string, Uint8Array>;
}

export const kOptionsFile = "tokenizer_config.json";

/** A value as the JSON file that is written of it. */
export const jsonFile = (value: unknown) =>
  new TextEncoder().encode(`${JSON.stringify(value, null, 2)}\n`) as Uint8Array;
