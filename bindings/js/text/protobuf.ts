// As much of protocol buffers as a sentencepiece model needs: the fields of a message, one after another, read and written.

/** A field's number and value: a number for varints (its low 32 bits, signed) and floats, bytes for everything longer. */
export type UseField = (field: number, value: number | Uint8Array) => void;

/** Error: a RangeError that says at which byte the message is broken. */
export function readMessage(bytes: Uint8Array, use: UseField): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const broken = (what: string) => new RangeError(`${what} at byte ${at}`);
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = bytes[at];
      if (byte === undefined) throw broken("the message ends inside a number");
      at++;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw broken("a number does not end");
  };
  const take = (length: number): number => {
    const start = at;
    if (length < 0 || length > bytes.length - at) throw broken(`${length} bytes are not there`);
    at += length;
    return start;
  };
  while (at < bytes.length) {
    const key = varint();
    const field = key >>> 3;
    switch (key & 7) {
      case 0:
        use(field, varint());
        break;
      case 1:
        take(8);
        break;
      case 2: {
        const length = varint();
        const start = take(length);
        use(field, bytes.subarray(start, at));
        break;
      }
      case 5:
        use(field, view.getFloat32(take(4), true));
        break;
      default:
        throw broken(`a field of kind ${key & 7}`);
    }
  }
}

export class MessageWriter {
  #bytes = new Uint8Array(64);
  #length = 0;

  /** A whole number from 0 to 2^31. */
  number(field: number, value: number): this {
    return this.#varint(field * 8).#varint(value);
  }

  float(field: number, value: number): this {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setFloat32(0, value, true);
    return this.#varint(field * 8 + 5).#append(bytes);
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#varint(field * 8 + 2)
      .#varint(value.length)
      .#append(value);
  }

  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }

  #varint(value: number): this {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#append([(rest & 0x7f) | 0x80]);
    return this.#append([rest]);
  }

  #append(bytes: ArrayLike<number>): this {
    const length = this.#length + bytes.length;
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(2 * length);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#length);
    this.#length = length;
    return this;
  }
}
