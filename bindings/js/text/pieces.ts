// Text to sentencepiece's pieces and back: the ids google's library gives, for models of both algorithms.

import { byteOfToken, byteToken, Utf8Stream } from "./bytes.js";
import { type Merge, mergeSymbols } from "./merge.js";
import { type PieceModel, PieceType } from "./piece-model.js";
import { kSpaceMark, PieceNormalizer } from "./piece-normalizer.js";
import { Trie } from "./trie.js";
import { invalid, type StreamDecoder, unitsAt } from "./types.js";
import { type Segmentation, Unigram } from "./unigram.js";

/** What a character costs that is no piece. */
const kUnkPenalty = 10;
/** The smallest positive normal float: where sentencepiece starts to look for the highest score. */
const kSmallestFloat = 2 ** -126;
/** Pairs of symbols whose merge is remembered; two symbols become one number below 2^52. */
const kMemory = 1 << 17;
const kMaxSymbol = 1 << 26;

/** Pieces of a text in order, with their ids; an unknown piece is its text. */
export interface TextPieces {
  readonly pieces: string[];
  readonly ids: number[];
}

export class Pieces {
  readonly model: PieceModel;
  readonly unkId: number;
  /** Ids of the pieces that occur in texts, and of the others. */
  readonly #ids = new Map<string, number>();
  readonly #reserved = new Map<string, number>();
  readonly #symbols = new Trie();
  readonly #byteIds: Int32Array;
  readonly #normalizer: PieceNormalizer;
  readonly #segment: (text: string) => Segmentation;

  /** Error: tokenizer_invalid. */
  constructor(model: PieceModel) {
    this.model = model;
    const { pieces, types } = model;
    const fail = (at: string, problem: string) => invalid(model.place, at, problem);
    let unkId = -1;
    if (pieces.length !== types.length || pieces.length !== model.scores.length)
      throw fail(
        "pieces",
        `${pieces.length} pieces, ${model.scores.length} scores, ${types.length} types`,
      );
    pieces.forEach((piece, id) => {
      const type = types[id] as number;
      const at = `pieces[${id}]`;
      if (piece === "") throw fail(at, "is empty");
      if (!Number.isFinite(model.scores[id])) throw fail(at, `has the score ${model.scores[id]}`);
      const occurs =
        type === PieceType.normal || type === PieceType.userDefined || type === PieceType.unused;
      const ids = occurs ? this.#ids : this.#reserved;
      if (ids.has(piece)) throw fail(at, `"${piece}" is there already`);
      ids.set(piece, id);
      if (type === PieceType.userDefined) this.#symbols.set(piece, id);
      if (type === PieceType.unknown && unkId >= 0) throw fail(at, "is a second unknown token");
      if (type === PieceType.unknown) unkId = id;
      if (type === PieceType.byte && !model.byteFallback)
        throw fail(at, "is a byte, and bytes are off");
      if (type === PieceType.byte && byteOfToken(piece) < 0)
        throw fail(at, `"${piece}" is no byte`);
    });
    if (unkId < 0) throw fail("pieces", "there is no unknown token");
    this.unkId = unkId;
    this.#byteIds = Int32Array.from({ length: model.byteFallback ? 256 : 0 }, (_, byte) => {
      const id = this.#reserved.get(byteToken(byte));
      if (id === undefined) throw fail("pieces", `there is no ${byteToken(byte)}`);
      return id;
    });
    this.#normalizer = new PieceNormalizer(model, this.#symbols);
    this.#segment = model.algorithm === "unigram" ? this.#unigram() : this.#bpe();
  }

  /** addDummyPrefix: in place of the model's. */
  split(text: string, addDummyPrefix?: boolean): TextPieces {
    const normalized = this.#normalizer.normalize(text, addDummyPrefix);
    const result: TextPieces = { pieces: [], ids: [] };
    if (normalized === "") return result;
    const { ids, ends } = this.#segment(normalized);
    let [start, afterUnknown] = [0, false];
    for (let i = 0; i < ids.length; i++) {
      const [id, end] = [ids[i] as number, ends[i] as number];
      const piece = normalized.slice(start, end);
      start = end;
      const unknown = id === this.unkId;
      if (unknown && this.model.byteFallback) {
        for (const byte of new TextEncoder().encode(piece)) {
          result.pieces.push(byteToken(byte));
          result.ids.push(this.#byteIds[byte] as number);
        }
      } else if (unknown && afterUnknown) {
        // Neighbouring unknown pieces are one.
        result.pieces.push(`${result.pieces.pop()}${piece}`);
      } else {
        result.pieces.push(piece);
        result.ids.push(id);
      }
      afterUnknown = unknown;
    }
    return result;
  }

  /** The id of a piece, the unknown token's where it is none. */
  idOf(piece: string): number {
    return this.#reserved.get(piece) ?? this.#ids.get(piece) ?? this.unkId;
  }

  /** Of pieces, given as sentencepiece writes them, one by one. */
  decoder(): { push(piece: string): string; end(): string } {
    const { model } = this;
    const strips = model.addDummyPrefix || model.removeExtraWhitespaces;
    const bytes = new Utf8Stream("\u{FFFD}");
    let [atStart, stripped, empty] = [true, false, true];
    const emit = (text: string) => {
      if (text !== "") empty = false;
      return text;
    };
    return {
      push: (piece) => {
        const id = this.idOf(piece);
        const type = model.types[id];
        if (type === PieceType.byte) return emit(bytes.push(byteOfToken(piece)));
        const before = emit(bytes.end());
        if (stripped || !empty) atStart = false;
        stripped = false;
        if (type === PieceType.control) return before;
        if (type === PieceType.unknown) {
          const surface = model.pieces[id] === piece ? model.unkSurface : piece;
          return before + emit(surface);
        }
        let text = piece;
        if (atStart && strips && text.startsWith(kSpaceMark)) {
          text = text.slice(kSpaceMark.length);
          // Where extra spaces go, all at the start do.
          stripped = !model.removeExtraWhitespaces;
        }
        return before + emit(text.replaceAll(kSpaceMark, " "));
      },
      end: () => bytes.end(),
    };
  }

  #unigram(): (text: string) => Segmentation {
    const { types, pieces } = this.model;
    const trie = new Trie(3 * pieces.length);
    const scores = Float64Array.from(this.model.scores, Math.fround);
    let lowest = Number.POSITIVE_INFINITY;
    let highest = kSmallestFloat;
    scores.forEach((score, id) => {
      if (types[id] !== PieceType.normal) return;
      lowest = Math.min(lowest, score);
      highest = Math.max(highest, score);
    });
    pieces.forEach((piece, id) => {
      const type = types[id];
      if (type === PieceType.normal) trie.set(piece, id);
      if (type !== PieceType.userDefined) return;
      trie.set(piece, id);
      // A user's symbol is to win, always.
      const { length } = new TextEncoder().encode(piece);
      scores[id] = Math.fround(length * highest) - 0.1;
    });
    const unkScore = Math.fround(lowest - kUnkPenalty);
    const unigram = new Unigram({ trie, scores, unkId: this.unkId, unkScore, single: true });
    return (text) => unigram.segment(text);
  }

  #bpe(): (text: string) => Segmentation {
    const { pieces, types } = this.model;
    const memory = new Map<number, Merge | null>();
    return (text) => {
      // Characters that are no piece get numbers behind the pieces', user's symbols negative ones, which never merge.
      const names: string[] = [];
      const numbers = new Map<string, number>();
      const nameOf = (symbol: number) =>
        (symbol < 0
          ? pieces[-1 - symbol]
          : (pieces[symbol] ?? names[symbol - pieces.length])) as string;
      const symbols: number[] = [];
      for (let at = 0; at < text.length; ) {
        const frozen = this.#symbols.longest(text, at);
        if (frozen >= 0) {
          symbols.push(-1 - frozen);
          at = this.#symbols.matchEnd;
          continue;
        }
        const character = text.slice(at, at + unitsAt(text, at));
        at += character.length;
        let symbol = this.#ids.get(character) ?? numbers.get(character);
        if (symbol === undefined) {
          symbol = pieces.length + names.length;
          names.push(character);
          numbers.set(character, symbol);
        }
        symbols.push(symbol);
      }
      /** Unused pieces merge, and are taken apart again in the end. */
      const parts = new Map<number, readonly [number, number]>();
      const look = (left: number, right: number): Merge | null => {
        const symbol = this.#ids.get(nameOf(left) + nameOf(right));
        return symbol === undefined
          ? null
          : { symbol, rank: -(this.model.scores[symbol] as number) };
      };
      const find = (left: number, right: number): Merge | undefined => {
        if (left < 0 || right < 0) return undefined;
        let merge: Merge | null | undefined;
        if (left < pieces.length && right < pieces.length) {
          const key = left * kMaxSymbol + right;
          merge = memory.get(key);
          if (merge === undefined) {
            merge = look(left, right);
            if (memory.size >= kMemory) memory.clear();
            memory.set(key, merge);
          }
        } else {
          merge = look(left, right);
        }
        if (merge === null) return undefined;
        if (types[merge.symbol] === PieceType.unused) parts.set(merge.symbol, [left, right]);
        return merge;
      };
      const ids: number[] = [];
      const ends: number[] = [];
      let end = 0;
      const add = (symbol: number) => {
        const pair = symbol < 0 ? undefined : parts.get(symbol);
        if (pair !== undefined) {
          add(pair[0]);
          add(pair[1]);
          return;
        }
        end += nameOf(symbol).length;
        ids.push(symbol < 0 ? -1 - symbol : symbol < pieces.length ? symbol : this.unkId);
        ends.push(end);
      };
      for (const symbol of mergeSymbols(symbols, find)) add(symbol);
      return { ids: Int32Array.from(ids), ends: Int32Array.from(ends) };
    };
  }
}

/** A stream of ids over a decoder of pieces. pieceOf: null leaves the id out. */
export function streamOfPieces(
  decoder: { push(piece: string): string; end(): string },
  pieceOf: (id: number) => string | null,
): StreamDecoder {
  return {
    push(id) {
      const piece = pieceOf(id);
      return piece === null || piece === "" ? "" : decoder.push(piece);
    },
    end: () => decoder.end(),
  };
}
