// A model whose files are open and understood, and none of whose tensors has been read.

import type { RawLoader } from "../raw-model.js";
import type { RawContents } from "../raw-readers.js";
import type { WeightsFile } from "./files.js";
import type { NamedTokenizer } from "./named-tokenizer.js";

export interface OpenedModel {
  /** Such as "GGUF 3". */
  readonly format: string;
  /** By RawTensor.file. */
  readonly weights: readonly WeightsFile[];
  readonly tokenizer: NamedTokenizer;
  /** Bytes of weights gone through already, in files that have to be gone through twice. */
  readonly scanned: number;
  /** Checks the model as a whole and makes room for it, int8 null: as it is stored. The caller deletes the loader. */
  loader(int8: boolean | null): RawLoader;
  /** config.json, and every tensor as it is stored. */
  contents(): Promise<RawContents>;
  /** generation_config.json, where there is one. */
  readonly generationConfig: Uint8Array | null;
  /** Frees what of the core is held; the files are the caller's. */
  delete(): void;
}
