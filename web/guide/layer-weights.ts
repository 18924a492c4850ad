// The tensors of the first encoder layer, as the loaded model has them.

import type { ModelInfo, TensorValues } from "relata";
import type { Linear } from "./arithmetic";

/** A tensor by the name of the schema; of a matrix, only the rows named where some are. */
export type ReadTensor = (name: string, rows?: readonly number[]) => Promise<TensorValues>;

/** What the relation's ids, or heads, stand for. */
export interface RelationWeights {
  /** [copies * numRelations, headDim], where the effect is vectors: one copy, or one for each head. */
  readonly keys: Float32Array | null;
  readonly values: Float32Array | null;
  /** [numHeads, numRelations] */
  readonly bias: Float32Array | null;
}

export interface LayerWeights {
  /** [length, dModel]: the rows of the tokens. */
  readonly embedding: Float32Array;
  /** [length, dModel], where positions are a table. */
  readonly positions: Float32Array | null;
  readonly relation: RelationWeights;
  readonly attentionNorm: Linear;
  readonly query: Linear;
  readonly key: Linear;
  readonly value: Linear;
  readonly output: Linear;
  readonly feedForwardNorm: Linear;
  readonly input: Linear;
  readonly gate: Linear | null;
  readonly back: Linear;
}

const layer = "encoder.layers.0.";

/** Rejects as the package does. */
export async function readWeights(
  read: ReadTensor,
  { network, relation }: ModelInfo,
  tokenIds: readonly number[],
): Promise<LayerWeights> {
  const { effect, keys, values } = relation.encoder_self;
  const valuesOf = async (name: string, rows?: readonly number[]) =>
    (await read(name, rows)).values;
  const table = (part: string, isThere: boolean) =>
    isThere ? valuesOf(`${layer}self_attention.relation_${part}`) : null;
  const linear = async (name: string): Promise<Linear> => ({
    weight: await valuesOf(`${layer}${name}.weight`),
    // Not every model has them.
    bias: await valuesOf(`${layer}${name}.bias`).catch(() => null),
  });
  const places = tokenIds.map((_, at) => at);
  const hasVectors = effect === "vectors";
  return {
    embedding: await valuesOf("embedding.weight", tokenIds),
    positions:
      network.positions.type === "table" ? await valuesOf("positions.weight", places) : null,
    relation: {
      keys: await table("keys", hasVectors && keys),
      values: await table("values", hasVectors && values),
      bias: await table("bias", effect === "bias"),
    },
    attentionNorm: await linear("self_attention_norm"),
    query: await linear("self_attention.query"),
    key: await linear("self_attention.key"),
    value: await linear("self_attention.value"),
    output: await linear("self_attention.output"),
    feedForwardNorm: await linear("feed_forward_norm"),
    input: await linear("feed_forward.input"),
    gate: network.gated ? await linear("feed_forward.gate") : null,
    back: await linear("feed_forward.output"),
  };
}
