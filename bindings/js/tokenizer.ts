// The model's tokenizer, its ids held against the model's vocabulary, and the text of a generation. Special tokens are left
// out of texts; no spaces are tidied up afterwards, because streamed text cannot be taken back.

import { RelataError } from "./errors.js";
import { JsonTokenizer } from "./text/tokenizer-json.js";
import type { StreamDecoder, Tokenizer } from "./text/types.js";
import type { Token } from "./types.js";

export class TextTokenizer {
  readonly #tokenizer: Tokenizer;
  readonly #place: string;
  readonly #vocabSize: number;

  /** tokenizer: one of the folder text, or the bytes of tokenizer.json. Error: tokenizer_invalid. */
  constructor(tokenizer: Tokenizer | Uint8Array, place: string, vocabSize: number) {
    this.#place = place;
    this.#vocabSize = vocabSize;
    this.#tokenizer =
      tokenizer instanceof Uint8Array ? new JsonTokenizer(tokenizer, place) : tokenizer;
    if (this.#tokenizer.size === 0)
      throw new RelataError("tokenizer_invalid", place, `${place} has an empty vocabulary`);
  }

  /** The ids of a text, with the special tokens the tokenizer adds. Error: tokenizer_invalid. */
  encode(text: string): number[] {
    const ids = this.#tokenizer.encode(text);
    for (const id of ids) {
      if (id >= 0 && id < this.#vocabSize) continue;
      const problem = `gives ${id} where the model has ids 0 to ${this.#vocabSize - 1}`;
      throw new RelataError("tokenizer_invalid", this.#place, `${this.#place} ${problem}`);
    }
    return ids;
  }

  token(id: number): Token {
    return { id, piece: this.#tokenizer.piece(id) };
  }

  decode(ids: readonly number[]): string {
    return this.#tokenizer.decode(ids);
  }

  streamDecoder(): StreamDecoder {
    return this.#tokenizer.streamDecoder();
  }
}

/** Decodes token by token. What `push` and `end` returned, joined, is the decoded whole. */
export class TextStream {
  readonly #decoder: StreamDecoder;
  #text = "";

  constructor(tokenizer: TextTokenizer) {
    this.#decoder = tokenizer.streamDecoder();
  }

  /** All text returned so far. */
  get text(): string {
    return this.#text;
  }

  /** The text that became readable with this token: "" while a character is incomplete. */
  push(id: number): string {
    const added = this.#decoder.push(id);
    this.#text += added;
    return added;
  }

  /** What is still held back once no token follows. */
  end(): string {
    const added = this.#decoder.end();
    this.#text += added;
    return added;
  }
}
