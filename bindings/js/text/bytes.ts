// Bytes and text: byte tokens such as <0x0A>, the printable alphabet of byte-level BPE, and UTF-8 as it comes in.

const kByteToken = /^<0x([0-9A-Fa-f]{2})>$/;

/** The byte a token such as <0x0A> stands for, or -1. */
export function byteOfToken(token: string): number {
  const digits = token.length === 6 ? kByteToken.exec(token)?.[1] : undefined;
  return digits === undefined ? -1 : Number.parseInt(digits, 16);
}

export function byteToken(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
}

/** GPT-2's alphabet: printable bytes stand for themselves, the others for the characters from U+0100 on. */
export const kByteCharacters: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  String.fromCharCode(characterOf(byte)),
);

function characterOf(byte: number): number {
  if (byte <= 0x20) return 0x100 + byte;
  if (byte <= 0x7e) return byte;
  if (byte <= 0xa0) return 0x100 + 0x21 + (byte - 0x7f);
  return byte === 0xad ? 0x143 : byte;
}

const kBytes = new Map(kByteCharacters.map((character, byte) => [character, byte]));

/** The bytes behind characters of GPT-2's alphabet; a token with others stands for itself. */
export function bytesOfCharacters(token: string): Uint8Array {
  const bytes = new Uint8Array(token.length);
  for (let i = 0; i < token.length; i++) {
    const byte = kBytes.get(token[i] as string);
    if (byte === undefined) return new TextEncoder().encode(token);
    bytes[i] = byte;
  }
  return bytes;
}

/** A text in GPT-2's alphabet. */
export function charactersOfBytes(text: string): string {
  let result = "";
  for (const byte of new TextEncoder().encode(text)) result += kByteCharacters[byte];
  return result;
}

/** UTF-8 as it comes, byte by byte. A byte that is part of no character gives `stray`. */
export class Utf8Stream {
  readonly #stray: string;
  #held: number[] = [];

  constructor(stray: string) {
    this.#stray = stray;
  }

  /** The text that became readable with this byte. */
  push(byte: number): string {
    this.#held.push(byte);
    let text = "";
    for (;;) {
      const [lead] = this.#held;
      if (lead === undefined) return text;
      const length = lengthOf(lead);
      const broken = this.#held.findIndex((tail, i) => i > 0 && !follows(lead, tail, i));
      if (length === 0 || broken > 0) {
        this.#held.shift();
        text += this.#stray;
      } else if (this.#held.length === length) {
        text += new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(this.#held));
        this.#held = [];
      } else {
        return text;
      }
    }
  }

  end(): string {
    const text = this.#stray.repeat(this.#held.length);
    this.#held = [];
    return text;
  }
}

/** Of a character that starts with this byte; 0 where none does. */
function lengthOf(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/** Whether the byte may stand at place i of a character: neither overlong, nor a surrogate, nor above U+10FFFF. */
function follows(lead: number, byte: number, i: number): boolean {
  if (i > 1) return byte >= 0x80 && byte < 0xc0;
  const lowest = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const highest = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  return byte >= lowest && byte <= highest;
}
