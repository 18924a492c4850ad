// A thread of the core: an instance of its module over the memory of all, which runs kernels and calls nothing of ours.

/** What a thread is given. */
export interface ThreadStart {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  /** The export that never returns, called with the thread's own memory and number. */
  readonly entry: string;
  readonly place: number;
  readonly thread: number;
}

/** Calls `ready` and works for ever. */
export function serve({ module, memory, entry, place, thread }: ThreadStart, ready: () => void) {
  const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] = kind === "memory" ? memory : missing;
  }
  const { exports } = new WebAssembly.Instance(module, imports);
  ready();
  (exports[entry] as (place: number, thread: number) => void)(place, thread);
}

function missing(): never {
  throw new Error("a thread of the core has called JavaScript");
}
