// The glue Emscripten makes beside readers.wasm; it is copied here in the built package.

import type { ModuleOptions } from "../raw-files.js";
import type { RawReaders } from "../raw-readers.js";

export default function createModule(options: ModuleOptions): Promise<RawReaders>;
