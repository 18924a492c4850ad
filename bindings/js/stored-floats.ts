// 32-bit floats as files store them.

/** Bytes of one value. */
export function widthOf(dtype: string): number {
  return dtype === "F32" ? 4 : dtype === "F16" ? 2 : 1;
}

/** Writes values as F32 or F16. Returns the first one that is not finite or does not fit, or -1. */
export function writeFloats(values: Float32Array, dtype: string, into: Uint8Array): number {
  const view = new DataView(into.buffer, into.byteOffset, into.byteLength);
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (!Number.isFinite(value)) return i;
    if (dtype === "F32") {
      view.setFloat32(4 * i, value, true);
    } else {
      const half = halfOf(value);
      if ((half & 0x7fff) === 0x7c00) return i;
      view.setUint16(2 * i, half, true);
    }
  }
  return -1;
}

const kFloat = new Float32Array(1);
const kBits = new Uint32Array(kFloat.buffer);

/** The nearest binary16, ties to even; infinity beyond 65,504. */
function halfOf(value: number): number {
  kFloat[0] = value;
  const bits = kBits[0] as number;
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 112;
  const fraction = bits & 0x7fffff;
  if (exponent >= 31) return sign | 0x7c00;
  // Below the normal numbers the hidden bit moves into the fraction.
  const shift = exponent > 0 ? 13 : 14 - exponent;
  if (shift > 24) return sign;
  const whole = exponent > 0 ? (exponent << 23) | fraction : 0x800000 | fraction;
  const rest = whole & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  const kept = whole >>> shift;
  const up = rest > half || (rest === half && (kept & 1) === 1) ? 1 : 0;
  // A carry goes into the exponent, as it should.
  return sign | (kept + up);
}
