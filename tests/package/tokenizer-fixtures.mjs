// Golden tokenizers, and the package's tokenizers.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { golden, moduleOf } from "./fixtures.mjs";

export const textModule = (name) => moduleOf(`text/${name}.js`);

const { JsonTokenizer } = await textModule("tokenizer-json");
const { readPieceModel } = await textModule("piece-model");

export const readGolden = (name) =>
  new Uint8Array(gunzipSync(readFileSync(join(golden("tokenizers"), `${name}.gz`))));
export const readGoldenJson = (name) => JSON.parse(new TextDecoder().decode(readGolden(name)));

export const pieceModel = (name) => readPieceModel(readGolden(`${name}.model`), "spiece.model");

/** variant: { base, change } of expected.json; without it, the file of that name. */
export function jsonFile(name, variant) {
  if (variant === undefined) return readGoldenJson(`${name}.json`);
  const base = readGoldenJson(`${variant.base}.json`);
  const { normalizer } = base;
  const reviver = (_key, value) => (value?.type === "base" ? normalizer : value);
  return { ...base, ...JSON.parse(JSON.stringify(variant.change), reviver) };
}

export const fromJson = (json) =>
  new JsonTokenizer(new TextEncoder().encode(JSON.stringify(json)), "tokenizer.json");

export const jsonTokenizer = (name, variant) => fromJson(jsonFile(name, variant));
