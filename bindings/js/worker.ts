// The worker's side: hosts one engine and answers messages. Calls run side by side; steps are posted at every turn.

import { Core } from "./core.js";
import { Engine } from "./engine.js";
import { RelataError } from "./errors.js";
import { fetchFolder } from "./fetched.js";
import type { Ask, CallRequest, Method, Reply, Request, Results } from "./protocol.js";
import { folderOf } from "./source.js";
import { turn } from "./turn.js";
import type { AttentionTrace, Step } from "./types.js";
import { wasmBytes } from "./wasm-bytes.js";
import { compileCore } from "./wasm-module.js";

/** What this file uses of a worker's global scope. */
interface Scope {
  postMessage(message: Reply, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent<Request>) => void) | null;
}
const scope = globalThis as unknown as Scope;
const running = new Map<number, AbortController>();
/** Who waits for allowed tokens. */
const asking = new Map<number, (allowed: Awaited<ReturnType<Ask>>) => void>();
let engine: Engine | undefined;

function post(reply: Reply, transfer: Transferable[] = []): void {
  scope.postMessage(reply, transfer);
}

function postFailure(id: number, error: unknown): void {
  const { code, where, message } = RelataError.from(error);
  post({ type: "failed", id, failure: { code, where, message } });
}

async function load({
  source,
  wasm,
  dtype,
  numThreads,
}: Extract<Request, { type: "load" }>): Promise<void> {
  const module = await compileCore(typeof wasm === "string" ? await wasmBytes(wasm) : wasm);
  const folder =
    typeof source === "string" || source instanceof URL
      ? fetchFolder(new URL(source))
      : folderOf(source);
  const onProgress = (progress: Extract<Reply, { type: "progress" }>["progress"]) =>
    post({ type: "progress", progress });
  engine = await Engine.load(await Core.instantiate(module, numThreads), folder, dtype, {
    onProgress,
  });
  post({ type: "loaded", info: engine.info });
}

/** The arrays of a result go over without a copy: nobody here keeps them. */
function buffersOf(result: Results[Method]): Transferable[] {
  const parts = Array.isArray(result) ? result : [result];
  const arrays = parts.flatMap((part) => [
    part.values,
    ...(part.trace ?? []).flatMap((head: AttentionTrace) => [
      head.weights,
      head.contentScores,
      head.relationScores,
    ]),
  ]);
  return arrays.flatMap((array) =>
    array instanceof Float32Array ? [array.buffer as ArrayBuffer] : [],
  );
}

async function call<M extends Method>({ id, method, args }: CallRequest<M>): Promise<void> {
  const controller = new AbortController();
  running.set(id, controller);
  // A message a turn, not one a step: steps may be much shorter than turns.
  let waiting: Step[] = [];
  const postSteps = () => {
    if (waiting.length === 0 || controller.signal.aborted) return;
    post({ type: "steps", id, steps: waiting });
    waiting = [];
  };
  try {
    if (engine === undefined)
      throw new RelataError("internal", "worker", "a call came before the model");
    const ask: Ask = (open) =>
      new Promise((resolve) => {
        asking.set(id, resolve);
        postSteps();
        post({ type: "ask", id, open });
      });
    const steps = engine.call(method, args, { signal: controller.signal, ask });
    for (;;) {
      const { done, value } = await steps.next();
      if (done) {
        postSteps();
        post({ type: "done", id, result: value }, buffersOf(value));
        return;
      }
      if (waiting.push(value) === 1) void turn().then(postSteps);
    }
  } catch (error) {
    // Whoever cancelled no longer listens.
    postSteps();
    if (!controller.signal.aborted) postFailure(id, error);
  } finally {
    running.delete(id);
    asking.delete(id);
  }
}

scope.onmessage = ({ data: request }) => {
  if (request.type === "load") load(request).catch((error: unknown) => postFailure(0, error));
  else if (request.type === "call") void call(request);
  else {
    if (request.type === "cancel") running.get(request.id)?.abort();
    asking.get(request.id)?.(request.type === "allow" ? request.allowed : []);
  }
};
