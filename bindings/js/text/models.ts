// The models of tokenizer.json: a word to its ids.

import { byteToken } from "./bytes.js";
import { byType, type Json } from "./json.js";
import { type Merge, mergeSymbols } from "./merge.js";
import { Trie } from "./trie.js";
import { unitsAt } from "./types.js";
import { Unigram } from "./unigram.js";

export interface WordModel {
  /** Entries of the vocabulary: the id of the first token added to it. */
  readonly size: number;
  /** All ids are below. */
  readonly end: number;
  idOf(piece: string): number | undefined;
  piece(id: number): string | undefined;
  /** Appends the ids of a word. */
  encode(word: string, ids: number[]): void;
}

/** Words whose ids are remembered, and how long they may be. */
const kMemory = 10_000;
const kMaxRemembered = 256;
/** What a character costs that is no piece. */
const kUnkPenalty = 10;
/** Pairs of ids become one number below 2^52. */
const kMaxId = 1 << 26;

/** Error: tokenizer_invalid. */
export function modelOf(json: Json): WordModel {
  // Early files leave the type out.
  if (json.get("type").isNull) return json.get("merges").isNull ? unigramOf(json) : bpeOf(json);
  return byType<WordModel>(json, { Unigram: unigramOf, BPE: bpeOf });
}

/** The ids of a text's bytes as byte tokens, or null where one is missing. */
function byteIds(text: string, idOf: WordModel["idOf"]): number[] | null {
  const result: number[] = [];
  for (const byte of new TextEncoder().encode(text)) {
    const id = idOf(byteToken(byte));
    if (id === undefined) return null;
    result.push(id);
  }
  return result;
}

function unigramOf(json: Json): WordModel {
  const list = json.get("vocab").array();
  const pieces: string[] = [];
  const scores = new Float64Array(list.length);
  // Most pieces add few letters to one that is there.
  const trie = new Trie(3 * list.length);
  let lowest = Number.POSITIVE_INFINITY;
  list.forEach((entry, id) => {
    const [piece, score] = Array.isArray(entry) ? entry : [];
    if (typeof piece !== "string" || typeof score !== "number")
      throw json.get("vocab").invalid(`entry ${id} is no piece with a score`);
    pieces.push(piece);
    scores[id] = score;
    if (piece !== "") trie.set(piece, id);
    lowest = Math.min(lowest, score);
  });
  const unk = json.get("unk_id");
  const unkId = unk.isNull ? -1 : unk.id();
  if (unkId >= list.length) throw unk.invalid(`is ${unkId}, and there are ${list.length} pieces`);
  const byteFallback = json.get("byte_fallback").boolean(false);
  const missing = (piece: string) => unk.invalid(`is missing, and "${piece}" is no piece`);
  const unigram = new Unigram({
    missing,
    trie,
    scores,
    unkId,
    unkScore: lowest - kUnkPenalty,
    single: false,
  });
  const idOf = (piece: string) => trie.get(piece);
  const add = (piece: string, into: number[]) => {
    const id = idOf(piece);
    if (id !== undefined) {
      into.push(id);
      return;
    }
    const bytes = byteFallback ? byteIds(piece, idOf) : null;
    if (bytes !== null) {
      for (const byte of bytes) into.push(byte);
      return;
    }
    if (unkId < 0) throw missing(piece);
    into.push(unkId);
  };
  return {
    size: list.length,
    end: list.length,
    idOf,
    piece: (id) => pieces[id],
    encode(word, into) {
      const { ids: found, ends } = unigram.segment(word);
      // Neighbouring unknown characters are one piece.
      let [start, unknown] = [0, ""];
      for (let i = 0; i < found.length; i++) {
        const end = ends[i] as number;
        if (found[i] === unkId) {
          unknown += word.slice(start, end);
        } else {
          if (unknown !== "") add(unknown, into);
          unknown = "";
          into.push(found[i] as number);
        }
        start = end;
      }
      if (unknown !== "") add(unknown, into);
    },
  };
}

function bpeOf(json: Json): WordModel {
  if (json.get("dropout").value) throw json.get("dropout").unsupported("dropout");
  const ids = new Map<string, number>();
  const pieces = new Map<number, string>();
  let end = 0;
  const vocab = json.get("vocab");
  for (const [piece, id] of vocab.entries()) {
    if (typeof id !== "number" || !Number.isInteger(id) || id < 0 || id >= kMaxId)
      throw vocab.get(piece).invalid("is no id");
    ids.set(piece, id);
    pieces.set(id, piece);
    end = Math.max(end, id + 1);
  }
  const text = (key: string) => (json.get(key).isNull ? "" : json.get(key).string());
  const prefix = text("continuing_subword_prefix");
  const suffix = text("end_of_word_suffix");
  const merges = mergesOf(json.get("merges"), ids, prefix);
  const unk = json.get("unk_token");
  const fuses = json.get("fuse_unk").boolean(false);
  const byteFallback = json.get("byte_fallback").boolean(false);
  const ignoresMerges = json.get("ignore_merges").boolean(false);
  const memory = new Map<string, readonly number[]>();
  const idOf = (piece: string) => ids.get(piece);

  const symbolsOf = (word: string): number[] => {
    const symbols: number[] = [];
    // An unknown character waits for others to be one with.
    let pending = -1;
    for (let at = 0; at < word.length; ) {
      const end = at + unitsAt(word, at);
      let symbol = word.slice(at, end);
      if (at > 0) symbol = prefix + symbol;
      if (end === word.length) symbol += suffix;
      at = end;
      const id = ids.get(symbol);
      if (id !== undefined) {
        if (pending >= 0) symbols.push(pending);
        pending = -1;
        symbols.push(id);
        continue;
      }
      const bytes = byteFallback ? byteIds(symbol, idOf) : null;
      if (bytes !== null) {
        symbols.push(...bytes);
        continue;
      }
      // Without an unknown token the character is passed over, as the library does.
      if (unk.isNull) continue;
      const unkId = ids.get(unk.string());
      if (unkId === undefined) throw unk.invalid("is not in the vocabulary");
      if (pending >= 0 && !fuses) symbols.push(pending);
      pending = unkId;
    }
    if (pending >= 0) symbols.push(pending);
    return symbols;
  };

  return {
    size: ids.size,
    end,
    idOf,
    piece: (id) => pieces.get(id),
    encode(word, into) {
      const whole = ignoresMerges ? ids.get(word) : undefined;
      if (whole !== undefined) {
        into.push(whole);
        return;
      }
      let found = memory.get(word);
      if (found === undefined) {
        found = mergeSymbols(symbolsOf(word), (left, right) => merges.get(left * kMaxId + right));
        if (word.length < kMaxRemembered && memory.size < kMemory) memory.set(word, found);
      }
      for (const id of found) into.push(id);
    },
  };
}

function mergesOf(
  json: Json,
  ids: ReadonlyMap<string, number>,
  prefix: string,
): ReadonlyMap<number, Merge> {
  const merges = new Map<number, Merge>();
  json.array().forEach((entry, rank) => {
    const pair: readonly unknown[] =
      typeof entry === "string" ? entry.split(" ") : Array.isArray(entry) ? entry : [];
    const [left, right] = pair;
    if (pair.length !== 2 || typeof left !== "string" || typeof right !== "string")
      throw json.invalid(`entry ${rank} is no pair of pieces`);
    const [leftId, rightId] = [ids.get(left), ids.get(right)];
    const symbol = ids.get(left + right.slice(prefix.length));
    if (leftId === undefined || rightId === undefined || symbol === undefined)
      throw json.invalid(
        `entry ${rank} merges "${left}" and "${right}", which the vocabulary does not know`,
      );
    merges.set(leftId * kMaxId + rightId, { rank, symbol });
  });
  return merges;
}
