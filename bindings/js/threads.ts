// The threads of a running module besides the one it was started in.

import { RelataError } from "./errors.js";
import type { RawModule } from "./raw-model.js";
import type { ThreadStart } from "./thread.js";

/** A thread as the system has it. */
export interface Thread {
  /** Rejects where it cannot start. */
  readonly ready: Promise<unknown>;
  terminate(): void;
}

/** Whoever starts threads: browsers and Node do it differently. */
export type StartThread = (start: ThreadStart) => Thread;

/** In browsers. */
export function webThread(start: ThreadStart): Thread {
  const worker = new Worker(new URL("./web-thread.js", import.meta.url), { type: "module" });
  const ready = new Promise((resolve, reject) => {
    worker.onmessage = resolve;
    worker.onerror = ({ message }) => reject(new Error(message || "a worker cannot be started"));
  });
  worker.postMessage(start);
  return { ready, terminate: () => worker.terminate() };
}

/** A thread's stack and variables: several times what kernels need. */
const kThreadBytes = 1 << 17;

/** Starts all threads but the first; they serve until they are terminated. Errors: out_of_memory, what `ready` rejects with. */
export async function startThreads(
  raw: RawModule,
  parts: Pick<ThreadStart, "module" | "memory"> & { readonly instance: WebAssembly.Instance },
  numThreads: number,
  startThread: StartThread,
): Promise<readonly Thread[]> {
  const { module, memory, instance } = parts;
  // Emscripten shortens names of exports; only its glue knows which is which.
  const entry = Object.keys(instance.exports).find(
    (name) => instance.exports[name] === raw._serveThread,
  ) as string;
  const threads: Thread[] = [];
  try {
    for (let thread = 1; thread < numThreads; thread++) {
      const own = raw.Bytes.allocate(kThreadBytes);
      if ("code" in own) throw RelataError.at(own);
      const { byteOffset: place, length: bytes } = own.view();
      threads.push(startThread({ module, memory, entry, place, bytes, thread }));
    }
    await Promise.all(threads.map(({ ready }) => ready));
  } catch (error) {
    for (const thread of threads) thread.terminate();
    throw error;
  }
  return threads;
}
