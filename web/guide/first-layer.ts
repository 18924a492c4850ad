// The first encoder layer, step by step in plain loops, on the sentence at hand: what the guide shows. It shares no
// code with the engine, and a test holds the two against each other.

import type { ModelInfo } from "relata";
import { basisOf } from "../distance";
import {
  activations,
  apply,
  type Breathe,
  dot,
  type Linear,
  normalised,
  sinusoids,
  slopes,
  softmaxRows,
  sumOf,
} from "./arithmetic";
import { type LayerWeights, type ReadTensor, readWeights } from "./layer-weights";

/** Every tensor on the way through the layer; rows are tokens. */
export interface LayerSteps {
  readonly length: number;
  /** [length, dModel] */
  readonly embedded: Float32Array;
  readonly normed: Float32Array;
  /** [length, numHeads * headDim] */
  readonly queries: Float32Array;
  readonly keys: Float32Array;
  readonly values: Float32Array;
  /** [numHeads][length * length] */
  readonly contentScores: readonly Float32Array[];
  readonly relationScores: readonly Float32Array[];
  readonly weights: readonly Float32Array[];
  /** [length, numHeads * headDim] */
  readonly context: Float32Array;
  /** [length, dModel] */
  readonly attended: Float32Array;
  readonly afterAttention: Float32Array;
  readonly output: Float32Array;
}

/** What tells tokens apart by more than their words: a relation of distances or of labels, or else positions at the input, or nothing. */
export type Order = "relation" | "labels" | "positions" | "nothing";

export interface FirstLayer {
  readonly order: Order;
  readonly learned: LayerSteps;
  /** The same without what tells about order; where nothing does, the same. */
  readonly off: LayerSteps;
}

/** Longer sentences would take long. */
export const longestSentence = 96;

export function orderOf({ network, relation }: ModelInfo): Order {
  const basis = basisOf(relation.encoder_self);
  if (basis !== "nothing") return basis === "labels" ? "labels" : "relation";
  return network.positions.type === "none" ? "nothing" : "positions";
}

/** Null where the sentence is too long. labels: [length * length], of a relation by labels. */
export async function workOut(
  read: ReadTensor,
  info: ModelInfo,
  tokenIds: readonly number[],
  labels: Int32Array | null = null,
  breathe: Breathe = () => undefined,
): Promise<FirstLayer | null> {
  if (tokenIds.length > longestSentence) return null;
  const weights = await readWeights(read, info, tokenIds);
  const order = orderOf(info);
  const run = (hasRelation: boolean, hasPositions: boolean) =>
    runLayer({ info, weights, labels, hasRelation, hasPositions, breathe });
  const learned = await run(true, true);
  // Positions are taken away where there is no relation.
  const off = order === "nothing" ? learned : await run(false, order !== "positions");
  return { order, learned, off };
}

interface Run {
  readonly info: ModelInfo;
  readonly weights: LayerWeights;
  readonly labels: Int32Array | null;
  readonly hasRelation: boolean;
  readonly hasPositions: boolean;
  readonly breathe: Breathe;
}

async function runLayer(given: Run): Promise<LayerSteps> {
  const { info, weights, breathe } = given;
  const { dModel: width, numHeads: heads, headDim: size, network } = info;
  const isPre = network.normPosition === "pre";
  const normalise = (rows: Float32Array, by: Linear) => normalised(rows, width, by, network);
  const embedded = embed(given);
  const normed = isPre ? normalise(embedded, weights.attentionNorm) : embedded;
  const project = (by: Linear) => apply(normed, width, by, heads * size, breathe);
  const queries = await project(weights.query);
  const keys = await project(weights.key);
  const values = await project(weights.value);
  const attention = await attend(given, queries, keys, values);
  const attended = await apply(attention.context, heads * size, weights.output, width, breathe);
  const summed = sumOf(embedded, attended);
  const afterAttention = isPre ? summed : normalise(summed, weights.attentionNorm);
  const read = isPre ? normalise(afterAttention, weights.feedForwardNorm) : afterAttention;
  const result = sumOf(afterAttention, await feedForward(given, read));
  const output = isPre ? result : normalise(result, weights.feedForwardNorm);
  return {
    ...{ length: embedded.length / width, embedded, normed, queries, keys, values },
    ...{ ...attention, attended, afterAttention, output },
  };
}

function embed({ info, weights, hasPositions }: Run): Float32Array {
  const { dModel: width, network } = info;
  const rows = weights.embedding.map((value) => value * network.embeddingScale);
  if (!hasPositions) return rows;
  if (weights.positions) return sumOf(rows, weights.positions);
  return network.positions.type === "sinusoidal"
    ? sumOf(rows, sinusoids(network.positions, rows.length / width, width))
    : rows;
}

async function feedForward({ info, weights, breathe }: Run, rows: Float32Array) {
  const { dModel: width, dFf, network } = info;
  const inner = await apply(rows, width, weights.input, dFf, breathe);
  let hidden = inner.map(activations[network.activation]);
  if (weights.gate) {
    const gate = await apply(rows, width, weights.gate, dFf, breathe);
    hidden = hidden.map((value, at) => value * (gate[at] as number));
  }
  return apply(hidden, dFf, weights.back, width, breathe);
}

async function attend(given: Run, queries: Float32Array, keys: Float32Array, values: Float32Array) {
  const { info, weights, hasRelation, breathe } = given;
  const { numHeads: heads, headDim: size, network } = info;
  const { effect, numRelations } = info.relation.encoder_self;
  const length = queries.length / (heads * size);
  const idOf = relationIds(given);
  const slope = slopes(heads);
  const { keys: relationKeys, values: relationValues, bias } = weights.relation;
  // One table for all heads, or one below the other.
  const tableOf = (table: Float32Array, head: number) =>
    table.length > numRelations * size ? head * numRelations : 0;
  const contentScores: Float32Array[] = [];
  const relationScores: Float32Array[] = [];
  const allWeights: Float32Array[] = [];
  const context = new Float32Array(queries.length);
  for (let head = 0; head < heads; head += 1) {
    const offset = head * size;
    const content = new Float32Array(length * length);
    const relation = new Float32Array(length * length);
    const added = (query: number, i: number, j: number) => {
      if (effect === "fixed_slope") return -(slope[head] as number) * Math.abs(j - i);
      if (bias) return bias[head * numRelations + idOf(i, j)] as number;
      if (!relationKeys) return 0;
      const row = tableOf(relationKeys, head) + idOf(i, j);
      return network.attentionScale * dot(queries, query, relationKeys, row * size, size);
    };
    for (let i = 0; i < length; i += 1) {
      await breathe();
      const query = i * heads * size + offset;
      for (let j = 0; j < length; j += 1) {
        const product = dot(queries, query, keys, j * heads * size + offset, size);
        content[i * length + j] = network.attentionScale * product;
        if (hasRelation) relation[i * length + j] = added(query, i, j);
      }
    }
    const attention = softmaxRows(content, relation, length);
    for (let i = 0; i < length; i += 1) {
      await breathe();
      const to = context.subarray(i * heads * size + offset, i * heads * size + offset + size);
      for (let j = 0; j < length; j += 1) {
        const weight = attention[i * length + j] as number;
        addTimes(to, weight, values, j * heads * size + offset);
        if (relationValues && hasRelation)
          addTimes(to, weight, relationValues, (tableOf(relationValues, head) + idOf(i, j)) * size);
      }
    }
    contentScores.push(content);
    relationScores.push(relation);
    allWeights.push(attention);
  }
  return { contentScores, relationScores, weights: allWeights, context };
}

function addTimes(to: Float32Array, weight: number, from: Float32Array, at: number): void {
  for (let part = 0; part < to.length; part += 1)
    to[part] = (to[part] as number) + weight * (from[at + part] as number);
}

/** The relation of query i and key j: of their distance, or of the label between them. */
function relationIds({ info, labels, weights }: Run): (i: number, j: number) => number {
  const { ids, firstDistance } = info.relation.encoder_self;
  const length = weights.embedding.length / info.dModel;
  if (labels) return (i, j) => labels[i * length + j] as number;
  const last = ids.length - 1;
  return (i, j) => (ids[Math.min(last, Math.max(0, j - i - firstDistance))] as number) ?? 0;
}
