// What a model is made of, for those who look into it.

/** A tensor of the model, or some rows of it, as 32-bit floats. */
export interface TensorValues {
  readonly name: string;
  /** [rows, columns], or [count] of a vector. */
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

/** What the network computes besides its relations. */
export interface NetworkInfo {
  readonly norm: "layer_norm" | "rms_norm";
  /** Before each part, or behind the sum with what went in. */
  readonly normPosition: "pre" | "post";
  readonly normEpsilon: number;
  readonly activation: "relu" | "gelu" | "gelu_tanh" | "silu";
  /** Whether a second, linear matrix is multiplied with the activated one. */
  readonly gated: boolean;
  /** Scores are times this: 1/sqrt(headDim), or 1 for T5. */
  readonly attentionScale: number;
  /** Embeddings are times this: sqrt(dModel), or 1. */
  readonly embeddingScale: number;
  /** Whether the output is compared with the target's embedding, not with a matrix of its own. */
  readonly tiedOutput: boolean;
  /** The output is times this before that: dModel^-1/2 for a tied T5, or 1. */
  readonly outputScale: number;
  /**
   * What is added to embeddings. sinusoidal: angle(p, i) = (p + firstPosition) * 10000^(-i / divisor), i < dModel / 2, its sine
   * and cosine in columns 2i and 2i + 1 (interleaved) or i and dModel / 2 + i (halves).
   */
  readonly positions: {
    readonly type: "none" | "sinusoidal" | "table";
    readonly layout: "interleaved" | "halves";
    readonly firstPosition: number;
    readonly divisor: number;
  };
}

/** The relation of one kind of self-attention: an index (pair to id) and an effect (what an id adds). */
export interface RelationInfo {
  /** Slopes (`fixed_slope`) go by the distance itself and have no ids: "none". */
  readonly index: "none" | "clipped_distance" | "bucketed_distance" | "labels";
  readonly effect: "none" | "vectors" | "bias" | "fixed_slope";
  readonly numRelations: number;
  readonly keys: boolean;
  readonly values: boolean;
  /** For distances: ids[d - firstDistance] is the id of distance d; beyond either end the end's id holds. */
  readonly firstDistance: number;
  readonly ids: Int32Array;
}
