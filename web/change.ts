// What the visitor changes about the relation: which switch, and where.

import type { ModelInfo, RelationInput, RelationSwitch } from "relata";

export type SwitchName = "trained" | "off" | "keys" | "values" | "mirrored" | "clip";
export type Scope = "everywhere" | "layer" | "head";

export interface RelationChange {
  readonly name: SwitchName;
  /** The largest distance told apart, for `clip`. */
  readonly clip: number;
  readonly scope: Scope;
}

export const noChange: RelationChange = { name: "trained", clip: 2, scope: "everywhere" };

/** The switches that mean something to a model's encoder; none where it has no relation. */
export function offeredSwitches(info: ModelInfo): readonly SwitchName[] {
  const { index, effect, keys, values } = info.relation.encoder_self;
  if (effect === "none") return [];
  // A slope is the same to both sides.
  if (effect === "fixed_slope") return ["trained", "off", "clip"];
  const isDistance = index !== "labels";
  const parts = effect === "vectors" && keys && values ? (["keys", "values"] as const) : [];
  const clip = isDistance && farthest(info) > 0 ? (["clip"] as const) : [];
  return ["trained", "off", ...parts, ...(isDistance ? (["mirrored"] as const) : []), ...clip];
}

/** Of slopes, which know no end of themselves. */
const farthestSlope = 32;

/** The largest distance at which clipping still changes something in both stacks. */
export function farthest({ relation }: ModelInfo): number {
  const { encoder_self: encoder, decoder_self: decoder } = relation;
  if (encoder.effect === "fixed_slope") return farthestSlope;
  const last = encoder.firstDistance + encoder.ids.length - 1;
  const sides = [-encoder.firstDistance, last];
  // A decoder sees nothing to its right.
  if (decoder.ids.length > 0) sides.push(-decoder.firstDistance);
  return Math.max(0, Math.min(...sides) - 1);
}

/** What the package is asked for; null for the relation as trained. */
export function relationInput(
  { name, clip, scope }: RelationChange,
  layer: number,
  head: number,
): RelationInput | null {
  if (name === "trained") return null;
  const altered: RelationSwitch = name === "clip" ? { clip } : name;
  const layers = scope === "everywhere" ? {} : { layers: [layer] };
  const heads = scope === "head" ? { heads: [head] } : {};
  return { switch: altered, ...layers, ...heads };
}

export interface MarkedWord {
  readonly text: string;
  /** Whether the other text has this word at this place in the common order. */
  readonly isSame: boolean;
}

/** The words of both texts, those outside their longest common subsequence marked. */
export function compareWords(before: string, after: string): [MarkedWord[], MarkedWord[]] {
  const [a, b] = [wordsIn(before), wordsIn(after)];
  const width = b.length + 1;
  const lengths = new Int32Array((a.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] as number;
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      lengths[i * width + j] =
        a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const [left, right]: [MarkedWord[], MarkedWord[]] = [[], []];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      left.push({ text: a[i++] as string, isSame: true });
      right.push({ text: b[j++] as string, isSame: true });
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      left.push({ text: a[i++] as string, isSame: false });
    } else {
      right.push({ text: b[j++] as string, isSame: false });
    }
  }
  return [left, right];
}

function wordsIn(text: string): string[] {
  return text
    .trim()
    .split(/\s+/)
    .filter((word) => word !== "");
}
