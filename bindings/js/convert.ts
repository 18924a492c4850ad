// Any model as a folder of ours: configuration, tokenizer and one model.safetensors. Its tensors pass through memory in pieces of a few
// megabytes, or one by one where they are rounded to 8 bits. For Node.

import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Core } from "./core.js";
import { RelataError, wordsOf } from "./errors.js";
import { fill } from "./load/files.js";
import { openModel } from "./load/open-model.js";
import type { OpenedModel } from "./load/opened.js";
import type { RawBuffer, RawTensor } from "./raw-files.js";
import type { RawReaders, RawStored } from "./raw-readers.js";
import { SafetensorsFile, type StoredTensor } from "./safetensors-file.js";
import type { Folder } from "./source.js";
import { widthOf, writeFloats } from "./stored-floats.js";

/** How matrices are stored. What is no matrix stays in 32 bits. */
export type StoredDtype = "f32" | "f16" | "int8";

/** About as much of a tensor is in memory at once. */
const kChunkBytes = 1 << 22;
const kScale = "_scale";
const kReach = "_reach";

type Config = Readonly<Record<string, unknown>>;

/** A tensor, what it becomes, and where its factors are, before and after. */
interface Step {
  readonly tensor: RawTensor;
  readonly output: StoredTensor;
  readonly factors: Factors;
  readonly into: { readonly scales: StoredTensor; readonly reach: StoredTensor } | null;
}

/** The tensors that one of integers is multiplied by: [rows, 1] and [1, cols]. */
interface Factors {
  readonly scales: RawTensor | null;
  readonly reach: RawTensor | null;
}

export interface Converted {
  readonly format: string;
  readonly tensors: number;
  readonly bytes: number;
  readonly files: readonly string[];
}

/** Errors: those of the files; option_invalid where `out` is no empty folder and none can be made; tensor_invalid for a value that does not fit. */
export async function convert(
  core: Core,
  folder: Folder,
  out: string,
  dtype: StoredDtype,
): Promise<Converted> {
  await checkFree(out);
  const watch = { signal: undefined, onScan: () => {} };
  const { model, close } = await openModel(core, folder, watch);
  try {
    const { config: described, tensors } = await model.contents();
    const readers = await core.readers();
    const config = described ?? {};
    const steps = plan(tensors, dtype);
    const texts = new Map<string, Uint8Array | string>(model.tokenizer.files());
    texts.set("config.json", configOf(config, dtype));
    texts.set("generation_config.json", model.generationConfig ?? generationOf(config));
    await mkdir(out, { recursive: true }).catch((error) => {
      throw invalidOut(`${out} cannot be made: ${wordsOf(error)}`, error);
    });
    for (const [name, content] of texts) await writeFile(join(out, name), content);
    const bytes = await writeWeights(readers, model, steps, join(out, "model.safetensors"));
    const files = [...texts.keys(), "model.safetensors"];
    return { format: model.format, tensors: steps.length, bytes, files };
  } finally {
    await close();
  }
}

function invalidOut(problem: string, cause?: unknown): RelataError {
  return new RelataError("option_invalid", "OUT", `OUT: ${problem}`, cause);
}

/** Whether a folder can be made, or filled, there: said before a model is read for it. */
async function checkFree(out: string): Promise<void> {
  const existing = await readdir(out).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw invalidOut(`${out} is no folder to write into: ${wordsOf(error)}`, error);
  });
  if (existing.length > 0)
    throw invalidOut(`${out} is there and not empty: name a folder that is not, or empty it`);
}

function plan(tensors: readonly RawStored[], dtype: StoredDtype): Step[] {
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const factorsOf = ({ name, dtype: type, scales }: RawTensor): Factors => {
    const find = (ending: string) =>
      type === "I8" && scales.length === 0 ? (byName.get(name + ending) ?? null) : null;
    return { scales: find(kScale), reach: find(kReach) };
  };
  const used = new Set(tensors.flatMap((tensor) => Object.values(factorsOf(tensor))));
  return tensors
    .filter((tensor) => !used.has(tensor) && (dtype !== "int8" || tensor.isNeeded))
    .map((tensor) => {
      const { name, shape, isWeight } = tensor;
      const [rows = 1, cols = rows] = shape;
      const rounds = dtype === "int8" && isWeight;
      const type = rounds ? "I8" : dtype === "f16" && shape.length === 2 ? "F16" : "F32";
      const count = shape.reduce((product, size) => product * size, 1);
      const floats = (ending: string, of: readonly number[]) => ({
        ...{ name: name + ending, shape: of, dtype: "F32" },
        bytes: 4 * of.reduce((product, size) => product * size, 1),
      });
      return {
        tensor,
        output: { name, shape, dtype: type, bytes: count * widthOf(type) },
        factors: factorsOf(tensor),
        into: rounds
          ? { scales: floats(kScale, [rows, 1]), reach: floats(kReach, [1, cols]) }
          : null,
      };
    });
}

function configOf(given: Config, dtype: StoredDtype): string {
  const { quantization_config: _old, torch_dtype: _older, ...rest } = given;
  const config: Record<string, unknown> = rest;
  if ("dtype" in config || "torch_dtype" in given)
    config.dtype = dtype === "f16" ? "float16" : "float32";
  if (dtype === "int8") {
    const weights = {
      num_bits: 8,
      type: "int",
      symmetric: true,
      strategy: "channel",
      dynamic: false,
      // Others refuse what they do not know here, and cannot forget the reach.
      levelled: true,
    };
    config.quantization_config = {
      quant_method: "compressed-tensors",
      format: "int-quantized",
      quantization_status: "compressed",
      config_groups: { group_0: { targets: ["Linear", "Embedding"], weights } },
      ignore: [],
    };
  }
  return `${JSON.stringify(config, null, 2)}\n`;
}

/** The ids of generation, which the configuration has. */
function generationOf(config: Config): string {
  const names = ["bos", "pad", "eos", "decoder_start"].map((name) => `${name}_token_id`);
  const found = names.flatMap((name) => (config[name] == null ? [] : [[name, config[name]]]));
  return `${JSON.stringify(Object.fromEntries(found), null, 2)}\n`;
}

async function writeWeights(
  readers: Core<RawReaders>,
  model: OpenedModel,
  steps: readonly Step[],
  path: string,
): Promise<number> {
  const outputs = steps.flatMap(({ output, into }) =>
    into ? [into.scales, into.reach, output] : [output],
  );
  const file = await SafetensorsFile.create(path, outputs);
  try {
    for (const step of steps) await writeTensor(readers, model, step, file);
    await file.finish();
  } catch (error) {
    await file.discard();
    throw error;
  }
  return file.size;
}

async function writeTensor(
  readers: Core<RawReaders>,
  model: OpenedModel,
  step: Step,
  file: SafetensorsFile,
): Promise<void> {
  const { tensor, output, factors, into } = step;
  const { shape } = tensor;
  const rows = shape.length > 1 ? (shape[0] as number) : 1;
  const cols = shape.reduce((product, size) => product * size, 1) / rows;
  const scales = factors.scales ? await factorsIn(readers, model, factors.scales) : tensor.scales;
  const reach = factors.reach ? await factorsIn(readers, model, factors.reach) : [];
  if (into !== null) {
    const { name, dtype } = tensor;
    const rounded = await withBytes(readers, model, tensor, (buffer, source) =>
      readers.run((raw) => raw.round(source, name, dtype, buffer, rows, cols, scales, reach)),
    );
    await file.write(output, new Uint8Array(rounded.values.buffer));
    await file.write(into.scales, new Uint8Array(rounded.scales.buffer));
    return file.write(into.reach, new Uint8Array(rounded.reach.buffer));
  }
  const rowBytes = tensor.bytes / rows;
  const many = Math.max(1, Math.floor(kChunkBytes / (4 * cols)));
  for (let row = 0; row < rows; row += many) {
    const count = Math.min(many, rows - row);
    const part = { ...tensor, offset: tensor.offset + row * rowBytes, bytes: count * rowBytes };
    const values = await floatsOf(readers, model, part);
    const bytes = new Uint8Array(count * cols * widthOf(output.dtype));
    for (let i = 0; i < count; i++) {
      const line = values.subarray(i * cols, (i + 1) * cols);
      const factor = scales[scales.length === 1 ? 0 : row + i];
      if (factor !== undefined)
        for (let j = 0; j < cols; j++) line[j] = (line[j] as number) * factor;
      for (let j = 0; j < reach.length; j++) line[j] = (line[j] as number) * (reach[j] as number);
      const at = i * cols * widthOf(output.dtype);
      const into = bytes.subarray(at, at + cols * widthOf(output.dtype));
      const wrong = writeFloats(line, output.dtype, into);
      if (wrong >= 0) {
        const where = `${tensor.name} [${row + i}, ${wrong}]`;
        const problem = Number.isFinite(line[wrong])
          ? `${line[wrong]} does not fit into ${output.dtype}: convert to f32`
          : "is not finite";
        throw new RelataError("tensor_invalid", where, `${where}: ${problem}`);
      }
    }
    await file.write(output, bytes, row * cols * widthOf(output.dtype));
  }
}

/** The values of a tensor that integers are multiplied by: none is negative, as in a load. Error: tensor_invalid. */
async function factorsIn(
  readers: Core<RawReaders>,
  model: OpenedModel,
  tensor: RawTensor,
): Promise<Float32Array> {
  const values = await floatsOf(readers, model, tensor);
  const wrong = values.findIndex((value) => value < 0);
  if (wrong < 0) return values;
  const where = `${tensor.name} [${wrong}]`;
  const problem = "is negative, and integers are multiplied by it";
  throw new RelataError("tensor_invalid", where, `${where}: ${problem}`);
}

/** The values of a tensor's bytes, or of a part of them, before any factor. */
function floatsOf(
  readers: Core<RawReaders>,
  model: OpenedModel,
  tensor: RawTensor,
): Promise<Float32Array> {
  return withBytes(readers, model, tensor, (buffer) =>
    readers.run((raw) => raw.decode(tensor.dtype, buffer)),
  );
}

/** What `use` makes of a tensor's bytes and the name of their file; nothing where no weights have the tensor's type. */
async function withBytes<T>(
  readers: Core<RawReaders>,
  model: OpenedModel,
  { name, dtype, offset, bytes, file }: RawTensor,
  use: (buffer: RawBuffer<Uint8Array>, file: string) => T | null,
): Promise<T> {
  const weights = model.weights[file];
  if (weights === undefined) throw new RangeError(`no file ${file}`);
  const buffer = readers.bytes(bytes);
  try {
    await fill(buffer, 0, weights, offset, bytes, () => {});
    const made = use(buffer, weights.name);
    if (made !== null) return made;
    const where = `${weights.name}: ${name}`;
    const problem = `${where}: has type ${dtype}, which no weights have`;
    throw new RelataError("unsupported", where, problem);
  } finally {
    buffer.delete();
  }
}
