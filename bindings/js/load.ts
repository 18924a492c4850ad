// From a source's files to a model in the core: the small files whole, the weights one tensor at a time in file order.

import type { Core } from "./core.js";
import { fill, type Watch, type WeightsFile } from "./load/files.js";
import { openModel } from "./load/open-model.js";
import type { OpenedModel } from "./load/opened.js";
import type { RawBuffer, RawTensor } from "./raw-files.js";
import type { RawModel } from "./raw-model.js";
import type { Folder } from "./source.js";
import { TextTokenizer } from "./tokenizer.js";
import type { Dtype } from "./types.js";

export type { Watch } from "./load/files.js";

export interface LoadedModel {
  /** The caller deletes it. */
  readonly model: RawModel;
  readonly tensors: readonly RawTensor[];
  readonly tokenizer: TextTokenizer;
  /** What the weights came in, such as "GGUF 3". */
  readonly format: string;
  /** What the tokenizer was made from, in words. */
  readonly tokenizerKind: string;
}

/** As much of the weights is read at once, unless a tensor is wanted whole. */
const kRoom = 1 << 21;

/** dtype: null keeps the weights as the file has them. Errors: all but disposed. Whatever fails, nothing stays open or allocated. */
export async function loadModel(
  core: Core,
  folder: Folder,
  dtype: Dtype | null,
  { signal, onProgress }: Watch,
): Promise<LoadedModel> {
  const {
    model: opened,
    smallBytes,
    close,
  } = await openModel(core, folder, {
    signal,
    onScan: (position, { name, file }, read) =>
      onProgress?.({ file: name, loaded: read + position, total: read + 2 * file.size }),
  });
  try {
    const { weights } = opened;
    const ends: number[] = [];
    let end = smallBytes + opened.scanned;
    for (const { file } of weights) {
      ends.push(end);
      end += file.size;
    }
    const report = (position: number, index: number) => {
      const { name } = weights[index] as WeightsFile;
      onProgress?.({ file: name, loaded: (ends[index] as number) + position, total: end });
    };
    report(0, 0);
    const { model, tensors } = await readTensors(core, opened, dtype, report, signal);
    try {
      const { tokenizer, place, kind } = opened.tokenizer;
      const text = new TextTokenizer(tokenizer, place, model.describe());
      const last = weights.length - 1;
      report((weights[last] as WeightsFile).file.size, last);
      return { model, tensors, tokenizer: text, format: opened.format, tokenizerKind: kind };
    } catch (error) {
      model.delete();
      throw error;
    }
  } finally {
    await close();
  }
}

async function readTensors(
  core: Core,
  opened: OpenedModel,
  dtype: Dtype | null,
  report: (position: number, index: number) => void,
  signal?: AbortSignal,
): Promise<{ model: RawModel; tensors: readonly RawTensor[] }> {
  const loader = opened.loader(dtype === null ? null : dtype === "int8");
  const largest = Math.max(...opened.weights.map(({ file }) => file.size));
  let buffer: RawBuffer<Uint8Array> | undefined;
  try {
    let room = Math.min(kRoom, largest);
    for (;;) {
      const { file: index, offset, bytes } = core.run(() => loader.want(room));
      if (bytes === 0) break;
      if (buffer === undefined || bytes > room) {
        buffer?.delete();
        buffer = undefined;
        room = Math.max(room, bytes);
        buffer = core.bytes(room);
      }
      const filled = buffer;
      const at = (position: number) => report(position, index);
      await fill(filled, 0, opened.weights[index] as WeightsFile, offset, bytes, at, signal);
      core.run(() => loader.accept(filled, bytes));
    }
    const tensors = core.run(() => loader.tensors());
    return { model: core.run(() => loader.finish(core.numThreads)), tensors };
  } finally {
    buffer?.delete();
    loader.delete();
  }
}
