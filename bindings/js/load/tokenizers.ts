// Which tokenizer a model comes with, from the files beside its weights.

import type { RawVocabulary } from "../raw-readers.js";
import { ByteTokenizer } from "../text/byte-tokenizer.js";
import { Json } from "../text/json.js";
import {
  kPieceModelDefaults,
  type PieceModel,
  PieceType,
  readPieceModel,
  writePieceModel,
} from "../text/piece-model.js";
import {
  ListTokenizer,
  marianConventions,
  PieceTokenizer,
  t5Conventions,
} from "../text/piece-tokenizers.js";
import { JsonTokenizer } from "../text/tokenizer-json.js";
import type { AddedToken } from "../text/types.js";
import type { ModelFiles, SmallFile } from "./files.js";
import { kListClass, listTokenizer, piecesIn, tokensOf, vocabulariesIn } from "./list-tokenizer.js";
import { jsonFile, kOptionsFile, type NamedTokenizer } from "./named-tokenizer.js";

const kPieceFiles = [
  ...["spiece.model", "sentencepiece.bpe.model", "sentencepiece.model", "tokenizer.model"],
];

function filesOf(...files: readonly (SmallFile | null)[]) {
  return () => new Map(files.flatMap((file) => (file === null ? [] : [[file.name, file.bytes]])));
}

/** For a folder as Hugging Face writes it. Errors: file_missing, tokenizer_invalid. */
export async function folderTokenizer(files: ModelFiles, config: Json): Promise<NamedTokenizer> {
  const json = await files.small("tokenizer.json");
  const optionsFile = json === null ? await files.small(kOptionsFile) : null;
  const options =
    optionsFile === null ? null : Json.parse(optionsFile.bytes, files.folder.place(kOptionsFile));
  if (json !== null) {
    const tokenizer = new JsonTokenizer(json.bytes, json.place);
    return { tokenizer, place: json.place, kind: json.name, files: filesOf(json) };
  }
  const named = [options, config].map((from) => from?.get("tokenizer_class").value);
  const className = String(named.find((name) => typeof name === "string") ?? "");
  if (/^ByT5Tokenizer/.test(className)) {
    const extraIds = idOr(options?.get("extra_ids"), 125);
    const { place } = options ?? config;
    const tokenizer = new ByteTokenizer({ extraIds });
    return { tokenizer, place, kind: "bytes of UTF-8 (ByT5)", files: filesOf(optionsFile) };
  }
  if (className === kListClass && options !== null) {
    const vocabularies = await vocabulariesIn(files, "");
    return listTokenizer(await piecesIn(files, ""), vocabularies, tokensOf(options));
  }

  const spm = await files.small("source.spm");
  if (spm !== null) return marianTokenizer(files, spm, optionsFile);
  const pieces = await files.first(kPieceFiles);
  if (pieces === null) {
    const looked = [...kPieceFiles, "source.spm"].join(", ");
    throw files.missing(
      "tokenizer.json",
      `, and so are ${looked}, and a ${kOptionsFile} that names ByT5Tokenizer`,
    );
  }
  const model = readPieceModel(pieces.bytes, pieces.place);
  return {
    tokenizer: new PieceTokenizer(model, conventionsOf(model, options)),
    place: pieces.place,
    kind: kindOf(pieces.name, model),
    files: filesOf(pieces, optionsFile),
  };
}

function kindOf(name: string, { algorithm, pieces }: PieceModel): string {
  return `${name} (sentencepiece, ${algorithm}, ${pieces.length} pieces)`;
}

function idOr(json: Json | undefined, fallback: number): number {
  return json === undefined || json.isNull ? fallback : json.id();
}

/** A token by its text, or by an object that has it. */
function nameIn(json: Json | undefined, fallback: string): string {
  if (json === undefined || json.isNull) return fallback;
  return typeof json.value === "string" ? json.value : json.get("content").string();
}

/** T5's, as tokenizer_config.json changes them. */
function conventionsOf(model: PieceModel, options: Json | null) {
  const conventions = t5Conventions(model, {
    extraIds: idOr(options?.get("extra_ids"), 100),
    legacy: options?.get("legacy").boolean(true) ?? true,
    eos: nameIn(options?.get("eos_token"), "</s>"),
  });
  const list = options?.get("added_tokens_decoder");
  const added =
    list === undefined || list.isNull
      ? conventions.added
      : list.entries().map(([id]) => addedToken(Number(id), list.get(id)));
  const ends = options?.get("add_eos_token").boolean(true) ?? true;
  return { ...conventions, ...(added && { added }), ...(ends ? {} : { after: [] }) };
}

function addedToken(id: number, json: Json): AddedToken {
  if (!Number.isInteger(id) || id < 0) throw json.invalid("is no id");
  const flag = (key: string) => json.get(key).boolean(false);
  return {
    id,
    content: json.get("content").string(),
    special: flag("special"),
    normalized: flag("normalized"),
    singleWord: flag("single_word"),
    lstrip: flag("lstrip"),
    rstrip: flag("rstrip"),
  };
}

async function marianTokenizer(
  files: ModelFiles,
  source: SmallFile,
  options: SmallFile | null,
): Promise<NamedTokenizer> {
  const [target, vocab] = [await files.small("target.spm"), await files.small("vocab.json")];
  const other = await files.small("target_vocab.json");
  if (target === null) throw files.missing("target.spm");
  if (vocab === null) throw files.missing("vocab.json");
  const conventions = marianConventions(vocab.bytes, vocab.place, other ?? undefined);
  const [from, to] = [source, target].map(({ bytes, place }) => readPieceModel(bytes, place));
  return {
    tokenizer: new ListTokenizer(from as PieceModel, to as PieceModel, conventions),
    place: vocab.place,
    kind: `source.spm and target.spm numbered by vocab.json (Marian)`,
    files: filesOf(source, target, vocab, other, options),
  };
}

/**
 * The vocabulary of a GGUF file as llama.cpp's converter takes it from T5's sentencepiece model: its pieces, the sentinels, and
 * padding. Error: tokenizer_invalid.
 */
export function ggufTokenizer(
  vocabulary: RawVocabulary,
  eosId: number,
  place: string,
): NamedTokenizer {
  const { pieces, scores, types, addEos } = vocabulary;
  const model: PieceModel = {
    ...kPieceModelDefaults,
    ...{ place, pieces, scores, types },
    byteFallback: types.includes(PieceType.byte),
    charsMap: vocabulary.charsmap,
    addDummyPrefix: vocabulary.addSpacePrefix,
    removeExtraWhitespaces: vocabulary.removeExtraWhitespaces,
  };
  const eos = pieces[eosId] ?? "</s>";
  const conventions = t5Conventions(model, { extraIds: 0, eos });
  return {
    tokenizer: new PieceTokenizer(model, addEos ? conventions : { ...conventions, after: [] }),
    place,
    kind: kindOf("its own", model),
    files: () =>
      new Map([
        ["spiece.model", writePieceModel(model)],
        [
          kOptionsFile,
          jsonFile({
            ...{ tokenizer_class: "T5Tokenizer", eos_token: eos },
            ...{ extra_ids: 0, add_eos_token: addEos },
          }),
        ],
      ]),
  };
}
