// The glue Emscripten makes beside relata.wasm; it is copied here in the built package.

import type { ModuleOptions, RawModule } from "../core.js";

export default function createModule(options: ModuleOptions): Promise<RawModule>;
