// What a source holds, decided by what is in its files.

import type { Core } from "../core.js";
import { RelataError } from "../errors.js";
import { foreignName, type Kind, kHeadBytes, kindOf, wrongKind } from "../kind.js";
import type { Folder } from "../source.js";
import { ModelFiles, type SmallFile, type WeightsFile } from "./files.js";
import { kConfig, openHuggingFace } from "./hugging-face.js";
import { vocabularyIn } from "./list-tokenizer.js";
import type { OpenedModel } from "./opened.js";

const kWeights = "model.safetensors";
const kIndex = "model.safetensors.index.json";
const kBinary = "model.bin";
/** Where Argos packages keep model.bin. */
const kSubfolder = "model/";
/** Files looked into at most, where none has a known name. */
const kMaxLooks = 32;

export interface OpenWatch {
  readonly signal: AbortSignal | undefined;
  /** How far a file has been gone through that has to be gone through twice; smallBytes were read besides. */
  onScan(position: number, file: WeightsFile, smallBytes: number): void;
}

export interface OpenedSource {
  readonly model: OpenedModel;
  /** Bytes of the small files that were read. */
  readonly smallBytes: number;
  close(): Promise<void>;
}

/** Errors: of the files; unsupported, with what a file is where that is known. Nothing stays open after one. */
export async function openModel(
  core: Core,
  folder: Folder,
  watch: OpenWatch,
): Promise<OpenedSource> {
  const opening = new Opening(core, watch);
  try {
    const model = await opening.source(folder);
    return {
      model,
      smallBytes: opening.smallBytes,
      close: async () => {
        model.delete();
        await opening.close();
      },
    };
  } catch (error) {
    await opening.close();
    throw error;
  }
}

class Opening {
  readonly #core: Core;
  readonly #watch: OpenWatch;
  readonly #opened: WeightsFile[] = [];
  #files: ModelFiles | undefined;

  constructor(core: Core, watch: OpenWatch) {
    this.#core = core;
    this.#watch = watch;
  }

  get smallBytes(): number {
    return (this.#files?.read ?? []).reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  async close(): Promise<void> {
    for (const { file } of this.#opened) await file.close();
  }

  async source(folder: Folder): Promise<OpenedModel> {
    const itself = folder.fileFirst ? await this.#itself(folder) : null;
    return itself ?? this.#folder(folder);
  }

  /** The model that is one file; null where the source is none. */
  async #itself(folder: Folder): Promise<OpenedModel | null> {
    const files = this.#start(folder);
    const found = await this.#look(files, "");
    if (found === null) return null;
    const { kind, weights, head } = found;
    if (kind === "gguf") return this.#gguf(files, weights);
    if (kind === "zip") return this.#archive(weights);
    if (kind === "safetensors" || kind === "ctranslate2") {
      const what = kind === "safetensors" ? "weights in safetensors" : "weights of CTranslate2";
      const problem = `${weights.place} holds ${what} alone: open its folder, with the files beside it`;
      throw new RelataError("unsupported", weights.place, problem);
    }
    throw wrongKind(head, weights.place);
  }

  // The parts that not every model needs are fetched with the first that does.
  async #gguf(files: ModelFiles, weights: WeightsFile): Promise<OpenedModel> {
    const { openGguf } = await import("./gguf.js");
    return openGguf(this.#core, weights, files.signal);
  }

  async #archive({ file, place }: WeightsFile): Promise<OpenedModel> {
    const { zipFolder } = await import("../zip.js");
    const folder = await zipFolder(file, place);
    const names = (await folder.list()) ?? [];
    if (names.some((name) => /(^|\/)data\.pkl$/.test(name))) throw pickled(place);
    const roots = names
      .flatMap((name) => {
        const root =
          /^(.*?)(?:model\/model\.bin|model\.bin|model\.safetensors(?:\.index\.json)?)$/.exec(
            name,
          )?.[1];
        return root === undefined || (root !== "" && !root.endsWith("/")) ? [] : [root];
      })
      .sort((a, b) => a.split("/").length - b.split("/").length);
    const [root = "", other = root] = [...new Set(roots)];
    if (other !== root && other.split("/").length === root.split("/").length) {
      const problem = `${place} holds several models: ${root} and ${other}`;
      throw new RelataError("unsupported", place, problem);
    }
    return this.#folder({
      place: (name) => folder.place(root + name),
      fileFirst: false,
      open: (name, signal) => folder.open(root + name, signal),
      list: async () =>
        names.filter((name) => name.startsWith(root)).map((name) => name.slice(root.length)),
    });
  }

  async #folder(folder: Folder): Promise<OpenedModel> {
    const files = this.#start(folder);
    const config = await files.small(kConfig);
    if (config !== null) {
      const safetensors = await this.#look(files, kWeights);
      if (safetensors !== null) {
        const { kind, weights, head } = safetensors;
        // A damaged beginning is the reader's to describe.
        if (kind === "safetensors" || (kind === null && foreignName(head) === null))
          return openHuggingFace(this.#core, files, config, [weights], null);
        if (kind === "gguf") return this.#gguf(files, weights);
        throw wrongKind(head, weights.place);
      }
      const index = await files.small(kIndex);
      if (index !== null) return this.#shards(files, config, index);
    }
    for (const within of ["", kSubfolder]) {
      const binary = await this.#look(files, within + kBinary);
      if (binary === null) continue;
      const { kind, weights, head } = binary;
      if (kind === "zip") throw pickled(weights.place);
      if (kind !== "ctranslate2") throw wrongKind(head, weights.place);
      const { openCtranslate2 } = await import("./ctranslate2.js");
      return openCtranslate2(this.#core, files, within, weights, (position, file) =>
        this.#watch.onScan(position, file, this.smallBytes),
      );
    }
    return this.#otherwise(folder, files, config === null ? kConfig : kWeights);
  }

  async #shards(files: ModelFiles, config: SmallFile, index: SmallFile): Promise<OpenedModel> {
    const shards: WeightsFile[] = [];
    for (const name of this.#core.run((raw) => raw.shardNames(index.bytes))) {
      const shard = await this.#look(files, name);
      if (shard === null) throw files.missing(name, `, which ${kIndex} names`);
      const { kind, weights, head } = shard;
      if (kind !== "safetensors" && (kind !== null || foreignName(head) !== null))
        throw wrongKind(head, weights.place);
      await weights.file.pause?.();
      shards.push(weights);
    }
    return openHuggingFace(this.#core, files, config, shards, index);
  }

  /** A folder without a file of a known name. */
  async #otherwise(folder: Folder, files: ModelFiles, missing: string): Promise<OpenedModel> {
    const names = await folder.list();
    if (names === null) {
      const itself = folder.fileFirst ? null : await this.#itself(folder);
      if (itself !== null) return itself;
    }
    for (const name of ["pytorch_model.bin", "pytorch_model.bin.index.json"]) {
      const found = names === null ? await this.#look(files, name) : names.includes(name);
      if (found) throw pickled(folder.place(name));
    }
    const foreign: string[] = [];
    const ggufs: WeightsFile[] = [];
    for (const name of (names ?? []).slice(0, kMaxLooks)) {
      const found = await this.#look(files, name);
      if (found?.kind === "gguf") ggufs.push(found.weights);
      if (found?.kind === "zip") return this.#archive(found.weights);
      const what = found === null ? null : foreignName(found.head);
      if (what !== null && !/\.(json|txt|md)$/i.test(name)) foreign.push(`${name} is ${what}`);
    }
    const [gguf, other] = ggufs;
    if (other !== undefined) {
      const problem = `there are several models: ${gguf?.name} and ${other.name}; name one of them`;
      throw new RelataError("unsupported", folder.place(""), problem);
    }
    if (gguf !== undefined) return this.#gguf(files, gguf);
    for (const within of ["", kSubfolder]) {
      const beside = await vocabularyIn(files, within);
      if (beside !== null)
        throw files.missing(within + kBinary, `, which goes with ${beside.name}`);
    }
    if (names?.length === 0) throw files.missing(missing, ": its folder is not there, or empty");
    throw files.missing(missing, foreign.length === 0 ? "" : `; ${foreign.join("; ")}`);
  }

  #start(folder: Folder): ModelFiles {
    this.#files = new ModelFiles(folder, this.#watch.signal);
    return this.#files;
  }

  /** Opens a file that may hold weights, and looks at its beginning. */
  async #look(files: ModelFiles, name: string) {
    const weights = await files.weights(name);
    if (weights === null) return null;
    this.#opened.push(weights);
    const head = await weights.file.peek(0, kHeadBytes);
    const kind: Kind | null = kindOf(head);
    return { weights, head, kind };
  }
}

function pickled(place: string): RelataError {
  const folder = place.replace(/[^/\\]*$/, "") || ".";
  const script = `from transformers import AutoModelForSeq2SeqLM as M, AutoTokenizer as T; M.from_pretrained('${folder}').save_pretrained('converted'); T.from_pretrained('${folder}').save_pretrained('converted')`;
  const problem = `${place} holds weights as Python pickles them, which are not read because unpickling runs code; convert them: python3 -c "${script}"`;
  return new RelataError("unsupported", place, problem);
}
