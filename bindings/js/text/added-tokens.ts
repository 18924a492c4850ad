// Added tokens in a text: found before normalization or after it, as their flags say, by the tokenizers library's rules.

import { Trie } from "./trie.js";
import type { AddedToken } from "./types.js";

/** A part of a text that is still to be tokenized. */
export interface Section {
  readonly text: string;
  /** Whether it starts where the whole text starts. */
  readonly first: boolean;
}

const kSpace = /\p{White_Space}/u;
const kWord = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;
const kStartsWithWord = new RegExp(`^${kWord.source}`, "u");
const kEndsWithWord = new RegExp(`${kWord.source}$`, "u");

export class AddedTokens {
  readonly #tokens = new Map<number, AddedToken>();
  readonly #trie = new Trie();

  /** contents: what to look for, one per token. */
  constructor(tokens: readonly AddedToken[], contents: readonly string[]) {
    tokens.forEach((token, i) => {
      const content = contents[i] ?? "";
      if (content === "") return;
      this.#trie.set(content, token.id);
      this.#tokens.set(token.id, token);
    });
  }

  /** The section as its parts: ids of tokens found in it, and what lies between. */
  split(section: Section): (Section | number)[] {
    if (this.#tokens.size === 0) return [section];
    const { text } = section;
    const parts: (Section | number)[] = [];
    let taken = 0;
    const takeUntil = (end: number) => {
      if (taken < end)
        parts.push({ text: text.slice(taken, end), first: section.first && taken === 0 });
    };
    // The leftmost token, and of those the longest; the next is searched from its end on.
    for (let at = 0; at < text.length; ) {
      const id = this.#trie.longest(text, at);
      const token = this.#tokens.get(id);
      if (token === undefined) {
        at++;
        continue;
      }
      let [start, end] = [at, this.#trie.matchEnd];
      at = end;
      if (token.singleWord && insideWord(text, start, end)) continue;
      if (token.lstrip) while (start > taken && kSpace.test(text[start - 1] as string)) start--;
      if (token.rstrip) while (end < text.length && kSpace.test(text[end] as string)) end++;
      takeUntil(start);
      parts.push(id);
      taken = end;
    }
    takeUntil(text.length);
    return parts;
  }
}

function insideWord(text: string, start: number, end: number): boolean {
  return (
    kEndsWithWord.test(text.slice(Math.max(0, start - 2), start)) ||
    kStartsWithWord.test(text.slice(end, end + 2))
  );
}
