// Tokenizers over sentencepiece models: the model's own ids, T5's with sentinels above them, and ids of another list
// (OpenNMT, CTranslate2, Marian).

import { AddedTokens } from "./added-tokens.js";
import { Json } from "./json.js";
import { type PieceModel, PieceType } from "./piece-model.js";
import { kSpaceMark } from "./piece-normalizer.js";
import { Pieces, streamOfPieces } from "./pieces.js";
import {
  type AddedToken,
  type DecodeOptions,
  decodeAll,
  type EncodeOptions,
  invalid,
  type StreamDecoder,
  specialToken,
  type Tokenizer,
  wellFormed,
} from "./types.js";

export interface PieceConventions {
  /** Found in the text before it is normalized; their ids may lie above the model's. */
  readonly added?: readonly AddedToken[];
  /** Ids around a text, when special tokens are asked for. */
  readonly before?: readonly number[];
  /** An end that is there already is not put twice. */
  readonly after?: readonly number[];
  /**
   * True: each stretch between added tokens is a text of its own, with a space put before it. False: the space stands before
   * the whole text only. Default: true.
   */
  readonly legacy?: boolean;
}

export class PieceTokenizer implements Tokenizer {
  readonly size: number;
  readonly #pieces: Pieces;
  readonly #conventions: PieceConventions;
  readonly #added: ReadonlyMap<number, AddedToken>;
  readonly #search: AddedTokens;
  readonly #legacy: boolean;

  /** Error: tokenizer_invalid. */
  constructor(model: PieceModel, conventions: PieceConventions = {}) {
    const { added = [], legacy = true } = conventions;
    this.#pieces = new Pieces(model);
    this.#conventions = conventions;
    this.#legacy = legacy;
    this.#added = new Map(added.map((token) => [token.id, token]));
    this.#search = new AddedTokens(
      added,
      added.map(({ content }) => content),
    );
    this.size = Math.max(model.pieces.length, ...added.map(({ id }) => id + 1));
  }

  encode(text: string, { addSpecialTokens = true }: EncodeOptions = {}): number[] {
    const { before = [], after = [] } = this.#conventions;
    const ids: number[] = [];
    const parts = this.#search.split({ text: this.#prepare(wellFormed(text)), first: true });
    for (const part of parts) {
      if (typeof part === "number") {
        // The space put before a text that starts with an added token is none of it.
        if (!this.#legacy && ids.length === 1 && this.piece(ids[0] as number) === kSpaceMark)
          ids.pop();
        ids.push(part);
      } else {
        for (const id of this.#encodePart(part.text)) ids.push(id);
      }
    }
    if (!addSpecialTokens) return ids;
    const ends = after.length === 1 && ids.at(-1) === after[0];
    return [...before, ...ids, ...(ends ? [] : after)];
  }

  piece(id: number): string {
    return this.#added.get(id)?.content ?? this.#pieces.model.pieces[id] ?? "";
  }

  decode(ids: readonly number[], options?: DecodeOptions): string {
    return decodeAll(this.streamDecoder(options), ids);
  }

  streamDecoder({ skipSpecialTokens = true }: DecodeOptions = {}): StreamDecoder {
    return streamOfPieces(this.#pieces.decoder(), (id) => {
      const added = this.#added.get(id);
      return added?.special === true && skipSpecialTokens ? null : this.piece(id);
    });
  }

  /** Not legacy: the space before the text is put here, and no further one by the model. */
  #prepare(text: string): string {
    return this.#legacy || text === "" ? text : `${kSpaceMark}${text.replaceAll(kSpaceMark, " ")}`;
  }

  #encodePart(text: string): readonly number[] {
    if (this.#legacy) return this.#pieces.split(text).ids;
    if (!text.startsWith(kSpaceMark) && !text.startsWith(" "))
      return this.#pieces.split(text, false).ids;
    // The model would trim a space at the start, so something stands before it and is taken off again.
    const unk = this.#pieces.model.pieces[this.#pieces.unkId] as string;
    const { ids } = this.#pieces.split(unk + text, false);
    const { length } = this.#pieces.split(unk, false).ids;
    return ids.length >= length ? ids.slice(length) : ids;
  }
}

/**
 * T5's conventions on a sentencepiece model: the end token after each text, and sentinels <extra_id_N> above its pieces, the first
 * one highest. Error: tokenizer_invalid where the model has no end token.
 */
export function t5Conventions(
  model: PieceModel,
  {
    extraIds = 100,
    legacy = true,
    eos: end = "</s>",
  }: { extraIds?: number; legacy?: boolean; eos?: string } = {},
): PieceConventions {
  const eos = model.pieces.indexOf(end);
  if (eos < 0) throw invalid(model.place, "pieces", `there is no ${end}`);
  const added = ["<pad>", end, "<unk>"]
    .map((content) => specialToken(content, model.pieces.indexOf(content), false))
    .filter(({ id }) => id >= 0);
  // GGUF files have them among the pieces.
  model.pieces.forEach((piece, id) => {
    if (model.types[id] === PieceType.userDefined && /^<extra_id_\d+>$/.test(piece))
      added.push(specialToken(piece, id, true));
  });
  for (let i = 0; i < extraIds; i++)
    added.push(specialToken(`<extra_id_${i}>`, model.pieces.length + extraIds - 1 - i, true));
  return { added, after: [eos], legacy };
}

/** Pieces numbered by a list of their own, not by the sentencepiece model that makes them. */
export interface ListConventions {
  /** The list's name in messages. */
  readonly place: string;
  /** Piece to id, for texts that are read. */
  readonly source: ReadonlyMap<string, number>;
  /** Id to piece, for texts that are written. */
  readonly target: ReadonlyMap<number, string>;
  readonly unk: string;
  /** Around a text, when special tokens are asked for; each is in `source`. */
  readonly before?: readonly string[];
  readonly after?: readonly string[];
  /** Left out of decoded text. */
  readonly special: ReadonlySet<string>;
  /** A token such as >>fr<< may stand at the start of a text. */
  readonly languageCodes?: boolean;
}

export class ListTokenizer implements Tokenizer {
  readonly size: number;
  readonly #source: Pieces;
  readonly #target: Pieces;
  readonly #conventions: ListConventions;
  readonly #unkId: number;
  #targetIds: ReadonlyMap<string, number> | undefined;
  #sourcePieces: ReadonlyMap<number, string> | undefined;

  /** Error: tokenizer_invalid. */
  constructor(source: PieceModel, target: PieceModel, conventions: ListConventions) {
    this.#source = new Pieces(source);
    this.#target = target === source ? this.#source : new Pieces(target);
    this.#conventions = conventions;
    this.#unkId = this.#idOf(conventions.unk);
    let size = 0;
    for (const id of conventions.source.values()) size = Math.max(size, id + 1);
    for (const id of conventions.target.keys()) size = Math.max(size, id + 1);
    this.size = size;
  }

  encode(text: string, { addSpecialTokens = true }: EncodeOptions = {}): number[] {
    const { before = [], after = [], source, languageCodes } = this.#conventions;
    const whole = wellFormed(text);
    const code = languageCodes === true ? (/^>>.*?<</s.exec(whole)?.[0] ?? "") : "";
    const pieces = this.#source.split(whole.slice(code.length)).pieces;
    if (code !== "") pieces.unshift(code);
    const ids = pieces.map((piece) => source.get(piece) ?? this.#unkId);
    if (!addSpecialTokens) return ids;
    const idsOf = (tokens: readonly string[]) => tokens.map((token) => this.#idOf(token));
    return [...idsOf(before), ...ids, ...idsOf(after)];
  }

  encodeTarget(text: string): number[] {
    const { target, unk } = this.#conventions;
    this.#targetIds ??= inverse(target);
    const ids = this.#targetIds;
    const { pieces } = this.#target.split(wellFormed(text));
    return pieces.map((piece) => ids.get(piece) ?? ids.get(unk) ?? this.#unkId);
  }

  piece(id: number): string {
    return this.#conventions.target.get(id) ?? "";
  }

  sourcePiece(id: number): string {
    this.#sourcePieces ??= inverse(this.#conventions.source);
    return this.#sourcePieces.get(id) ?? "";
  }

  decode(ids: readonly number[], options?: DecodeOptions): string {
    return decodeAll(this.streamDecoder(options), ids);
  }

  streamDecoder({ skipSpecialTokens = true }: DecodeOptions = {}): StreamDecoder {
    const { special } = this.#conventions;
    return streamOfPieces(this.#target.decoder(), (id) => {
      const piece = this.piece(id);
      return skipSpecialTokens && special.has(piece) ? null : piece;
    });
  }

  #idOf(token: string): number {
    const id = this.#conventions.source.get(token);
    if (id === undefined) throw invalid(this.#conventions.place, "", `there is no ${token}`);
    return id;
  }
}

/** Of equal values the first one counts. */
function inverse<Key, Value>(map: ReadonlyMap<Key, Value>): ReadonlyMap<Value, Key> {
  return new Map([...map].map(([key, value]): [Value, Key] => [value, key]).reverse());
}

/** A vocabulary as lists of tokens (OpenNMT, CTranslate2): one for both sides, or two. */
export function listConventions(
  place: string,
  source: readonly string[],
  target: readonly string[] = source,
  {
    special = [],
    unk = "<unk>",
    ...around
  }: Pick<ListConventions, "before" | "after"> & {
    readonly unk?: string;
    /** Besides the usual names. */
    readonly special?: readonly string[];
  } = {},
): ListConventions {
  return {
    place,
    // Of equal tokens the first one counts.
    source: new Map(source.map((token, id): [string, number] => [token, id]).reverse()),
    target: new Map(target.map((token, id) => [id, token])),
    unk,
    special: new Set(["<unk>", "<s>", "</s>", "<blank>", "<pad>", ...special]),
    ...around,
  };
}

/**
 * Marian's vocab.json, as Hugging Face writes it: piece to id for both sides, or for the source where there is a target_vocab.json.
 * Error: tokenizer_invalid.
 */
export function marianConventions(
  vocab: Uint8Array,
  place: string,
  target: { readonly bytes: Uint8Array; readonly place: string } = { bytes: vocab, place },
): ListConventions {
  const read = (bytes: Uint8Array, from: string) => {
    const file = Json.parse(bytes, from);
    return file.entries().map(([piece]): [string, number] => [piece, file.get(piece).id()]);
  };
  return {
    place,
    source: new Map(read(vocab, place)),
    target: new Map(read(target.bytes, target.place).map(([piece, id]) => [id, piece])),
    unk: "<unk>",
    after: ["</s>"],
    special: new Set(["<unk>", "</s>", "<pad>"]),
    languageCodes: true,
  };
}

/** Types for a vocabulary that gives pieces and scores alone: all normal, save the unknown token and those in <>. */
export function typesOf(pieces: readonly string[], unkId: number): Uint8Array {
  return Uint8Array.from(pieces, (piece, id) => {
    if (id === unkId) return PieceType.unknown;
    if (/^<0x[0-9A-F]{2}>$/.test(piece)) return PieceType.byte;
    return /^<[^<>]+>$/.test(piece) ? PieceType.control : PieceType.normal;
  });
}
