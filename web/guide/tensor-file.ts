// Reads single tensors out of a model.safetensors: the guide wants a few of them, as numbers.

export interface Tensor {
  readonly shape: readonly number[];
  /** Row-major. */
  readonly values: Float32Array;
}

interface Entry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [from: number, to: number];
}

export interface TensorFile {
  has(name: string): boolean;
  /** The tensor; of a matrix, only the rows named where some are. */
  read(name: string, rows?: readonly number[]): Promise<Tensor>;
}

export async function openTensorFile(file: Blob): Promise<TensorFile> {
  const prefix = new DataView(await file.slice(0, 8).arrayBuffer());
  const length = Number(prefix.getBigUint64(0, true));
  const start = 8 + length;
  const header = JSON.parse(await file.slice(8, start).text()) as Record<string, Entry>;

  async function read(name: string, rows?: readonly number[]): Promise<Tensor> {
    const entry = header[name];
    if (!entry) throw new RangeError(`the file has no ${name}`);
    const { dtype, shape, data_offsets: offsets } = entry;
    const [from, to] = [start + offsets[0], start + offsets[1]];
    if (!rows) {
      return { shape, values: decode(dtype, await file.slice(from, to).arrayBuffer()) };
    }
    const [count, width] = shape as [number, number];
    const bytes = (to - from) / count;
    const parts = await Promise.all(
      rows.map((row) => file.slice(from + row * bytes, from + (row + 1) * bytes).arrayBuffer()),
    );
    const values = new Float32Array(rows.length * width);
    parts.forEach((part, at) => {
      values.set(decode(dtype, part), at * width);
    });
    return { shape: [rows.length, width], values };
  }

  return { has: (name) => Object.hasOwn(header, name), read };
}

function decode(dtype: string, bytes: ArrayBuffer): Float32Array {
  if (dtype === "F32") return new Float32Array(bytes);
  const halves = new Uint16Array(bytes);
  if (dtype === "BF16") {
    const words = Uint32Array.from(halves, (half) => half << 16);
    return new Float32Array(words.buffer);
  }
  if (dtype === "F16") return Float32Array.from(halves, fromHalf);
  throw new RangeError(`numbers of type ${dtype} are not read here`);
}

/** IEEE 754 binary16: one sign bit, five of exponent, ten of fraction. */
function fromHalf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
