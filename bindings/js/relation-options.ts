// The relation option of a call: labels, and what to alter about the relation. Whether an alteration has a meaning for the
// model's relation is the core's business.

import { kKindNames } from "./describe.js";
import { arrayOf, describe, integer, invalid, kMaxInt, optionsOf, wordOf } from "./options.js";
import type { Labels } from "./protocol.js";
import type { RawAlteration } from "./raw-model.js";
import type { ModelInfo } from "./types.js";

/** In the core's order, where clip is between. */
const kSwitches = ["none", "off", "keys", "values", "clip", "mirrored"] as const;
const kWords = ["off", "keys", "values", "mirrored"] as const;
const kSelfAttentions = ["encoder_self", "decoder_self"] as const;

/** Of a call on one text. */
export function relationOf(value: unknown, info: ModelInfo) {
  const { labels, alteration } = relationsOf(value, info, null);
  return { labels: labels[0] ?? null, alteration };
}

/**
 * Labels of each of `count` texts, or of the only one (null), as integers: their number and range are checked against the
 * source. And the alteration, which is the same for all.
 */
export function relationsOf(
  value: unknown,
  { relation }: ModelInfo,
  count: number | null,
): { labels: readonly Labels[]; alteration: RawAlteration } {
  const known = ["labels", "switch", "kinds", "layers", "heads"];
  const { labels, ...given } = optionsOf(value, known, "relation");
  const alteration = alterationOf(given);
  const where = "relation.labels";
  if (labels === undefined) {
    return { labels: Array.from({ length: count ?? 1 }, () => null), alteration };
  }
  const { index } = relation.encoder_self;
  if (index !== "labels") {
    const is = index === "none" ? "it has no relation" : `its relation is by ${index}`;
    throw invalid(where, `this model takes no labels: ${is}`);
  }
  if (count === null) return { labels: [matrixOf(labels, where)], alteration };
  if (!Array.isArray(labels) || labels.length !== count) {
    throw invalid(where, `expected an array of ${count} matrices, one for each text`);
  }
  return { labels: labels.map((matrix, i) => matrixOf(matrix, `${where}[${i}]`)), alteration };
}

function alterationOf(given: Readonly<Record<string, unknown>>): RawAlteration {
  const list = <T>(name: string, itemOf: (item: unknown, where: string) => T): T[] => {
    const [where, items] = [`relation.${name}`, given[name]];
    if (items === undefined) return [];
    if (given.switch === undefined) throw invalid(where, "is of relation.switch, which is missing");
    if (Array.isArray(items) && items.length === 0)
      throw invalid(where, "is empty: leave it out to alter all");
    return arrayOf(items, where, itemOf);
  };
  return {
    ...switchOf(given.switch),
    kinds: list("kinds", (kind, where) => kKindNames.indexOf(wordOf(kind, where, kSelfAttentions))),
    layers: list("layers", (layer, where) => integer(layer, where, 0)),
    heads: list("heads", (head, where) => integer(head, where, 0)),
  };
}

function switchOf(value: unknown): { kind: number; clip: number } {
  const kindOf = (word: (typeof kSwitches)[number]) => kSwitches.indexOf(word);
  const where = "relation.switch";
  if (value === undefined) return { kind: kindOf("none"), clip: 0 };
  if (typeof value === "object" && value !== null && "clip" in value) {
    const { clip } = optionsOf(value, ["clip"], where);
    return { kind: kindOf("clip"), clip: integer(clip, `${where}.clip`, 0) };
  }
  const word = kWords.find((one) => one === value);
  if (word !== undefined) return { kind: kindOf(word), clip: 0 };
  const words = kWords.map((word) => JSON.stringify(word)).join(", ");
  throw invalid(where, `expected ${words} or { clip: distance }, got ${describe(value)}`);
}

function matrixOf(labels: unknown, where: string): Int32Array {
  if (labels instanceof Int32Array) return labels.slice();
  if (!Array.isArray(labels)) {
    throw invalid(where, `expected an Int32Array or an array of integers, got ${describe(labels)}`);
  }
  return Int32Array.from(labels, (label, i) => integer(label, `${where}[${i}]`, -kMaxInt, kMaxInt));
}
