// The glue Emscripten makes beside relata.wasm; it is copied here in the built package.

import type { ModuleOptions } from "../raw-files.js";
import type { RawModule } from "../raw-model.js";

export default function createModule(options: ModuleOptions): Promise<RawModule>;
