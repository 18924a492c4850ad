// What every tokenizer of this folder can do, and how a broken one is reported.

import { RelataError } from "../errors.js";

export interface EncodeOptions {
  /** Add what the tokenizer's file adds around a text, such as an end token. Default: true. */
  addSpecialTokens?: boolean;
}

export interface DecodeOptions {
  /** Leave out tokens such as padding, end and sentinels. Default: true. */
  skipSpecialTokens?: boolean;
}

/** Text from ids one by one: what `push` and `end` return, joined, is what `decode` gives. Never half a character. */
export interface StreamDecoder {
  /** The text that became readable with this id; an id the tokenizer does not have adds nothing. */
  push(id: number): string;
  /** What was held back. */
  end(): string;
}

export interface Tokenizer {
  /** Ids below this may occur. */
  readonly size: number;
  /** Error: tokenizer_invalid where the file has no id for a part of the text and no unknown token. */
  encode(text: string, options?: EncodeOptions): number[];
  /** Where targets have ids of their own: those of a text, without anything around it. */
  encodeTarget?(text: string): number[];
  /** Where sources have ids of their own: the piece of one of them. */
  sourcePiece?(id: number): string;
  /** The piece as the file writes it; "" for an id that has none. */
  piece(id: number): string;
  decode(ids: readonly number[], options?: DecodeOptions): string;
  streamDecoder(options?: DecodeOptions): StreamDecoder;
}

/** A token that is found in the text before anything else is done with it. */
export interface AddedToken {
  readonly content: string;
  readonly id: number;
  /** Not inside a word. */
  readonly singleWord: boolean;
  /** Takes the white space before it along. */
  readonly lstrip: boolean;
  readonly rstrip: boolean;
  /** Searched, normalized, in the normalized text. */
  readonly normalized: boolean;
  /** Left out of decoded text on request. */
  readonly special: boolean;
}

/** A token found in the text as it is, wherever it stands. strips: takes the white space around it along. */
export function specialToken(content: string, id: number, strips: boolean): AddedToken {
  const search = { singleWord: false, normalized: false, lstrip: strips, rstrip: strips };
  return { content, id, special: true, ...search };
}

/** place: the file; at: where in it, for the message. */
export function invalid(place: string, at: string, problem: string, cause?: unknown): RelataError {
  const where = at === "" ? place : `${place}: ${at}`;
  return new RelataError("tokenizer_invalid", place, `${where}: ${problem}`, cause);
}

export function decodeAll(stream: StreamDecoder, ids: readonly number[]): string {
  let text = "";
  for (const id of ids) text += stream.push(id);
  return text + stream.end();
}

/** Text that UTF-8 can hold: half surrogate pairs become U+FFFD, as TextEncoder makes them. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\u{FFFD}");
}

/** 2 where a surrogate pair starts at the unit, else 1. */
export function unitsAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit < 0xdc00 && at + 1 < text.length ? 2 : 1;
}
