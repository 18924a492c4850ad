// Text to token ids and back, by the model's tokenizer.json. Decoding is the tokenizer's own, special tokens left out;
// no spaces are tidied up afterwards, because streamed text cannot be taken back.

import { Tokenizer } from "@huggingface/tokenizers";
import { RelataError, wordsOf } from "./errors.js";
import type { Token } from "./types.js";

const kReplacement = "\u{FFFD}";

export class TextTokenizer {
  readonly #tokenizer: Tokenizer;
  readonly #place: string;
  readonly #vocabSize: number;

  /** json: the bytes of tokenizer.json. Error: tokenizer_invalid. */
  constructor(json: Uint8Array, place: string, vocabSize: number) {
    this.#place = place;
    this.#vocabSize = vocabSize;
    try {
      const parsed: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(json));
      if (typeof parsed !== "object" || parsed === null)
        throw new TypeError("it is not a JSON object");
      this.#tokenizer = new Tokenizer(parsed, { clean_up_tokenization_spaces: false });
    } catch (error) {
      throw this.#invalid(`cannot be used: ${wordsOf(error)}`, error);
    }
  }

  /** The ids of a text, with the special tokens the tokenizer adds. Error: tokenizer_invalid. */
  encode(text: string): number[] {
    let ids: readonly unknown[];
    try {
      ids = this.#tokenizer.encode(text).ids;
    } catch (error) {
      throw this.#invalid(`fails on the text: ${wordsOf(error)}`, error);
    }
    return ids.map((id) => {
      if (typeof id === "number" && Number.isInteger(id) && id >= 0 && id < this.#vocabSize)
        return id;
      throw this.#invalid(
        `gives ${String(id)} where the model has ids 0 to ${this.#vocabSize - 1}`,
      );
    });
  }

  token(id: number): Token {
    return { id, piece: this.#tokenizer.id_to_token(id) ?? "" };
  }

  decode(ids: readonly number[]): string {
    if (ids.length === 0) return "";
    return this.#tokenizer.decode([...ids], {
      skip_special_tokens: true,
      clean_up_tokenization_spaces: false,
    });
  }

  #invalid(problem: string, cause?: unknown): RelataError {
    return new RelataError("tokenizer_invalid", this.#place, `${this.#place} ${problem}`, cause);
  }
}

/** Decodes token by token. What `push` and `end` returned, joined, is the decoded whole. */
export class TextStream {
  readonly #tokenizer: TextTokenizer;
  readonly #ids: number[] = [];
  #text = "";

  constructor(tokenizer: TextTokenizer) {
    this.#tokenizer = tokenizer;
  }

  /** All text returned so far. */
  get text(): string {
    return this.#text;
  }

  /** The text that became readable with this token: "" while a character is incomplete. */
  push(id: number): string {
    this.#ids.push(id);
    const decoded = this.#tokenizer.decode(this.#ids);
    // Bytes of an unfinished character decode to replacement characters at the end.
    let end = decoded.length;
    while (end > 0 && decoded[end - 1] === kReplacement) end -= 1;
    return this.#emit(decoded.slice(0, end));
  }

  /** What is still held back once no token follows. */
  end(): string {
    return this.#emit(this.#tokenizer.decode(this.#ids));
  }

  #emit(text: string): string {
    if (!text.startsWith(this.#text)) return "";
    const added = text.slice(this.#text.length);
    this.#text = text;
    return added;
  }
}
