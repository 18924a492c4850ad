// A sentencepiece model as plain data, and its reader: sentencepiece_model.proto, the fields that change ids.

import { RelataError } from "../errors.js";
import { MessageWriter, readMessage } from "./protobuf.js";
import { invalid } from "./types.js";

/** The numbers are those of the file. */
export const PieceType = {
  normal: 1,
  unknown: 2,
  control: 3,
  userDefined: 4,
  unused: 5,
  byte: 6,
} as const;

export interface PieceModel {
  /** The file, for messages. */
  readonly place: string;
  readonly algorithm: "unigram" | "bpe";
  readonly pieces: readonly string[];
  /** Natural-log probabilities (unigram) or minus the order of merging (bpe), one per piece. */
  readonly scores: ArrayLike<number>;
  /** Of PieceType, one per piece. */
  readonly types: ArrayLike<number>;
  /** Unknown characters become byte tokens. */
  readonly byteFallback: boolean;
  /** Empty for none. */
  readonly charsMap: Uint8Array;
  readonly addDummyPrefix: boolean;
  readonly removeExtraWhitespaces: boolean;
  readonly escapeWhitespaces: boolean;
  /** The dummy prefix stands at the end. */
  readonly whitespaceAsSuffix: boolean;
  /** What the unknown token is decoded to. */
  readonly unkSurface: string;
}

/** What a file that leaves everything out means. */
export const kPieceModelDefaults = {
  algorithm: "unigram",
  byteFallback: false,
  charsMap: new Uint8Array(0),
  addDummyPrefix: true,
  removeExtraWhitespaces: true,
  escapeWhitespaces: true,
  whitespaceAsSuffix: false,
  unkSurface: " \u{2047} ",
} as const satisfies Partial<PieceModel>;

const kAlgorithms = new Map([
  [1, "unigram"],
  [2, "bpe"],
] as const);

/** Error: tokenizer_invalid, also for the algorithms `word` and `char` and for a denormalizer with a map. */
export function readPieceModel(bytes: Uint8Array, place: string): PieceModel {
  const pieces: string[] = [];
  const scores: number[] = [];
  const types: number[] = [];
  const model: { -readonly [Key in keyof PieceModel]: PieceModel[Key] } = {
    ...kPieceModelDefaults,
    place,
    pieces,
    scores,
    types,
  };
  let part = "";
  const unsupported = (what: string) => invalid(place, part, `${what} is not supported`);
  const trainer = (field: number, value: number | Uint8Array) => {
    if (field === 3) {
      const algorithm = kAlgorithms.get(numberOf(value) as 1 | 2);
      if (algorithm === undefined) throw unsupported(`model type ${value}`);
      model.algorithm = algorithm;
    } else if (field === 24) model.whitespaceAsSuffix = numberOf(value) !== 0;
    else if (field === 35) model.byteFallback = numberOf(value) !== 0;
    else if (field === 44) model.unkSurface = textOf(value);
  };
  const normalizer = (field: number, value: number | Uint8Array) => {
    if (field === 2) model.charsMap = bytesOf(value);
    else if (field === 3) model.addDummyPrefix = numberOf(value) !== 0;
    else if (field === 4) model.removeExtraWhitespaces = numberOf(value) !== 0;
    else if (field === 5) model.escapeWhitespaces = numberOf(value) !== 0;
  };
  const denormalizer = (field: number, value: number | Uint8Array) => {
    if (field === 2 && bytesOf(value).length > 0) throw unsupported("a denormalizer");
  };
  try {
    readMessage(bytes, (field, value) => {
      if (field === 1) {
        part = `pieces[${pieces.length}]`;
        let [piece, score, type] = ["", 0, PieceType.normal as number];
        readMessage(bytesOf(value), (key, content) => {
          if (key === 1) piece = textOf(content);
          else if (key === 2) score = numberOf(content);
          else if (key === 3) type = numberOf(content);
        });
        pieces.push(piece);
        scores.push(score);
        types.push(type);
      } else if (field === 2) {
        part = "trainer_spec";
        readMessage(bytesOf(value), trainer);
      } else if (field === 3) {
        part = "normalizer_spec";
        readMessage(bytesOf(value), normalizer);
      } else if (field === 5) {
        part = "denormalizer_spec";
        readMessage(bytesOf(value), denormalizer);
      }
      part = "";
    });
  } catch (error) {
    if (error instanceof RelataError) throw error;
    throw invalid(place, part, error instanceof Error ? error.message : String(error), error);
  }
  return model;
}

/** The file that `readPieceModel` reads as this model. */
export function writePieceModel(model: PieceModel): Uint8Array<ArrayBuffer> {
  const text = (value: string) => new TextEncoder().encode(value);
  const file = new MessageWriter();
  model.pieces.forEach((piece, id) => {
    const entry = new MessageWriter()
      .bytes(1, text(piece))
      .float(2, model.scores[id] as number)
      .number(3, model.types[id] as number);
    file.bytes(1, entry.finish());
  });
  const algorithm = [...kAlgorithms].find(([, name]) => name === model.algorithm);
  const trainer = new MessageWriter()
    .number(3, algorithm?.[0] ?? 1)
    .number(24, Number(model.whitespaceAsSuffix))
    .number(35, Number(model.byteFallback))
    .bytes(44, text(model.unkSurface));
  const normalizer = new MessageWriter()
    .bytes(2, model.charsMap)
    .number(3, Number(model.addDummyPrefix))
    .number(4, Number(model.removeExtraWhitespaces))
    .number(5, Number(model.escapeWhitespaces));
  return file.bytes(2, trainer.finish()).bytes(3, normalizer.finish()).finish();
}

function numberOf(value: number | Uint8Array): number {
  if (typeof value === "number") return value;
  throw new RangeError("bytes stand where a number is expected");
}

function bytesOf(value: number | Uint8Array): Uint8Array {
  if (typeof value !== "number") return value;
  throw new RangeError("a number stands where bytes are expected");
}

function textOf(value: number | Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytesOf(value));
}
