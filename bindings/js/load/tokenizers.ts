// Which tokenizer a model comes with, from the files beside its weights.

import type { RawTokens, RawVocabulary } from "../core.js";
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
  listConventions,
  marianConventions,
  PieceTokenizer,
  t5Conventions,
} from "../text/piece-tokenizers.js";
import { JsonTokenizer } from "../text/tokenizer-json.js";
import type { AddedToken, Tokenizer } from "../text/types.js";
import type { ModelFiles, SmallFile } from "./files.js";

export interface NamedTokenizer {
  readonly tokenizer: Tokenizer;
  /** The file its errors name. */
  readonly place: string;
  /** What it is, in words. */
  readonly kind: string;
  /** What a copy of the model needs of it, by name. */
  files(): ReadonlyMap<string, Uint8Array>;
}

const kOptionsFile = "tokenizer_config.json";
/** The class we write for a vocabulary of OpenNMT or CTranslate2. */
const kListClass = "VocabularyTokenizer";
const kPieceFiles = [
  ...["spiece.model", "sentencepiece.bpe.model", "sentencepiece.model", "tokenizer.model"],
];
/** For source and target, or one for both. */
const kPairs = [
  ["source.spm", "target.spm"],
  ["source.model", "target.model"],
  ...["sentencepiece.model", "spiece.model", "spm.model", "sentencepiece.bpe.model"].map((name) => [
    name,
  ]),
];

const textOf = (value: unknown) =>
  new TextEncoder().encode(`${JSON.stringify(value, null, 2)}\n`) as Uint8Array;

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

export interface Vocabularies {
  readonly source: SmallFile;
  readonly target: SmallFile;
}

/** The vocabularies of a CTranslate2 folder. Error: file_missing. */
export async function vocabulariesIn(files: ModelFiles, folder: string): Promise<Vocabularies> {
  const find = (name: string) =>
    files.first(["json", "txt"].map((ending) => `${folder}${name}_vocabulary.${ending}`));
  const shared = await find("shared");
  if (shared !== null) return { source: shared, target: shared };
  const [source, target] = [await find("source"), await find("target")];
  if (source !== null && target !== null) return { source, target };
  throw files.missing(
    `${folder}shared_vocabulary.json`,
    ", and so are shared_vocabulary.txt, and source_vocabulary and target_vocabulary of either kind",
  );
}

function tokensIn({ bytes, name, place }: SmallFile): string[] {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  if (name.endsWith(".json")) {
    const wrap = new TextEncoder().encode(`{"tokens":${text}}`);
    const list = Json.parse(wrap, place).get("tokens");
    return list.items().map((item) => item.string());
  }
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const returns = lines.every((line) => line.endsWith("\r"));
  return returns ? lines.map((line) => line.slice(0, -1)) : lines;
}

/** sentencepiece numbered by the vocabularies of OpenNMT and CTranslate2. Error: tokenizer_invalid. */
export function listTokenizer(
  { models, names }: { models: readonly SmallFile[]; names: readonly string[] },
  vocabularies: Vocabularies,
  tokens: RawTokens,
): NamedTokenizer {
  const [source, target = source] = models;
  const { place } = vocabularies.source;
  const special = [tokens.unk, tokens.bos, tokens.eos, tokens.decoderStart];
  const from = tokensIn(vocabularies.source);
  const conventions = listConventions(
    place,
    from,
    vocabularies.target === vocabularies.source ? from : tokensIn(vocabularies.target),
    {
      unk: tokens.unk,
      before: tokens.addSourceBos ? [tokens.bos] : [],
      after: tokens.addSourceEos ? [tokens.eos] : [],
      special,
    },
  );
  const read = (file: SmallFile) => readPieceModel(file.bytes, file.place);
  const first = read(source as SmallFile);
  const second = target === source ? first : read(target as SmallFile);
  const written = (file: SmallFile) => [file.name.split("/").at(-1) as string, file.bytes] as const;
  return {
    tokenizer: new ListTokenizer(first, second, conventions),
    place,
    kind: `${names.join(" and ")} (sentencepiece) numbered by ${vocabularies.source.name}`,
    files: () =>
      new Map([
        ...[...models, vocabularies.source, vocabularies.target].map(written),
        [
          kOptionsFile,
          textOf({
            tokenizer_class: kListClass,
            unk_token: tokens.unk,
            bos_token: tokens.bos,
            eos_token: tokens.eos,
            decoder_start_token: tokens.decoderStart,
            add_source_bos: tokens.addSourceBos,
            add_source_eos: tokens.addSourceEos,
          }),
        ],
      ]),
  };
}

function tokensOf(options: Json): RawTokens {
  const [unk, bos, eos, decoderStart] = ["unk", "bos", "eos", "decoder_start"].map((name) =>
    options.get(`${name}_token`).string(),
  ) as [string, string, string, string];
  const flag = (name: string) => options.get(name).boolean(false);
  const around = { addSourceBos: flag("add_source_bos"), addSourceEos: flag("add_source_eos") };
  return { unk, bos, eos, decoderStart, ...around };
}

/**
 * The sentencepiece models, one or two. folder: where the weights are; they may lie above it, as in Argos packages.
 * Error: file_missing.
 */
export async function piecesIn(files: ModelFiles, folder: string) {
  const above = folder === "" ? [""] : [folder, folder.replace(/[^/]*\/$/, "")];
  for (const names of kPairs) {
    for (const where of above) {
      const models: SmallFile[] = [];
      for (const name of names) {
        const file = await files.small(where + name);
        if (file === null) break;
        models.push(file);
      }
      if (models.length === names.length) return { models, names };
    }
  }
  const looked = kPairs.map((names) => names.join(" with ")).join(", ");
  throw files.missing(`${above.at(-1)}sentencepiece.model`, `; looked for ${looked}`);
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
          textOf({
            ...{ tokenizer_class: "T5Tokenizer", eos_token: eos },
            ...{ extra_ids: 0, add_eos_token: addEos },
          }),
        ],
      ]),
  };
}
