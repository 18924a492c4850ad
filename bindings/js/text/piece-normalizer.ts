// sentencepiece's normalizer: the character map by longest match, spaces trimmed, joined and written as U+2581.

import { CharsMap } from "./charsmap.js";
import type { PieceModel } from "./piece-model.js";
import type { Trie } from "./trie.js";
import { unitsAt } from "./types.js";

export const kSpaceMark = "\u{2581}";

export class PieceNormalizer {
  readonly #model: PieceModel;
  readonly #map: CharsMap | null;
  /** User-defined symbols, which the map leaves alone. */
  readonly #symbols: Trie;
  readonly #space: string;
  /** Where the part read by #next ends. */
  #end = 0;

  constructor(model: PieceModel, symbols: Trie) {
    this.#model = model;
    this.#map = model.charsMap.length === 0 ? null : new CharsMap(model.charsMap, model.place);
    this.#symbols = symbols;
    this.#space = model.escapeWhitespaces ? kSpaceMark : " ";
  }

  /** addDummyPrefix: in place of the model's. */
  normalize(text: string, addDummyPrefix = this.#model.addDummyPrefix): string {
    const { removeExtraWhitespaces: trims, whitespaceAsSuffix } = this.#model;
    let at = 0;
    if (trims) {
      while (at < text.length && this.#next(text, at) === " ") at = this.#end;
    }
    if (at >= text.length) return "";
    let result = addDummyPrefix && !whitespaceAsSuffix ? this.#space : "";
    let afterSpace = trims;
    while (at < text.length) {
      let part = this.#next(text, at);
      at = this.#end;
      if (afterSpace) {
        let spaces = 0;
        while (part[spaces] === " ") spaces++;
        part = part.slice(spaces);
      }
      if (part !== "") {
        result += part.includes(" ") ? part.replaceAll(" ", this.#space) : part;
        afterSpace = trims && part.endsWith(" ");
      }
    }
    if (trims) {
      let end = result.length;
      while (end > 0 && result[end - 1] === this.#space) end--;
      result = result.slice(0, end);
    }
    return addDummyPrefix && whitespaceAsSuffix ? result + this.#space : result;
  }

  /** What the text becomes from `at` on, a symbol, a replacement or a character; sets #end. */
  #next(text: string, at: number): string {
    if (this.#symbols.longest(text, at) >= 0) {
      this.#end = this.#symbols.matchEnd;
      return text.slice(at, this.#end);
    }
    const replacement = this.#map?.find(text, at, text.length, true) ?? null;
    if (replacement !== null && this.#map !== null) {
      this.#end = this.#map.matchEnd;
      return replacement;
    }
    this.#end = at + unitsAt(text, at);
    return text.slice(at, this.#end);
  }
}
