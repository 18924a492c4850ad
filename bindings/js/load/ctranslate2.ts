// A CTranslate2 folder: model.bin, whose index lies between its tensors, config.json, vocabularies, and sentencepiece models.

import type { Core } from "../core.js";
import type { RawIndex, RawReaders } from "../raw-readers.js";
import { checkSignal, turn } from "../turn.js";
import type { ModelFiles, WeightsFile } from "./files.js";
import { kConfig } from "./hugging-face.js";
import { listTokenizer, piecesIn, vocabulariesIn } from "./list-tokenizer.js";
import type { OpenedModel } from "./opened.js";

/** What the core calls the weights. */
const kName = "model.bin";
/** Older files hold their special tokens themselves. */
const kFirstWithConfig = 6;

/**
 * folder: "" or the subfolder with the weights, ending in "/". onScan: how far in the file, where all of it has to be gone
 * through. Errors: of the files.
 */
export async function openCtranslate2(
  core: Core,
  files: ModelFiles,
  folder: string,
  weights: WeightsFile,
  onScan: (position: number, file: WeightsFile) => void,
): Promise<OpenedModel> {
  const { file } = weights;
  const configFile = await files.small(`${folder}${kConfig}`);
  const config = configFile?.bytes ?? new Uint8Array(0);
  const vocabularies = await vocabulariesIn(files, folder);
  // All small files before the large one, so that the progress knows its end.
  const pieces = await piecesIn(files, folder);
  const version = new DataView((await file.peek(0, 4)).buffer).getUint32(0, true);
  if (configFile === null && version >= kFirstWithConfig)
    throw files.missing(`${folder}${kConfig}`, ", which a model.bin of this version needs");
  const readers = await core.readers();
  const index = await scan(readers, weights, onScan, files.signal);
  try {
    const tokens = readers.run(() => index.tokens(config));
    const tokenizer = await listTokenizer(pieces, vocabularies, tokens);
    const { source, target } = vocabularies;
    const last = (name: string) => name.slice(folder.length);
    const texts = [
      config,
      last(source.name),
      source.bytes,
      last(target.name),
      target.bytes,
    ] as const;
    const contents = () => readers.run((raw) => raw.ctranslate2Contents(index, ...texts));
    return {
      format: `CTranslate2 ${version}`,
      weights: [weights],
      tokenizer,
      scanned: file.seekable ? 0 : file.size,
      generationConfig: null,
      loader: (int8) => {
        const { config: ours, tensors } = contents();
        return core.run((raw) =>
          raw.ModelLoader.openTensors(JSON.stringify(ours), kName, tensors, int8),
        );
      },
      contents: async () => contents(),
      delete: () => index.delete(),
    };
  } catch (error) {
    index.delete();
    throw error;
  }
}

/** The caller deletes the index. */
async function scan(
  readers: Core<RawReaders>,
  weights: WeightsFile,
  onScan: (position: number, file: WeightsFile) => void,
  signal?: AbortSignal,
): Promise<RawIndex> {
  const { file } = weights;
  const scanner = readers.run((raw) => raw.Ctranslate2Scanner.open(file.size));
  try {
    for (;;) {
      const { offset, bytes } = readers.run(() => scanner.next());
      if (bytes === 0) return readers.run(() => scanner.finish());
      const range = await file.peek(offset, bytes);
      await turn();
      checkSignal(signal);
      const buffer = readers.bytes(range.length);
      try {
        buffer.view().set(range);
        readers.run(() => scanner.accept(buffer));
      } finally {
        buffer.delete();
      }
      if (!file.seekable) onScan(offset + bytes, weights);
    }
  } finally {
    scanner.delete();
  }
}
