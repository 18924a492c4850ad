// The first encoder layer, step by step in plain loops, on the sentence at hand: what the guide shows. It shares no
// code with the engine, and a test holds the two against each other.

import type { ModelInfo } from "relata";
import { openTensorFile, type TensorFile } from "./tensor-file";

/** The parts of config.json (model_type "relata") that the layer depends on. */
export interface LayerConfig {
  readonly model_type: string;
  readonly d_model: number;
  readonly num_heads: number;
  readonly head_dim: number;
  readonly norm: { readonly type: string; readonly position: string; readonly epsilon: number };
  readonly activation: string;
  readonly gated: boolean;
  readonly scale_attention: boolean;
  readonly scale_embeddings: boolean;
  readonly positions: { readonly type: string };
  readonly relation: {
    readonly encoder_self: {
      readonly effect: { readonly type: string; readonly per_head?: boolean };
    };
  };
}

/** Every tensor on the way through the layer; rows are tokens. */
export interface LayerSteps {
  readonly length: number;
  /** [length, d_model] */
  readonly embedded: Float32Array;
  readonly normed: Float32Array;
  /** [length, num_heads * head_dim] */
  readonly queries: Float32Array;
  readonly keys: Float32Array;
  readonly values: Float32Array;
  /** [num_heads][length * length] */
  readonly contentScores: readonly Float32Array[];
  readonly relationScores: readonly Float32Array[];
  readonly weights: readonly Float32Array[];
  /** [length, num_heads * head_dim] */
  readonly context: Float32Array;
  /** [length, d_model] */
  readonly attended: Float32Array;
  readonly afterAttention: Float32Array;
  readonly output: Float32Array;
}

export interface FirstLayer {
  readonly config: LayerConfig;
  readonly learned: LayerSteps;
  /** The same with the relation switched off. */
  readonly off: LayerSteps;
}

/** Longer sentences would hold up the page. */
export const longestSentence = 96;

/** Null where the model's first layer is not one of those that are worked out here, or the sentence is too long. */
export async function workOut(
  files: readonly File[],
  info: ModelInfo,
  tokenIds: readonly number[],
): Promise<FirstLayer | null> {
  const file = (name: string) => files.find((candidate) => candidate.name === name);
  const [configFile, weightsFile] = [file("config.json"), file("model.safetensors")];
  if (!configFile || !weightsFile || tokenIds.length > longestSentence) return null;
  const config = JSON.parse(await configFile.text()) as LayerConfig;
  if (config.model_type !== "relata" || config.positions.type !== "none") return null;
  const { index, keys, values } = info.relation.encoder_self;
  const effect = config.relation.encoder_self.effect;
  if (index !== "clipped_distance" && index !== "bucketed_distance") return null;
  if (effect.type !== "vectors" || effect.per_head || config.gated) return null;
  if (!["relu", "silu"].includes(config.activation)) return null;
  const weights = await readWeights(await openTensorFile(weightsFile), tokenIds, { keys, values });
  const learned = runLayer(config, info, weights, tokenIds.length, true);
  const off = runLayer(config, info, weights, tokenIds.length, false);
  return { config, learned, off };
}

type Weights = Awaited<ReturnType<typeof readWeights>>;

async function readWeights(
  file: TensorFile,
  tokenIds: readonly number[],
  relation: { readonly keys: boolean; readonly values: boolean },
) {
  const layer = "encoder.layers.0.";
  const read = async (name: string) => (await file.read(name)).values;
  const optional = async (name: string) => (file.has(name) ? read(name) : null);
  const linear = async (name: string) => ({
    weight: await read(`${layer}${name}.weight`),
    bias: await optional(`${layer}${name}.bias`),
  });
  // A table of its own, or one that serves all layers.
  const table = (name: string) => {
    const own = `${layer}self_attention.${name}`;
    return read(file.has(own) ? own : `encoder.${name}`);
  };
  return {
    embedding: (await file.read("embedding.weight", tokenIds)).values,
    attentionNorm: await linear("self_attention_norm"),
    query: await linear("self_attention.query"),
    key: await linear("self_attention.key"),
    value: await linear("self_attention.value"),
    output: await linear("self_attention.output"),
    relationKeys: relation.keys ? await table("relation_keys") : null,
    relationValues: relation.values ? await table("relation_values") : null,
    feedForwardNorm: await linear("feed_forward_norm"),
    input: await linear("feed_forward.input"),
    back: await linear("feed_forward.output"),
  };
}

interface Linear {
  readonly weight: Float32Array;
  readonly bias: Float32Array | null;
}

function runLayer(
  config: LayerConfig,
  info: ModelInfo,
  weights: Weights,
  length: number,
  hasRelation: boolean,
): LayerSteps {
  const { d_model: width, num_heads: heads, head_dim: size, norm } = config;
  const isPre = norm.position === "pre";
  const normalise = (rows: Float32Array, by: Linear) => normRows(rows, width, by, norm);
  const scale = config.scale_embeddings ? Math.sqrt(width) : 1;
  const embedded = weights.embedding.map((value) => value * scale);
  const normed = isPre ? normalise(embedded, weights.attentionNorm) : embedded;
  const project = (by: Linear) => apply(normed, width, by, heads * size);
  const [queries, keys, values] = [
    project(weights.query),
    project(weights.key),
    project(weights.value),
  ];
  const { ids, firstDistance } = info.relation.encoder_self;
  const idOf = (distance: number) =>
    ids[Math.min(ids.length - 1, Math.max(0, distance - firstDistance))] as number;
  const contentScores: Float32Array[] = [];
  const relationScores: Float32Array[] = [];
  const allWeights: Float32Array[] = [];
  const context = new Float32Array(length * heads * size);
  const shrink = config.scale_attention ? 1 / Math.sqrt(size) : 1;
  const relationKeys = hasRelation ? weights.relationKeys : null;
  const relationValues = hasRelation ? weights.relationValues : null;
  for (let head = 0; head < heads; head += 1) {
    const offset = head * size;
    const content = new Float32Array(length * length);
    const relation = new Float32Array(length * length);
    for (let i = 0; i < length; i += 1) {
      const query = i * heads * size + offset;
      for (let j = 0; j < length; j += 1) {
        const key = j * heads * size + offset;
        content[i * length + j] = shrink * dot(queries, query, keys, key, size);
        if (relationKeys)
          relation[i * length + j] =
            shrink * dot(queries, query, relationKeys, idOf(j - i) * size, size);
      }
    }
    const attention = softmaxRows(content, relation, length);
    for (let i = 0; i < length; i += 1) {
      for (let j = 0; j < length; j += 1) {
        const weight = attention[i * length + j] as number;
        const from = j * heads * size + offset;
        const relationFrom = idOf(j - i) * size;
        const to = i * heads * size + offset;
        for (let part = 0; part < size; part += 1) {
          const value = values[from + part] as number;
          const added = relationValues ? (relationValues[relationFrom + part] as number) : 0;
          context[to + part] = (context[to + part] as number) + weight * (value + added);
        }
      }
    }
    contentScores.push(content);
    relationScores.push(relation);
    allWeights.push(attention);
  }
  const attended = apply(context, heads * size, weights.output, width);
  const summed = embedded.map((value, at) => value + (attended[at] as number));
  const afterAttention = isPre ? summed : normalise(summed, weights.attentionNorm);
  const inner = apply(
    isPre ? normalise(afterAttention, weights.feedForwardNorm) : afterAttention,
    width,
    weights.input,
    info.dFf,
  ).map(config.activation === "relu" ? (x) => Math.max(0, x) : (x) => x / (1 + Math.exp(-x)));
  const back = apply(inner, info.dFf, weights.back, width);
  const result = afterAttention.map((value, at) => value + (back[at] as number));
  const output = isPre ? result : normalise(result, weights.feedForwardNorm);
  return {
    ...{ length, embedded, normed, queries, keys, values, contentScores, relationScores },
    ...{ weights: allWeights, context, attended, afterAttention, output },
  };
}

/** rows [n, from] times weight [to, from] transposed, plus bias -> [n, to]. */
function apply(rows: Float32Array, from: number, { weight, bias }: Linear, to: number) {
  const count = rows.length / from;
  const result = new Float32Array(count * to);
  for (let row = 0; row < count; row += 1) {
    for (let out = 0; out < to; out += 1) {
      const sum = dot(rows, row * from, weight, out * from, from);
      result[row * to + out] = sum + (bias ? (bias[out] as number) : 0);
    }
  }
  return result;
}

function dot(a: Float32Array, atA: number, b: Float32Array, atB: number, size: number): number {
  let sum = 0;
  for (let i = 0; i < size; i += 1) sum += (a[atA + i] as number) * (b[atB + i] as number);
  return sum;
}

function normRows(
  rows: Float32Array,
  width: number,
  { weight, bias }: Linear,
  { type, epsilon }: LayerConfig["norm"],
): Float32Array {
  const result = new Float32Array(rows.length);
  for (let at = 0; at < rows.length; at += width) {
    const row = rows.subarray(at, at + width);
    const mean = type === "layer_norm" ? row.reduce((sum, value) => sum + value, 0) / width : 0;
    const squares = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width;
    const scale = 1 / Math.sqrt(squares + epsilon);
    row.forEach((value, i) => {
      result[at + i] =
        (value - mean) * scale * (weight[i] as number) + (bias ? (bias[i] as number) : 0);
    });
  }
  return result;
}

function softmaxRows(content: Float32Array, relation: Float32Array, length: number): Float32Array {
  const weights = new Float32Array(length * length);
  for (let at = 0; at < weights.length; at += length) {
    let highest = Number.NEGATIVE_INFINITY;
    for (let j = at; j < at + length; j += 1)
      highest = Math.max(highest, (content[j] as number) + (relation[j] as number));
    let sum = 0;
    for (let j = at; j < at + length; j += 1) {
      const power = Math.exp((content[j] as number) + (relation[j] as number) - highest);
      weights[j] = power;
      sum += power;
    }
    for (let j = at; j < at + length; j += 1) weights[j] = (weights[j] as number) / sum;
  }
  return weights;
}
