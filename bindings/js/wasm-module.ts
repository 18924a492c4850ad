// How a module comes to be: from its bytes to an instance of it. What it has then is in raw-model.ts and raw-readers.ts.

import { RelataError, wordsOf } from "./errors.js";
import type { ModuleOptions } from "./raw-files.js";
import type { RawModule } from "./raw-model.js";
import type { RawReaders } from "./raw-readers.js";
import { type StartThread, startThreads, type Thread } from "./threads.js";
import createModule from "./wasm/relata.js";
import { readersAddress, threadsGlueAddress } from "./wasm-bytes.js";

/** (module (func (result v128) (i8x16.splat (i32.const 0)))): valid where there is SIMD. */
const kSimdModule = new Uint8Array([
  ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7b],
  ...[0x03, 0x02, 0x01, 0x00, 0x0a, 0x08, 0x01, 0x06, 0x00, 0x41, 0x00, 0xfd, 0x0f, 0x0b],
]);

/** Compiles the core, after a look at what the machine can do. Error: wasm_unavailable. */
export async function compileCore(
  wasm: WebAssembly.Module | ArrayBuffer | Uint8Array,
  name = "relata.wasm",
): Promise<WebAssembly.Module> {
  if (typeof WebAssembly === "undefined") {
    throw unavailable(
      "WebAssembly",
      "WebAssembly is missing or switched off here: Relata cannot run without it",
    );
  }
  if (!WebAssembly.validate(kSimdModule)) {
    throw unavailable(
      "WebAssembly SIMD",
      "WebAssembly SIMD is missing here: update to Chrome 91, Firefox 89, Safari 16.4, Node 20 or newer",
    );
  }
  if (wasm instanceof WebAssembly.Module) return wasm;
  try {
    return await WebAssembly.compile(wasm as BufferSource);
  } catch (error) {
    throw unavailable(
      name,
      `${name} cannot be compiled (${wordsOf(error)}); under a Content-Security-Policy, script-src needs 'wasm-unsafe-eval'`,
      error,
    );
  }
}

/** What a module was made of: its memory is an import where threads share it. */
interface Started<Raw> {
  readonly raw: Raw;
  readonly instance: WebAssembly.Instance;
  readonly imports: WebAssembly.Imports;
}

/** Error: wasm_unavailable. */
function start<Raw>(
  create: (options: ModuleOptions) => Promise<Raw>,
  module: WebAssembly.Module,
  name: string,
): Promise<Started<Raw>> {
  return new Promise<Started<Raw>>((resolve, reject) => {
    let parts: Omit<Started<Raw>, "raw">;
    const instantiateWasm: ModuleOptions["instantiateWasm"] = (imports, done) => {
      // A foreign module fails in `done`, where its exports are looked for.
      WebAssembly.instantiate(module, imports)
        .then((instance) => {
          parts = { instance, imports };
          done(instance, module);
        })
        .catch(reject);
      return {};
    };
    create({ instantiateWasm }).then((raw) => resolve({ raw, ...parts }), reject);
  }).catch((error: unknown) => {
    throw unavailable(name, `${name} cannot be started: ${wordsOf(error)}`, error);
  });
}

/** Only who asks for threads fetches it. */
async function threadsGlue(): Promise<typeof createModule> {
  const { href } = threadsGlueAddress();
  const glue = await import(/* @vite-ignore */ href).catch((error: unknown) => {
    throw unavailable(href, `${href} cannot be loaded: ${wordsOf(error)}`, error);
  });
  return glue.default;
}

/**
 * An instance of the module that runs models, and its threads but the first; above one thread, `module` is one with
 * threads. Errors: wasm_unavailable, out_of_memory.
 */
export async function startModel(
  module: WebAssembly.Module,
  numThreads: number,
  startThread: StartThread,
): Promise<{ raw: RawModule; threads: readonly Thread[] }> {
  const name = "relata.wasm";
  // One for several threads is given their memory. What imports nothing is no build of ours at all.
  const kinds = WebAssembly.Module.imports(module).map(({ kind }) => kind);
  if (kinds.length > 0 && kinds.includes("memory") !== numThreads > 1) {
    const found = numThreads > 1 ? "one thread" : "several threads";
    throw unavailable(name, `${name} is a build for ${found}, and threads is ${numThreads}`);
  }
  if (numThreads === 1) return { raw: (await start(createModule, module, name)).raw, threads: [] };
  const { raw, instance, imports } = await start(await threadsGlue(), module, name);
  const memory = Object.values(imports)
    .flatMap((from) => Object.values(from))
    .find((value) => value instanceof WebAssembly.Memory) as WebAssembly.Memory;
  const threads = await startThreads(
    raw,
    { module, memory, instance },
    numThreads,
    startThread,
  ).catch((error: unknown) => {
    if (error instanceof RelataError) throw error;
    throw unavailable("threads", `threads cannot be started: ${wordsOf(error)}`, error);
  });
  return { raw, threads };
}

/** The bytes of a module at an address. */
export type BytesOf = (address: URL) => Promise<ArrayBuffer | Uint8Array>;

/** An instance of the module of readers, fetched by those who need it. Error: wasm_unavailable. */
export async function startReaders(bytesOf: BytesOf): Promise<RawReaders> {
  const [glue, bytes] = await Promise.all([import("./wasm/readers.js"), bytesOf(readersAddress())]);
  const name = "readers.wasm";
  return (await start(glue.default, await compileCore(bytes, name), name)).raw;
}

function unavailable(where: string, message: string, cause?: unknown): RelataError {
  return new RelataError("wasm_unavailable", where, message, cause);
}
