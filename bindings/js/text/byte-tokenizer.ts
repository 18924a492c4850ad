// ByT5: a token per byte of UTF-8, behind <pad>, </s> and <unk>; sentinels <extra_id_N> follow the bytes.

import { AddedTokens } from "./added-tokens.js";
import { byteToken, Utf8Stream } from "./bytes.js";
import {
  type AddedToken,
  type DecodeOptions,
  decodeAll,
  type EncodeOptions,
  type StreamDecoder,
  specialToken,
  type Tokenizer,
  wellFormed,
} from "./types.js";

const kSpecial = ["<pad>", "</s>", "<unk>"] as const;
const kEos = 1;
const kFirstByte = kSpecial.length;
const kFirstSentinel = kFirstByte + 256;

export class ByteTokenizer implements Tokenizer {
  readonly size: number;
  readonly #added: ReadonlyMap<number, AddedToken>;
  readonly #search: AddedTokens;

  constructor({ extraIds = 125 }: { extraIds?: number } = {}) {
    const added: AddedToken[] = kSpecial.map((content, id) => specialToken(content, id, true));
    for (let i = 0; i < extraIds; i++)
      added.push(specialToken(`<extra_id_${i}>`, kFirstSentinel + i, false));
    this.#added = new Map(added.map((one) => [one.id, one]));
    this.#search = new AddedTokens(
      added,
      added.map(({ content }) => content),
    );
    this.size = kFirstSentinel + extraIds;
  }

  encode(text: string, { addSpecialTokens = true }: EncodeOptions = {}): number[] {
    const ids: number[] = [];
    for (const part of this.#search.split({ text: wellFormed(text), first: true })) {
      if (typeof part === "number") ids.push(part);
      else for (const byte of new TextEncoder().encode(part.text)) ids.push(byte + kFirstByte);
    }
    // An end that the text brings along is not put twice.
    if (addSpecialTokens && ids.at(-1) !== kEos) ids.push(kEos);
    return ids;
  }

  /** A byte that is a printable character stands for itself, others are written like <0x0A>. */
  piece(id: number): string {
    const added = this.#added.get(id);
    if (added !== undefined) return added.content;
    const byte = id - kFirstByte;
    if (byte < 0 || byte > 255) return "";
    return byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : byteToken(byte);
  }

  decode(ids: readonly number[], options?: DecodeOptions): string {
    return decodeAll(this.streamDecoder(options), ids);
  }

  /** Bytes that are part of no character are left out. */
  streamDecoder({ skipSpecialTokens = true }: DecodeOptions = {}): StreamDecoder {
    const bytes = new Utf8Stream("");
    return {
      push: (id) => {
        const added = this.#added.get(id);
        if (added === undefined) {
          const byte = id - kFirstByte;
          return byte >= 0 && byte < 256 ? bytes.push(byte) : "";
        }
        return skipSpecialTokens ? "" : bytes.end() + added.content;
      },
      end: () => bytes.end(),
    };
  }
}
