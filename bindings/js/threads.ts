// The threads of a running module besides the one it was started in.

import { RelataError, scriptError } from "./errors.js";
import type { RawModule } from "./raw-model.js";
import type { ThreadStart } from "./thread.js";

/** A thread as the system has it, once it serves. */
export interface Thread {
  terminate(): void;
}

/** Whoever starts threads: browsers and Node do it differently. Rejects where one cannot start. */
export type StartThread = (start: ThreadStart) => Promise<Thread>;

/** In browsers. */
export async function webThread(start: ThreadStart): Promise<Thread> {
  const worker = new Worker(new URL("./web-thread.js", import.meta.url), { type: "module" });
  await new Promise((resolve, reject) => {
    worker.onmessage = resolve;
    worker.onerror = ({ message }) =>
      reject(message ? new Error(message) : scriptError("web-thread.js"));
    worker.postMessage(start);
  }).catch((error: unknown) => {
    worker.terminate();
    throw error;
  });
  return worker;
}

/** A thread's stack and variables: several times what kernels need. */
const kThreadBytes = 1 << 17;

/** Starts all threads but the first; they serve until they are terminated. Errors: out_of_memory, what startThread rejects with. */
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
  const starts = Array.from({ length: numThreads - 1 }, (_, i) => {
    // Never deleted: it goes with the memory of all.
    const own = raw.Bytes.allocate(kThreadBytes);
    if ("code" in own) throw RelataError.at(own);
    const { byteOffset: place, length: bytes } = own.view();
    return { module, memory, entry, place, bytes, thread: i + 1 };
  });
  const started = await Promise.allSettled(starts.map(startThread));
  const threads = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = started.find((one) => one.status === "rejected");
  if (failed === undefined) return threads;
  for (const thread of threads) thread.terminate();
  throw failed.reason;
}
