// The package's entry for Node: the same, and a source may be the path of a folder or a file.

import { loadBackend } from "./backend.js";
import { Model as BrowserModel } from "./model.js";
import { node } from "./node-platform.js";
import type { LoadOptions, Source } from "./types.js";

export { RelataError } from "./errors.js";
export { perplexity } from "./perplexity.js";
export type * from "./types.js";

export class Model extends BrowserModel {
  static override async load(source: Source, options: LoadOptions = {}): Promise<Model> {
    return new Model(await loadBackend(source, options, node));
  }
}
