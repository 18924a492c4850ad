// A folder as Hugging Face writes it: config.json, generation_config.json, a tokenizer, and safetensors.

import type { Core } from "../core.js";
import { Json } from "../text/json.js";
import { type ModelFiles, readHeader, type SmallFile, type WeightsFile } from "./files.js";
import type { OpenedModel } from "./opened.js";
import { folderTokenizer } from "./tokenizers.js";

export const kConfig = "config.json";
const kGenerationConfig = "generation_config.json";
/** Of the 64-bit length a safetensors file starts with. */
const kPrefixBytes = 8;

/** Errors: of the files. */
export async function openHuggingFace(
  core: Core,
  files: ModelFiles,
  config: SmallFile,
  weights: WeightsFile,
): Promise<OpenedModel> {
  const generation = (await files.small(kGenerationConfig))?.bytes ?? null;
  // What is wrong with the configuration, the core says best; here only the tokenizer's name counts.
  const tokenizer = await folderTokenizer(files, jsonOrEmpty(config));
  const { file } = weights;
  const header = await readHeader(
    core,
    weights,
    kPrefixBytes,
    (shown) => core.run((raw) => raw.headerSize(shown, file.size)),
    files.signal,
  );
  return {
    format: "safetensors",
    weights: [weights],
    tokenizer,
    scanned: 0,
    generationConfig: generation,
    loader: (int8) =>
      core.run((raw) =>
        raw.ModelLoader.open(
          config.bytes,
          generation ?? new Uint8Array(0),
          header,
          file.size,
          int8,
        ),
      ),
    contents: () => ({
      config: new TextDecoder().decode(config.bytes),
      tensors: core.run((raw) => raw.safetensorsContents(header, file.size)).tensors,
    }),
    delete: () => header.delete(),
  };
}

function jsonOrEmpty({ bytes, place }: SmallFile): Json {
  try {
    return Json.parse(bytes, place);
  } catch {
    return new Json({}, place);
  }
}
