// From a folder's files to a model in the core: the small files whole, the weights one tensor at a time in file order.

import type { Core, RawBuffer, RawModel, RawTensor } from "./core.js";
import { RelataError } from "./errors.js";
import { type Folder, type OpenFile, readAll } from "./source.js";
import { TextTokenizer } from "./tokenizer.js";
import { checkSignal, turn } from "./turn.js";
import type { Dtype, Progress } from "./types.js";

const kConfig = "config.json";
const kGenerationConfig = "generation_config.json";
const kTokenizer = "tokenizer.json";
const kWeights = "model.safetensors";
/** Of the 64-bit length a safetensors file starts with. */
const kPrefixBytes = 8;
/** No JSON file of a model is as long; checked before it is read. */
const kMaxJsonBytes = 1 << 28;

export interface LoadedModel {
  /** The caller deletes it. */
  readonly model: RawModel;
  readonly tensors: readonly RawTensor[];
  readonly tokenizer: TextTokenizer;
}

export interface Watch {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** Errors: all but disposed. Whatever fails, nothing stays open or allocated. */
export async function loadModel(
  core: Core,
  folder: Folder,
  dtype: Dtype,
  watch: Watch,
): Promise<LoadedModel> {
  const { signal } = watch;
  const missing = (file: string) =>
    new RelataError("file_missing", folder.place(file), `${folder.place(file)} is missing`);
  const small = async (file: string) => {
    const opened = await folder.open(file, signal);
    if (opened === null) return null;
    try {
      if (opened.size > kMaxJsonBytes) {
        const place = folder.place(file);
        throw new RelataError(
          "file_damaged",
          place,
          `${place} is too long to be JSON: ${opened.size} bytes`,
        );
      }
      return await readAll(opened);
    } finally {
      await opened.close();
    }
  };
  const config = await small(kConfig);
  if (config === null) throw missing(kConfig);
  const [generationConfig, tokenizerJson] = await Promise.all([
    small(kGenerationConfig),
    small(kTokenizer),
  ]);
  if (tokenizerJson === null) throw missing(kTokenizer);

  const weights = await folder.open(kWeights, signal);
  if (weights === null) throw missing(kWeights);
  try {
    const smallBytes = config.length + (generationConfig?.length ?? 0) + tokenizerJson.length;
    const total = smallBytes + weights.size;
    const report = (position: number) =>
      watch.onProgress?.({ file: kWeights, loaded: smallBytes + position, total });
    report(0);
    const header = { config, generationConfig: generationConfig ?? new Uint8Array(0) };
    const { model, tensors } = await loadWeights(
      core,
      header,
      weights,
      dtype === "int8",
      report,
      signal,
    );
    try {
      const tokenizer = new TextTokenizer(
        tokenizerJson,
        folder.place(kTokenizer),
        model.describe().vocabSize,
      );
      report(weights.size);
      return { model, tensors, tokenizer };
    } catch (error) {
      model.delete();
      throw error;
    }
  } finally {
    await weights.close();
  }
}

async function loadWeights(
  core: Core,
  json: { config: Uint8Array; generationConfig: Uint8Array },
  file: OpenFile,
  int8: boolean,
  report: (position: number) => void,
  signal?: AbortSignal,
): Promise<{ model: RawModel; tensors: readonly RawTensor[] }> {
  const prefix = core.bytes(Math.min(kPrefixBytes, file.size));
  let header: RawBuffer<Uint8Array> | undefined;
  try {
    await fill(prefix, 0, file, 0, prefix.view().length, report, signal);
    const size = core.run((raw) => raw.headerSize(prefix, file.size));
    header = core.bytes(size);
    header.view().set(prefix.view());
    await fill(header, kPrefixBytes, file, kPrefixBytes, size - kPrefixBytes, report, signal);
    const opened = header;
    const loader = core.run((raw) =>
      raw.ModelLoader.open(json.config, json.generationConfig, opened, file.size, int8),
    );
    try {
      for (;;) {
        const next = core.run(() => loader.next());
        if (next === null) break;
        const bytes = core.bytes(next.bytes);
        try {
          await fill(bytes, 0, file, next.offset, next.bytes, report, signal);
          core.run(() => loader.accept(bytes));
        } finally {
          bytes.delete();
        }
      }
      const tensors = core.run(() => loader.tensors());
      return { model: core.run(() => loader.finish(core.numThreads)), tensors };
    } finally {
      loader.delete();
    }
  } finally {
    prefix.delete();
    header?.delete();
  }
}

/** Copies the file's bytes [offset, offset + length) into a buffer of the core, from its byte `at` on. */
async function fill(
  buffer: RawBuffer<Uint8Array>,
  at: number,
  file: OpenFile,
  offset: number,
  length: number,
  report: (position: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  let filled = 0;
  for await (const piece of file.read(offset, length)) {
    await turn();
    checkSignal(signal);
    buffer.view().set(piece, at + filled);
    filled += piece.length;
    report(offset + filled);
  }
  if (filled < length) {
    throw new RelataError(
      "file_damaged",
      kWeights,
      `${kWeights} ends at byte ${offset + filled}, too early`,
    );
  }
}
