// The tokenizer of OpenNMT and CTranslate2: sentencepiece models whose pieces the vocabularies beside them number.

import type { RawTokens } from "../raw-readers.js";
import { Json } from "../text/json.js";
import { readPieceModel } from "../text/piece-model.js";
import { ListTokenizer, listConventions } from "../text/piece-tokenizers.js";
import type { ModelFiles, SmallFile } from "./files.js";
import { jsonFile, kOptionsFile, type NamedTokenizer } from "./named-tokenizer.js";

/** The class we write for a vocabulary of OpenNMT or CTranslate2. */
export const kListClass = "VocabularyTokenizer";
/** For source and target, or one for both. */
const kPairs = [
  ["source.spm", "target.spm"],
  ["source.model", "target.model"],
  ...["sentencepiece.model", "spiece.model", "spm.model", "sentencepiece.bpe.model"].map((name) => [
    name,
  ]),
];

export interface Vocabularies {
  readonly source: SmallFile;
  readonly target: SmallFile;
}

const findVocabulary = (files: ModelFiles, folder: string, ...whose: readonly string[]) =>
  files.first(
    whose.flatMap((one) => ["json", "txt"].map((ending) => `${folder}${one}_vocabulary.${ending}`)),
  );

/** Some vocabulary of a CTranslate2 folder; null where there is none. */
export const vocabularyIn = (files: ModelFiles, folder: string) =>
  findVocabulary(files, folder, "shared", "source", "target");

/** The vocabularies of a CTranslate2 folder. Error: file_missing. */
export async function vocabulariesIn(files: ModelFiles, folder: string): Promise<Vocabularies> {
  const find = (whose: string) => findVocabulary(files, folder, whose);
  const shared = await find("shared");
  if (shared !== null) return { source: shared, target: shared };
  const [source, target] = [await find("source"), await find("target")];
  if (source !== null && target !== null) return { source, target };
  const half = source ?? target;
  if (half !== null) {
    const [own, other] = source === half ? ["source", "target"] : ["target", "source"];
    const name = half.name.slice(folder.length).replace(own, other);
    throw files.missing(folder + name, `, which goes with ${half.name}`);
  }
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
          jsonFile({
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

/** What a folder of ours says of them. */
export function tokensOf(options: Json): RawTokens {
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
  for (const [source, target] of kPairs) {
    for (const where of target === undefined ? [] : above) {
      const half = await files.first([`${where}${source}`, `${where}${target}`]);
      if (half === null) continue;
      const other = half.name.endsWith(source as string) ? target : source;
      throw files.missing(`${where}${other}`, `, which goes with ${half.name}`);
    }
  }
  const looked = kPairs.map((names) => names.join(" with ")).join(", ");
  throw files.missing(`${above.at(-1)}sentencepiece.model`, `; looked for ${looked}`);
}
