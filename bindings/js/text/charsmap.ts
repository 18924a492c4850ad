// The character map of sentencepiece, as its normalizer_spec and tokenizer.json ("Precompiled") carry it: a 32-bit length,
// a double-array trie over UTF-8 bytes of that length, and replacements, each ended by a zero byte.

import { clustersOf } from "./clusters.js";
import { invalid, unitsAt } from "./types.js";

/** Replaced clusters of a text that are remembered. */
const kMemory = 1 << 15;

export class CharsMap {
  readonly #place: string;
  readonly #units: Uint32Array;
  readonly #strings: Uint8Array;
  readonly #replacements = new Map<number, string>();
  readonly #clusters = new Map<string, string>();
  /** Where the key found by `find` ends. */
  matchEnd = 0;

  /** Error: tokenizer_invalid. */
  constructor(bytes: Uint8Array, place: string) {
    this.#place = place;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const size = bytes.length < 4 ? 0 : view.getUint32(0, true);
    if (size === 0 || size % 4 !== 0 || size + 4 > bytes.length)
      throw this.#damaged(`a trie of ${size} bytes does not fit into ${bytes.length} bytes`);
    this.#units = new Uint32Array(size / 4);
    for (let i = 0; i < this.#units.length; i++) this.#units[i] = view.getUint32(4 + 4 * i, true);
    this.#strings = bytes.subarray(4 + size);
  }

  /** The replacement of the longest or shortest key that text[at, end) starts with, or null; sets matchEnd. */
  find(text: string, at: number, end: number, longest: boolean): string | null {
    let position = this.#next(0);
    let value = -1;
    for (let i = at; i < end; ) {
      const code = text.codePointAt(i) as number;
      i += code > 0xffff ? 2 : 1;
      // The character's bytes in UTF-8, from the first on.
      const tail = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
      const lead = tail === 0 ? code : ((0xff00 >> (tail + 1)) & 0xff) | (code >> (6 * tail));
      let unit = 0;
      for (let left = tail; left >= 0; left--) {
        const byte = left === tail ? lead : 0x80 | ((code >> (6 * left)) & 0x3f);
        position ^= byte;
        unit = this.#unit(position);
        // A leaf has its highest bit set, and so is no match for any byte.
        if ((unit & 0x800000ff) >>> 0 !== byte || byte === 0) return this.#replacement(value);
        position ^= offsetOf(unit);
      }
      if ((unit >>> 8) & 1) {
        value = this.#unit(position) & 0x7fffffff;
        this.matchEnd = i;
        if (!longest) break;
      }
    }
    return this.#replacement(value);
  }

  /**
   * The text with its grapheme clusters replaced, as the crate spm_precompiled does: a cluster of fewer than six bytes that
   * starts with a key becomes the replacement of the shortest such key, whatever follows in the cluster; in others each
   * character that is a key is replaced.
   */
  replaceClusters(text: string): string {
    let result = "";
    for (const cluster of clustersOf(text)) result += this.#cluster(cluster);
    return result;
  }

  #cluster(cluster: string): string {
    let result = this.#clusters.get(cluster);
    if (result !== undefined) return result;
    const short = new TextEncoder().encode(cluster).length < 6;
    const whole = short ? this.find(cluster, 0, cluster.length, false) : null;
    if (whole !== null) {
      result = whole;
    } else {
      result = "";
      for (let i = 0; i < cluster.length; ) {
        const end = i + unitsAt(cluster, i);
        result += this.find(cluster, i, end, false) ?? cluster.slice(i, end);
        i = end;
      }
    }
    if (this.#clusters.size >= kMemory) this.#clusters.clear();
    this.#clusters.set(cluster, result);
    return result;
  }

  #unit(position: number): number {
    const unit = this.#units[position];
    if (unit === undefined)
      throw this.#damaged(`the trie points to unit ${position}, outside of it`);
    return unit;
  }

  #next(position: number): number {
    return position ^ offsetOf(this.#unit(position));
  }

  #replacement(start: number): string | null {
    if (start < 0) return null;
    let text = this.#replacements.get(start);
    if (text === undefined) {
      const end = this.#strings.indexOf(0, start);
      if (start >= this.#strings.length)
        throw this.#damaged(`the trie points to replacement ${start}, outside of them`);
      const bytes = this.#strings.subarray(start, end < 0 ? this.#strings.length : end);
      try {
        text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
      } catch (error) {
        throw this.#damaged(`the replacement at ${start} is not UTF-8`, error);
      }
      this.#replacements.set(start, text);
    }
    return text;
  }

  #damaged(problem: string, cause?: unknown): Error {
    return invalid(this.#place, "precompiled_charsmap", problem, cause);
  }
}

/** How far a unit's children lie, to be combined by exclusive or. */
function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}
