// One GGUF file: configuration, vocabulary and tensors in their order.

import type { Core } from "../core.js";
import { type Failure, RelataError } from "../errors.js";
import type { RawBuffer, RawFiles } from "../raw-files.js";
import type { OpenFile } from "../source.js";
import { readHeader, type WeightsFile } from "./files.js";
import type { OpenedModel } from "./opened.js";
import { ggufTokenizer } from "./tokenizers.js";

/** More than this is asked for where the vocabulary is longer. */
const kFirstBytes = 1 << 16;
/** What the core calls the file. */
const kName = "model.gguf";

/** Errors: of the file. */
export async function openGguf(
  core: Core,
  weights: WeightsFile,
  signal?: AbortSignal,
): Promise<OpenedModel> {
  const { file, place } = weights;
  /** A call whose errors name the file by its place. */
  const run = <Raw extends RawFiles, T>(
    module: Core<Raw>,
    call: (raw: Raw) => T,
  ): Exclude<T, Failure> => {
    try {
      return module.run(call);
    } catch (error) {
      if (!(error instanceof RelataError) || !error.where.startsWith(kName)) throw error;
      const named = (text: string) => text.replace(kName, place);
      throw new RelataError(error.code, named(error.where), named(error.message), error);
    }
  };
  const readers = await core.readers();
  const header = await readHeader(
    readers,
    weights,
    kFirstBytes,
    (shown) => run(readers, (raw) => raw.ggufHeaderSize(shown, file.size)),
    signal,
  );
  try {
    // First, so that a model of another kind is told that it is one.
    const contents = run(readers, (raw) => raw.ggufContents(header, file.size));
    const vocabulary = run(readers, (raw) => raw.ggufVocabulary(header, file.size));
    const version = new DataView(header.view().slice(4, 8).buffer).getUint32(0, true);
    return {
      format: `GGUF ${version}`,
      weights: [{ ...weights, file: behind(file, header) }],
      tokenizer: ggufTokenizer(vocabulary, Number(contents.config?.eos_token_id), place),
      scanned: 0,
      generationConfig: null,
      loader: (int8) =>
        run(core, (raw) =>
          raw.ModelLoader.openTensors(
            JSON.stringify(contents.config),
            kName,
            contents.tensors,
            int8,
          ),
        ),
      contents: async () => contents,
      delete: () => header.delete(),
    };
  } catch (error) {
    header.delete();
    throw error;
  }
}

/** The file with its beginning in a buffer of the core: reading it goes on where that ends. */
function behind(file: OpenFile, header: RawBuffer<Uint8Array>): OpenFile {
  return {
    size: file.size,
    seekable: file.seekable,
    async *read(offset, length) {
      const end = offset + length;
      const start = header.view().slice(offset, end);
      if (start.length > 0) yield start;
      if (start.length < length) yield* file.read(offset + start.length, length - start.length);
    },
    peek: (offset, length) => file.peek(offset, length),
    close: () => file.close(),
  };
}
