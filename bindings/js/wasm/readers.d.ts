// The glue Emscripten makes beside readers.wasm; it is copied here in the built package.

import type { ModuleOptions, RawReaders } from "../core.js";

export default function createModule(options: ModuleOptions): Promise<RawReaders>;
