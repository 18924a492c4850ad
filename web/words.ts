// Every sentence the page puts together at run time, in one place, so that another language is another
// object of the same shape.

import type { AttentionKind, ModelInfo, RelationInfo, Token } from "relata";
import { type DistanceRow, isThin, type RelationRange } from "./distance";
import type { Failure, Quantity, Translation } from "./state";

const minus = "\u2212";
const thinSpace = "\u2009";

/** A number as text with a true minus sign; `signed` shows the plus as well. */
export function number(value: number, digits: number, signed = false): string {
  const text = Math.abs(value).toFixed(digits);
  const isZero = Number(text) === 0;
  return (isZero ? "" : value < 0 ? minus : signed ? "+" : "") + text;
}

export function distance(value: number): string {
  return number(value, 0, true);
}

/** Millions of bytes, one decimal, as download sizes are told. */
export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

/** A token as read on the page: a word's later parts carry a leading dot. */
export function tokenText({ piece }: Token): string {
  if (piece.startsWith("\u2581")) return piece.slice(1) || "\u2423";
  return /^[\p{L}\p{N}]/u.test(piece) ? `\u00b7${piece}` : piece;
}

export const kinds: Readonly<Record<AttentionKind, string>> = {
  encoder_self: "Encoder",
  decoder_self: "Decoder",
  cross: "Cross",
};

export const kindHints: Readonly<Record<AttentionKind, string>> = {
  encoder_self: "source to source",
  decoder_self: "output to output",
  cross: "output to source",
};

export const quantities: Readonly<Record<Quantity, string>> = {
  weights: "Weight",
  contentScores: "Content score",
  relationScores: "Relation score",
};

export const quantityExplanations: Readonly<Record<Quantity, string>> = {
  weights: "Each row is one token looking at all the others; its weights add up to 1.",
  contentScores: "What the two tokens themselves add to the score before it becomes a weight.",
  relationScores:
    "What the distance between the two tokens adds to the score. Stripes along the diagonals are distance at work.",
};

export function mapExplanation(kind: AttentionKind, quantity: Quantity): string {
  const order = "The upper corner is empty: a token never sees the ones after it.";
  const output = "A row has read its token and is about to write the next one.";
  const more = { encoder_self: [], decoder_self: [output, order], cross: [output] }[kind];
  return [quantityExplanations[quantity], ...more].join(" ");
}

export function profileExplanation(kind: AttentionKind): string {
  const bars = "Each bar averages one diagonal of the map; pale ones rest on one or two pairs.";
  return kind === "cross"
    ? `${bars} Two sentences share no ruler, so the model adds nothing for distance here.`
    : `${bars} The line is what the distance alone adds to the score, whatever token stands there; its band is the spread over the sentence.`;
}

/** The head in one sentence: where its largest bar stands. */
export function profileHeadline(kind: AttentionKind, rows: readonly DistanceRow[]): string {
  const solid = rows.filter((row) => !isThin(row));
  const top = (solid.length > 0 ? solid : rows).reduce((best, row) =>
    row.meanWeight > best.meanWeight ? row : best,
  );
  const share = `${number(top.meanWeight, 2)} on average over ${top.count} ${top.count === 1 ? "pair" : "pairs"}`;
  if (top.distance === 0) {
    return `Strongest at ${kind === "cross" ? "the same" : "its own"} position: ${share}`;
  }
  const places = Math.abs(top.distance) === 1 ? "place" : "places";
  const side = top.distance < 0 ? "to the left" : "to the right";
  return `Strongest ${Math.abs(top.distance)} ${places} ${side}: ${share}`;
}

export const noRelation = {
  cross: "No relation between two different sentences",
  none: "This model adds nothing for distance here",
};

/** The distances that share one relation, as a tick's label. */
export function rangeLabel(
  { from, to }: RelationRange,
  openStart: boolean,
  openEnd: boolean,
): string {
  if (openStart) return `\u2264${thinSpace}${distance(to)}`;
  if (openEnd) return `\u2265${thinSpace}${distance(from)}`;
  return `${distance(from)} to ${distance(to)}`;
}

/** How the model makes relations out of distances. */
export function relationNote(info: RelationInfo): string {
  const last = info.firstDistance + info.ids.length - 1;
  if (info.index === "clipped_distance") {
    return `The model knows ${info.numRelations} distances, ${distance(info.firstDistance)} to ${distance(last)}; anything farther counts as the farthest.`;
  }
  if (info.index === "bucketed_distance") {
    return `The model sorts distances into ${info.numRelations} buckets, fine near by and coarse far off.`;
  }
  return "";
}

export function stats(translation: Translation): string {
  const { status, tokens, ms } = translation;
  if (tokens === 0) return status === "stopped" ? "Stopped" : "";
  const parts = [
    `${tokens} ${tokens === 1 ? "token" : "tokens"}`,
    `${number(ms / tokens, 1)} ms per token`,
  ];
  if (status === "stopped") parts.push("stopped");
  if (status === "done" && translation.finishReason === "length")
    parts.push("cut at the length limit");
  return parts.join(", ");
}

export function modelFacts(info: ModelInfo): string {
  const layers = `${info.numEncoderLayers} + ${info.numDecoderLayers} layers`;
  return `${layers}, ${info.numHeads} heads, ${megabytes(info.weightBytes)} MB in memory`;
}

/** What went wrong and what to do, in words. */
export function failureWords({ code, where }: Failure): string {
  const place = where === "" ? "" : ` (${where})`;
  switch (code) {
    case "file_missing":
      return `A file of the model is not there${place}. Check that the whole model folder is on the server.`;
    case "file_damaged":
      return `A file of the model is damaged${place}. Reload the page, or put the file on the server again.`;
    case "config_invalid":
      return `The model\u2019s configuration does not make sense${place}. Get the model again.`;
    case "unsupported":
      return `This kind of model is not supported${place}. Pick another.`;
    case "tensor_missing":
    case "tensor_invalid":
      return `The model\u2019s weights do not fit its configuration${place}. Get the model again.`;
    case "tokenizer_invalid":
      return `The model\u2019s tokenizer cannot be read${place}. Get the model again.`;
    case "input_invalid":
      return `The model cannot read this text${place}. Change it and try again.`;
    case "option_invalid":
      return `The page asked for something the model does not do${place}.`;
    case "out_of_memory":
      return `There is not enough memory${place}. Close other tabs, or try a shorter text.`;
    case "disposed":
      return "The model was let go. Reload the page.";
    case "wasm_unavailable":
      return "This browser cannot run WebAssembly with SIMD. A current Chrome, Edge, Firefox or Safari can.";
    case "network":
      return `The model did not arrive${place}. Check the connection and try again.`;
    case "internal":
    case "unknown":
      return `Something went wrong that should not${place}. Reload the page.`;
  }
}
