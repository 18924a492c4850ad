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

/** The real character map, which the other golden files leave out. */
export const characterMap = pieceModel("unigram").charsMap;

/** A variant's value, with what it leaves to the base's filled in. */
function filled(value, base) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((item) => filled(item, base));
  const { type, ...rest } = value;
  if (type === "base") return { ...base, ...rest };
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item, base)]));
}

/** variant: { base, change } of expected.json; without it, the file of that name. */
export function jsonFile(name, variant) {
  const file = readGoldenJson(`${variant?.base ?? name}.json`);
  if (file.normalizer?.precompiled_charsmap === "")
    file.normalizer.precompiled_charsmap = Buffer.from(characterMap).toString("base64");
  const changes = Object.entries(variant?.change ?? {});
  return {
    ...file,
    ...Object.fromEntries(changes.map(([key, value]) => [key, filled(value, file[key])])),
  };
}

export const fromJson = (json) =>
  new JsonTokenizer(new TextEncoder().encode(JSON.stringify(json)), "tokenizer.json");

export const jsonTokenizer = (name, variant) => fromJson(jsonFile(name, variant));
