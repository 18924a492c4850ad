// The core's plain values in the words of the contract. Names stand in the order of the core's enumerations.

import type { TraceSelection } from "./protocol.js";
import type { RawTensor } from "./raw-files.js";
import type {
  RawDescription,
  RawHead,
  RawNetwork,
  RawRelation,
  RawTrace,
  RawValues,
} from "./raw-model.js";
import type {
  AttentionKind,
  AttentionTrace,
  FinishReason,
  ModelInfo,
  NetworkInfo,
  RelationInfo,
  TensorValues,
  Token,
} from "./types.js";

export const kKindNames: readonly AttentionKind[] = ["encoder_self", "decoder_self", "cross"];
const kIndexNames: readonly RelationInfo["index"][] = [
  "none",
  "clipped_distance",
  "bucketed_distance",
  "labels",
];
const kEffectNames: readonly RelationInfo["effect"][] = ["none", "vectors", "bias", "fixed_slope"];
const kNorms = ["layer_norm", "rms_norm"] as const;
const kNormPositions = ["pre", "post"] as const;
const kActivations = ["relu", "gelu", "gelu_tanh", "silu"] as const;
const kPositions = ["none", "sinusoidal", "table"] as const;

/** 0 is none yet; the core is only stopped by stop strings. */
const kFinishReasons = ["none", "eos", "length", "stop_token", "loop", "stop_string"] as const;

export function finishReasonOf(index: number): FinishReason {
  return nameOf(kFinishReasons, index) as FinishReason;
}

function nameOf<Name extends string>(names: readonly Name[], index: number): Name {
  const name = names[index];
  if (name === undefined) throw new RangeError(`no name ${index} among ${names.join(", ")}`);
  return name;
}

function describeRelation(raw: RawRelation): RelationInfo {
  return {
    ...raw,
    index: nameOf(kIndexNames, raw.index),
    effect: nameOf(kEffectNames, raw.effect),
  };
}

function describeNetwork(raw: Iterable<number>): NetworkInfo {
  const [norm, normPosition, normEpsilon, activation, gated, ...rest] = raw as RawNetwork;
  const [attentionScale, embeddingScale, tiedOutput, outputScale, ...of] = rest;
  const [positions, interleaved, firstPosition, divisor] = of;
  return {
    norm: nameOf(kNorms, norm),
    normPosition: nameOf(kNormPositions, normPosition),
    normEpsilon,
    activation: nameOf(kActivations, activation),
    gated: gated === 1,
    ...{ attentionScale, embeddingScale, tiedOutput: tiedOutput === 1, outputScale },
    positions: {
      type: nameOf(kPositions, positions),
      layout: interleaved === 1 ? "interleaved" : "halves",
      ...{ firstPosition, divisor },
    },
  };
}

/** Norms and the biases of linear maps are vectors. */
export function tensorOf(name: string, { rows, values }: RawValues): TensorValues {
  const { length } = values;
  const isVector = /(_norm\.weight|\.bias)$/.test(name);
  return { name, shape: isVector ? [length] : [rows, length / rows], values };
}

/** What was loaded, besides the model itself. */
export interface Loaded {
  readonly tensors: readonly RawTensor[];
  readonly format: string;
  readonly tokenizerKind: string;
}

export function describeModel(raw: RawDescription, loaded: Loaded): ModelInfo {
  const {
    encoderRelation,
    decoderRelation,
    network,
    decoderStartTokenId: _start,
    eosTokenIds: _eos,
    numBeams,
    numReturnSequences,
    doSample,
    maxNewTokens,
    ...sizes
  } = raw;
  return {
    ...sizes,
    search: { numBeams, numReturnSequences, doSample, maxNewTokens },
    format: loaded.format,
    tokenizer: loaded.tokenizerKind,
    relation: {
      encoder_self: describeRelation(encoderRelation),
      decoder_self: describeRelation(decoderRelation),
    },
    network: describeNetwork(network),
    tensors: loaded.tensors.map(({ name, dtype, shape, bytes }) => ({ name, dtype, shape, bytes })),
  };
}

/** The first `columns` of each row. */
function firstColumns(rows: Float32Array, rowLength: number, columns: number): Float32Array {
  if (columns === rowLength) return rows;
  const count = rows.length / rowLength;
  const cut = new Float32Array(count * columns);
  for (let i = 0; i < count; i++) {
    cut.set(rows.subarray(i * rowLength, i * rowLength + columns), i * columns);
  }
  return cut;
}

/** source: the encoder's tokens; input: the decoder's. */
export function traceOfHeads(
  heads: readonly RawHead[],
  source: readonly Token[],
  input: readonly Token[],
): AttentionTrace[] {
  return heads.map((raw) => {
    const kind = nameOf(kKindNames, raw.kind);
    const queryTokens = (kind === "encoder_self" ? source : input).slice(0, raw.numQueries);
    const keyTokens = kind === "decoder_self" ? queryTokens : source;
    const cut = (rows: Float32Array) => firstColumns(rows, raw.rowLength, keyTokens.length);
    return {
      kind,
      layer: raw.layer,
      head: raw.head,
      queryTokens,
      keyTokens,
      weights: cut(raw.weights),
      contentScores: cut(raw.contentScores),
      relationScores: raw.relationScores.length === 0 ? null : cut(raw.relationScores),
    };
  });
}

export function rawTrace(trace: TraceSelection | null): RawTrace {
  if (trace === null) return { kinds: [], layers: [], heads: [] };
  return { ...trace, kinds: trace.kinds.map((kind) => kKindNames.indexOf(kind)) };
}
