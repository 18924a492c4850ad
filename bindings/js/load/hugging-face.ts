// A folder as Hugging Face writes it: config.json, generation_config.json, a tokenizer, and safetensors.

import type { Core } from "../core.js";
import type { RawBuffer } from "../raw-files.js";
import type { RawContents } from "../raw-readers.js";
import { Json } from "../text/json.js";
import { type ModelFiles, readHeader, type SmallFile, type WeightsFile } from "./files.js";
import type { OpenedModel } from "./opened.js";
import { folderTokenizer } from "./tokenizers.js";

export const kConfig = "config.json";
const kGenerationConfig = "generation_config.json";
/** Of the 64-bit length a safetensors file starts with. */
const kPrefixBytes = 8;

/**
 * weights: model.safetensors, or all files that the index names. index: model.safetensors.index.json, null where there is none.
 * Errors: of the files.
 */
export async function openHuggingFace(
  core: Core,
  files: ModelFiles,
  config: SmallFile,
  weights: readonly WeightsFile[],
  index: SmallFile | null,
): Promise<OpenedModel> {
  const generationConfig = (await files.small(kGenerationConfig))?.bytes ?? null;
  // What is wrong with the configuration, the core says best; here only the tokenizer's name counts.
  const tokenizer = await folderTokenizer(files, jsonOrEmpty(config));
  const headers: RawBuffer<Uint8Array>[] = [];
  const free = () => {
    for (const header of headers) header.delete();
  };
  try {
    for (const one of weights) {
      const { file, name } = one;
      const size = (shown: RawBuffer<Uint8Array>) =>
        core.run((raw) => raw.headerSize(shown, file.size, name));
      headers.push(await readHeader(core, one, kPrefixBytes, size, files.signal));
      // Browsers keep few connections open at a time.
      if (weights.length > 1) await file.pause?.();
    }
  } catch (error) {
    free();
    throw error;
  }
  const names = weights.map(({ name }) => name);
  const sizes = weights.map(({ file }) => file.size);
  const texts = [config.bytes, generationConfig ?? new Uint8Array(0)] as const;
  const [header, size] = [headers[0] as RawBuffer<Uint8Array>, sizes[0] as number];
  const shards = index === null ? null : ([index.bytes, names, headers, sizes] as const);
  return {
    format: index === null ? "safetensors" : `safetensors in ${weights.length} files`,
    weights,
    tokenizer,
    scanned: 0,
    generationConfig,
    loader: (int8) =>
      core.run(({ ModelLoader }) =>
        shards === null
          ? ModelLoader.open(...texts, header, size, int8)
          : ModelLoader.openShards(...texts, ...shards, int8),
      ),
    contents: async () => {
      const readers = await core.readers();
      const copies = headers.map((one) => {
        const buffer = readers.bytes(one.view().length);
        buffer.view().set(one.view());
        return buffer;
      });
      try {
        const { tensors } = readers.run((raw) =>
          index === null
            ? raw.safetensorsContents(...texts, copies[0] as RawBuffer<Uint8Array>, size)
            : raw.shardsContents(...texts, index.bytes, names, copies, sizes),
        );
        return {
          config: Json.parse(config.bytes, config.place).value as RawContents["config"],
          tensors,
        };
      } finally {
        for (const copy of copies) copy.delete();
      }
    },
    delete: free,
  };
}

function jsonOrEmpty({ bytes, place }: SmallFile): Json {
  try {
    return Json.parse(bytes, place);
  } catch {
    return new Json({}, place);
  }
}
