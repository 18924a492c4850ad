// Rows of numbers in plain loops, as the formulas have them. It shares no code with the engine.

import type { NetworkInfo } from "relata";

/** Returns at once, or after the page had its turn where enough has been computed in a row. */
export type Breathe = () => Promise<void> | undefined;

export interface Linear {
  /** [out, in] */
  readonly weight: Float32Array;
  readonly bias: Float32Array | null;
}

/** rows [n, from] times weight [to, from] transposed, plus bias -> [n, to]. */
export async function apply(
  rows: Float32Array,
  from: number,
  { weight, bias }: Linear,
  to: number,
  breathe: Breathe,
): Promise<Float32Array> {
  const count = rows.length / from;
  const result = new Float32Array(count * to);
  for (let row = 0; row < count; row += 1) {
    await breathe();
    for (let out = 0; out < to; out += 1) {
      const sum = dot(rows, row * from, weight, out * from, from);
      result[row * to + out] = sum + (bias ? (bias[out] as number) : 0);
    }
  }
  return result;
}

export function dot(a: Float32Array, atA: number, b: Float32Array, atB: number, size: number) {
  let sum = 0;
  for (let i = 0; i < size; i += 1) sum += (a[atA + i] as number) * (b[atB + i] as number);
  return sum;
}

export function sumOf(a: Float32Array, b: Float32Array): Float32Array {
  return a.map((value, at) => value + (b[at] as number));
}

/** Layer norm, or RMS norm, which takes no mean off. */
export function normalised(
  rows: Float32Array,
  width: number,
  { weight, bias }: Linear,
  { norm, normEpsilon }: NetworkInfo,
): Float32Array {
  const result = new Float32Array(rows.length);
  for (let at = 0; at < rows.length; at += width) {
    const row = rows.subarray(at, at + width);
    const mean = norm === "layer_norm" ? row.reduce((sum, value) => sum + value, 0) / width : 0;
    const squares = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width;
    const scale = 1 / Math.sqrt(squares + normEpsilon);
    row.forEach((value, i) => {
      result[at + i] =
        (value - mean) * scale * (weight[i] as number) + (bias ? (bias[i] as number) : 0);
    });
  }
  return result;
}

export const activations: Readonly<Record<NetworkInfo["activation"], (x: number) => number>> = {
  relu: (x) => Math.max(0, x),
  silu: (x) => x / (1 + Math.exp(-x)),
  gelu: (x) => (x * (1 + erf(x / Math.SQRT2))) / 2,
  gelu_tanh: (x) => (x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))) / 2,
};

/** By its power series near zero, and beyond by the continued fraction of its complement. */
export function erf(x: number): number {
  const far = Math.abs(x);
  if (far > 6) return Math.sign(x);
  if (far < 2.5) {
    let [term, sum] = [x, x];
    for (let n = 1; Math.abs(term) > 1e-17; n += 1) {
      term *= -(x * x) / n;
      sum += term / (2 * n + 1);
    }
    return (2 / Math.sqrt(Math.PI)) * sum;
  }
  let fraction = 0;
  for (let n = 60; n > 0; n -= 1) fraction = n / 2 / (far + fraction);
  const rest = Math.exp(-far * far) / Math.sqrt(Math.PI) / (far + fraction);
  return Math.sign(x) * (1 - rest);
}

/** What is added at each place: [length, width]. Vaswani et al. 2017, section 3.5. */
export function sinusoids(
  { layout, firstPosition, divisor }: NetworkInfo["positions"],
  length: number,
  width: number,
): Float32Array {
  const result = new Float32Array(length * width);
  const half = Math.floor(width / 2);
  for (let place = 0; place < length; place += 1) {
    for (let i = 0; i < half; i += 1) {
      const angle = (place + firstPosition) * 10000 ** (-i / divisor);
      const [sine, cosine] = layout === "interleaved" ? [2 * i, 2 * i + 1] : [i, half + i];
      result[place * width + sine] = Math.sin(angle);
      result[place * width + cosine] = Math.cos(angle);
    }
  }
  return result;
}

/** ALiBi's slope of each head: a geometric sequence, or two interleaved where the heads are no power of two. */
export function slopes(heads: number): number[] {
  const largest = 2 ** Math.floor(Math.log2(heads));
  const first = Array.from({ length: largest }, (_, at) => 2 ** ((-8 * (at + 1)) / largest));
  const rest = Array.from(
    { length: heads - largest },
    (_, at) => 2 ** ((-8 * (2 * at + 1)) / (2 * largest)),
  );
  return [...first, ...rest];
}

/** Each row of scores as weights that add up to 1: [length, length]. */
export function softmaxRows(
  content: Float32Array,
  relation: Float32Array,
  length: number,
): Float32Array {
  const weights = sumOf(content, relation);
  for (let at = 0; at < weights.length; at += length) {
    const row = weights.subarray(at, at + length);
    const highest = row.reduce((best, value) => Math.max(best, value), Number.NEGATIVE_INFINITY);
    const powers = row.map((value) => Math.exp(value - highest));
    const sum = powers.reduce((all, value) => all + value, 0);
    row.set(powers.map((power) => power / sum));
  }
  return weights;
}
