// A thread of the core: an instance of its module over the memory of all, which runs kernels and calls nothing of ours.

import type { RawModule } from "./raw-model.js";

/** What a thread is given. */
export interface ThreadStart {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  /** The export that never returns: where the thread's own memory is, its bytes, and the thread's number. */
  readonly entry: string;
  readonly place: number;
  readonly bytes: number;
  readonly thread: number;
}

/** Calls `ready` and works for ever. */
export function serve(start: ThreadStart, ready: () => void): void {
  const { module, memory, entry, place, bytes, thread } = start;
  const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] = kind === "memory" ? memory : missing;
  }
  const { exports } = new WebAssembly.Instance(module, imports);
  ready();
  (exports[entry] as RawModule["_serveThread"])(place, bytes, thread);
}

function missing(): never {
  throw new Error("a thread of the core has called JavaScript");
}
