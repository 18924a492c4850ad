// The most probable segmentation of a text into pieces (Kudo 2018): one pass over the positions, keeping for each the best
// way to get there, as sentencepiece's EncodeOptimized and the tokenizers library's Unigram do.

import type { Trie } from "./trie.js";
import { unitsAt } from "./types.js";

/** Two lists of the same length: the pieces' ids, and where they end in the text (in UTF-16 units). */
export interface Segmentation {
  readonly ids: Int32Array;
  readonly ends: Int32Array;
}

export interface UnigramPieces {
  /** From pieces to ids; what is not in it is never matched. */
  readonly trie: Trie;
  /** Natural-log probability per id. */
  readonly scores: Float64Array;
  /** -1 for none: then a character that is no piece is an error, as in the tokenizers library. */
  readonly unkId: number;
  readonly missing?: (character: string) => Error;
  /** The score of a character that is no piece. */
  readonly unkScore: number;
  /** Sums in single precision, as sentencepiece; else in double precision, as the tokenizers library. */
  readonly single: boolean;
}

export class Unigram {
  readonly #pieces: UnigramPieces;
  #best = new Float64Array(64);
  #starts = new Int32Array(64);
  #ids = new Int32Array(64);

  constructor(pieces: UnigramPieces) {
    this.#pieces = pieces;
  }

  segment(text: string): Segmentation {
    const { trie, scores, unkId, missing, unkScore, single } = this.#pieces;
    const size = text.length;
    if (size >= this.#best.length) {
      this.#best = new Float64Array(2 * size);
      this.#starts = new Int32Array(2 * size);
      this.#ids = new Int32Array(2 * size);
    }
    const [best, starts, ids] = [this.#best, this.#starts, this.#ids];
    starts.fill(-1, 0, size + 1);
    best[0] = 0;
    const reach = (end: number, start: number, score: number, id: number) => {
      // Of equal paths the first one found stays. sentencepiece compares before it rounds.
      if (starts[end] !== -1 && !(score > (best[end] as number))) return;
      best[end] = single ? Math.fround(score) : score;
      starts[end] = start;
      ids[end] = id;
    };
    for (let start = 0; start < size; ) {
      const here = best[start] as number;
      const step = unitsAt(text, start);
      let isPiece = false;
      let node = 0;
      for (let end = start; end < size; ) {
        node = trie.child(node, text.charCodeAt(end++));
        if (node < 0) break;
        const id = trie.value(node);
        if (id < 0) continue;
        reach(end, start, (scores[id] as number) + here, id);
        if (end - start === step) isPiece = true;
      }
      if (!isPiece) {
        const score = unkScore + here;
        if (unkId < 0 && starts[start + step] === -1 && missing !== undefined)
          throw missing(text.slice(start, start + step));
        reach(start + step, start, single ? Math.fround(score) : score, unkId);
      }
      start += step;
    }
    let count = 0;
    for (let end = size; end > 0; end = starts[end] as number) count++;
    const result = { ids: new Int32Array(count), ends: new Int32Array(count) };
    for (let end = size; end > 0; end = starts[end] as number) {
      count--;
      result.ids[count] = ids[end] as number;
      result.ends[count] = end;
    }
    return result;
  }
}
