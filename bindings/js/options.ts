// Checks what callers pass, before anything runs. Unknown names are errors that say what is known.

import { RelataError } from "./errors.js";
import type { Labels, TraceSelection } from "./protocol.js";
import type { AttentionKind, Dtype, EncodeOptions, ModelInfo, Variant } from "./types.js";

const kKinds: readonly AttentionKind[] = ["encoder_self", "decoder_self", "cross"];
export const kMaxInt = 2 ** 31 - 1;
const kMaxThreads = 64;
/** The core's limit of a target's length. */
export const kMaxNewTokens = 2 ** 20;

export function invalid(where: string, message: string): RelataError {
  return new RelataError("option_invalid", where, `${where}: ${message}`);
}

/** How many letters to insert, delete or replace to get from `a` to `b` (Levenshtein 1966). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** The known name nearest to `name`, if two thirds of it are right; case, underscores and dashes do not count. */
export function nearest(name: string, known: readonly string[]): string | null {
  const bare = (text: string) => text.toLowerCase().replace(/[_-]/g, "");
  const distance = (candidate: string) => editDistance(bare(name), bare(candidate));
  const best = known.reduce((best, next) => (distance(next) < distance(best) ? next : best));
  const longer = Math.max(bare(name).length, bare(best).length);
  return distance(best) <= Math.ceil(longer / 3) ? best : null;
}

function hintOf(name: unknown, known: readonly string[]): string {
  const near = typeof name === "string" ? nearest(name, known) : null;
  return near === null ? `expected one of ${known.join(", ")}` : `the nearest is "${near}"`;
}

/** `value` as an options object with known names only; undefined is the empty one. */
export function optionsOf(
  value: unknown,
  known: readonly string[],
  where = "",
): Readonly<Record<string, unknown>> {
  if (value === undefined) return {};
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(where || "options", `expected an object, got ${describe(value)}`);
  }
  for (const name of Object.keys(value)) {
    if (known.includes(name)) continue;
    const place = where === "" ? name : `${where}.${name}`;
    throw invalid(place, `unknown option; ${hintOf(name, known)}`);
  }
  return value as Record<string, unknown>;
}

export function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return JSON.stringify(value);
  return typeof value === "object" || typeof value === "function" ? typeof value : String(value);
}

export function integer(value: unknown, where: string, least: number, most = kMaxInt): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most)
    return value;
  const range = most === kMaxInt ? `of at least ${least}` : `from ${least} to ${most}`;
  throw invalid(where, `expected an integer ${range}, got ${describe(value)}`);
}

/** One of some words. */
export function wordOf<Word extends string | boolean>(
  value: unknown,
  where: string,
  words: readonly Word[],
): Word {
  const found = words.find((word) => word === value);
  if (found !== undefined) return found;
  const known = words.map((word) => JSON.stringify(word)).join(", ");
  throw invalid(where, `expected one of ${known}, got ${describe(value)}`);
}

export function arrayOf<T>(
  value: unknown,
  where: string,
  itemOf: (item: unknown, where: string) => T,
): T[] {
  if (!Array.isArray(value)) throw invalid(where, `expected an array, got ${describe(value)}`);
  // A hole in it is an item, too.
  return Array.from(value, (item, i) => itemOf(item, `${where}[${i}]`));
}

/** Token ids; the core holds them against the vocabulary. */
export function idsOf(value: unknown, where: string): number[] {
  const list = ArrayBuffer.isView(value) ? Array.from(value as Int32Array) : value;
  return arrayOf(list, where, (id, place) => integer(id, place, 0));
}

export function textOf(value: unknown, where: string): string {
  if (typeof value === "string") return value;
  throw new RelataError(
    "input_invalid",
    where,
    `${where}: expected a string, got ${describe(value)}`,
  );
}

export function signalOf(value: unknown): AbortSignal | undefined {
  if (value === undefined) return undefined;
  if (
    typeof value === "object" &&
    value !== null &&
    "aborted" in value &&
    "addEventListener" in value
  ) {
    return value as AbortSignal;
  }
  throw invalid("signal", `expected an AbortSignal, got ${describe(value)}`);
}

/** null where the file decides. */
export function dtypeOf(value: unknown): Dtype | null {
  if (value === undefined) return null;
  return wordOf<Dtype>(value, "dtype", ["f32", "int8"]);
}

/** null where the machine decides. */
export function variantOf(value: unknown): Variant | null {
  return value === undefined ? null : wordOf<Variant>(value, "variant", ["baseline", "relaxed"]);
}

/** 1 where it is not given. */
export function threadsOf(value: unknown): number {
  return value === undefined ? 1 : integer(value, "threads", 1, kMaxThreads);
}

export function poolingOf(value: unknown): NonNullable<EncodeOptions["pooling"]> {
  return value === undefined ? "none" : wordOf(value, "pooling", ["none", "mean", "first"]);
}

/** A text, or ids. */
export function targetOf(value: unknown, where: string): string | number[] {
  if (typeof value === "string") return value;
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return idsOf(value, where);
  throw new RelataError(
    "input_invalid",
    where,
    `${where}: expected a string or token ids, got ${describe(value)}`,
  );
}

export function booleanOf(value: unknown, where: string): boolean | undefined {
  if (value === undefined || typeof value === "boolean") return value;
  throw invalid(where, `expected true or false, got ${describe(value)}`);
}

export function functionOf<T>(value: unknown, where: string): T | undefined {
  if (value === undefined || typeof value === "function") return value as T | undefined;
  throw invalid(where, `expected a function, got ${describe(value)}`);
}

function listOf(value: unknown, where: string, hint: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(where, `expected an array, got ${describe(value)}`);
  if (value.length === 0) throw invalid(where, `is empty: ${hint}`);
  return value;
}

function kindOf(value: unknown, where: string): AttentionKind {
  const kind = kKinds.find((known) => known === value);
  if (kind !== undefined) return kind;
  throw invalid(where, `${describe(value)} is no kind of attention; ${hintOf(value, kKinds)}`);
}

/** Checked against the model: a layer has to exist in one of the asked kinds at least. */
export function traceOf(value: unknown, info: ModelInfo): TraceSelection | null {
  if (value === undefined) return null;
  const { kinds, layers, heads } = optionsOf(value, ["kinds", "layers", "heads"], "trace");
  const asked = listOf(kinds, "trace.kinds", `expected some of ${kKinds.join(", ")}`).map(
    (kind, i) => kindOf(kind, `trace.kinds[${i}]`),
  );
  const depths = asked.map((kind) =>
    kind === "encoder_self" ? info.numEncoderLayers : info.numDecoderLayers,
  );
  const indices = (list: unknown, where: string, count: number) => {
    if (list === undefined) return [];
    return [
      ...new Set(
        listOf(list, where, "leave it out to ask for all").map((index, i) =>
          integer(index, `${where}[${i}]`, 0, count - 1),
        ),
      ),
    ];
  };
  return {
    kinds: [...new Set(asked)],
    layers: indices(layers, "trace.layers", Math.max(...depths)),
    heads: indices(heads, "trace.heads", info.numHeads),
  };
}

export function checkLabels(labels: Labels, sourceLength: number): void {
  if (labels === null || labels.length === sourceLength ** 2) return;
  const expected = `${sourceLength} x ${sourceLength} for the ${sourceLength} tokens of this source`;
  throw invalid("relation.labels", `expected ${expected}, got ${labels.length} labels`);
}

/** 0, all, where it is not given. */
export function maxSourceTokensOf(value: unknown): number {
  return value === undefined ? 0 : integer(value, "maxSourceTokens", 1);
}

/** What a pass over a given target may start and end with. */
export function passOf(
  { decoderStartTokenId: start, maxSourceTokens }: Readonly<Record<string, unknown>>,
  { vocabSize }: ModelInfo,
) {
  return {
    startId: start === undefined ? null : integer(start, "decoderStartTokenId", 0, vocabSize - 1),
    maxSourceTokens: maxSourceTokensOf(maxSourceTokens),
  };
}
