// The model's tokenizer, its ids held against the model's vocabulary, and the text of a generation. Special tokens are left
// out of texts; no spaces are tidied up afterwards, because streamed text cannot be taken back.

import { RelataError } from "./errors.js";
import { JsonTokenizer } from "./text/tokenizer-json.js";
import type { StreamDecoder, Tokenizer } from "./text/types.js";
import type { Token } from "./types.js";

export class TextTokenizer {
  readonly #tokenizer: Tokenizer;
  readonly #place: string;
  /** Ids of sources and of targets are below these. */
  readonly #sourceSize: number;
  readonly #targetSize: number;

  /**
   * tokenizer: one of the folder text, or the bytes of tokenizer.json. vocabSize: one for both sides, or as the core describes them.
   * Error: tokenizer_invalid.
   */
  constructor(
    tokenizer: Tokenizer | Uint8Array,
    place: string,
    vocabSize: number | { readonly vocabSize: number; readonly sourceVocabSize: number },
  ) {
    this.#place = place;
    const sizes =
      typeof vocabSize === "number" ? { vocabSize, sourceVocabSize: vocabSize } : vocabSize;
    this.#sourceSize = sizes.sourceVocabSize;
    this.#targetSize = sizes.vocabSize;
    this.#tokenizer =
      tokenizer instanceof Uint8Array ? new JsonTokenizer(tokenizer, place) : tokenizer;
    if (this.#tokenizer.size === 0)
      throw new RelataError("tokenizer_invalid", place, `${place} has an empty vocabulary`);
  }

  /** The ids of a source text, by default with the special tokens the tokenizer adds. Error: tokenizer_invalid. */
  encode(text: string, addSpecialTokens = true): number[] {
    return this.#checked(this.#tokenizer.encode(text, { addSpecialTokens }), this.#sourceSize);
  }

  /** The same of a text that is to be generated. */
  encodeTarget(text: string, addSpecialTokens = true): number[] {
    const ids =
      this.#tokenizer.encodeTarget?.(text) ?? this.#tokenizer.encode(text, { addSpecialTokens });
    return this.#checked(ids, this.#targetSize);
  }

  #checked(ids: number[], size: number): number[] {
    for (const id of ids) {
      if (id >= 0 && id < size) continue;
      const problem = `gives ${id} where the model has ids 0 to ${size - 1}`;
      throw new RelataError("tokenizer_invalid", this.#place, `${this.#place} ${problem}`);
    }
    return ids;
  }

  /**
   * At most `most` ids of a source text (0: all), and how many of its own were cut off: the special tokens around it stay. White
   * space alone gives none. Errors: tokenizer_invalid, option_invalid where there is no room for a token of the text.
   */
  encodeSource(text: string, most: number): { ids: number[]; cut: number } {
    if (text.trim() === "") return { ids: [], cut: 0 };
    const ids = this.encode(text);
    const cut = most === 0 ? 0 : Math.max(0, ids.length - most);
    if (cut === 0) return { ids, cut };
    const bare = this.encode(text, false);
    const added = ids.length - bare.length;
    if (most <= added) {
      const problem = `leaves no room beside ${added} special tokens`;
      throw new RelataError("option_invalid", "maxSourceTokens", `maxSourceTokens: ${problem}`);
    }
    let first = 0;
    while (first < added && !bare.every((id, i) => id === ids[first + i])) first++;
    ids.splice(first + bare.length - cut, cut);
    return { ids, cut };
  }

  token(id: number): Token {
    return { id, piece: this.#tokenizer.piece(id) };
  }

  /** The same of a source's token, where the sides number theirs differently. */
  sourceToken(id: number): Token {
    return { id, piece: this.#tokenizer.sourcePiece?.(id) ?? this.#tokenizer.piece(id) };
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
