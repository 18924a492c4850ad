// Which attentions to record: all, unless they would fill the memory; then only those on show.

import type { AttentionKind, ModelInfo } from "relata";

export const everyKind: readonly AttentionKind[] = ["encoder_self", "decoder_self", "cross"];

/** Bytes of recorded attention the page keeps at most, where it has the choice. */
const budget = 1 << 28;
/** Weights, content scores and relation scores, four bytes each. */
const bytesPerPair = 12;

/** A translation is taken to be as long as its source, which has `length` tokens. */
export function tracedKinds(
  info: ModelInfo,
  length: number,
  shown: AttentionKind,
): readonly AttentionKind[] {
  const { numEncoderLayers, numDecoderLayers, numHeads } = info;
  const layers = numEncoderLayers + 2 * numDecoderLayers;
  return layers * numHeads * length ** 2 * bytesPerPair <= budget ? everyKind : [shown];
}
