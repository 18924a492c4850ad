// The worker's side and the page's side of it, on a thread of Node that stands in for a browser's worker.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Worker as Thread } from "node:worker_threads";
import { Model, RelataError } from "relata";
import { errorOf, filesOf, goldenJson, serveFiles, withServer } from "./fixtures.mjs";

const files = filesOf("t5-gated-untied");
const texts = goldenJson("t5-gated-untied").texts;
const [first, second] = texts;

/** A browser's worker: module code, postMessage and onmessage on the global scope, no Node modules of its own. */
class BrowserWorker {
  static opened = 0;
  static steps = 0;
  #thread;
  constructor(address, { type }) {
    assert.equal(type, "module");
    BrowserWorker.opened += 1;
    const code = `
      import { readFileSync } from "node:fs";
      import { parentPort } from "node:worker_threads";
      globalThis.postMessage = (message, transfer) => parentPort.postMessage(message, transfer);
      // Node's fetch knows no file addresses.
      const { fetch } = globalThis;
      globalThis.fetch = async (address, options) => {
        const url = new URL(address);
        return url.protocol === "file:" ? new Response(readFileSync(url)) : fetch(address, options);
      };
      await import(${JSON.stringify(address.href)});
      // Messages wait until the module has run.
      parentPort.on("message", (data) => globalThis.onmessage({ data }));`;
    this.#thread = new Thread(new URL(`data:text/javascript,${encodeURIComponent(code)}`));
    this.#thread.on("message", (data) => {
      if (data.type === "steps") BrowserWorker.steps += data.steps.length;
      this.onmessage?.({ data });
    });
    this.#thread.on("error", (error) => this.onerror?.({ message: error.message }));
  }
  postMessage(message) {
    this.#thread.postMessage(message);
  }
  terminate() {
    BrowserWorker.opened -= 1;
    void this.#thread.terminate();
  }
}

let model;
/** Never ends a text of its own accord. */
let endless;
before(async () => {
  globalThis.Worker = BrowserWorker;
  model = await Model.load(files, { worker: true });
  endless = await Model.load(filesOf("shaw"), { worker: true });
});
after(() => {
  model.dispose();
  endless.dispose();
  delete globalThis.Worker;
});

test("the same results as in place", async () => {
  const inPlace = await Model.load(files);
  assert.deepEqual(model.info, inPlace.info);
  const options = { trace: { kinds: ["encoder_self", "cross"] } };
  const [there, here] = [
    await model.run(first.text, options),
    await inPlace.run(first.text, options),
  ];
  assert.deepEqual({ ...there, stats: null }, { ...here, stats: null });
  assert.ok(there.trace[0].weights instanceof Float32Array);
  assert.deepEqual(await model.score(first.text, "dog"), await inPlace.score(first.text, "dog"));
  assert.deepEqual(await model.attend(first.text, "dog"), await inPlace.attend(first.text, "dog"));
  assert.deepEqual(await model.tokenize(first.text), await inPlace.tokenize(first.text));
  inPlace.dispose();
});

test("steps stream, several texts at once", async () => {
  const results = await Promise.all(
    texts.map(async ({ text }) => {
      let joined = "";
      for await (const step of model.generate(text)) joined += step.text;
      return joined;
    }),
  );
  assert.deepEqual(
    results,
    texts.map(({ generated_text }) => generated_text),
  );
});

test("aborting and leaving, then the next call is right", async () => {
  const reason = new Error("enough");
  assert.equal(await errorOf(model.run(first.text, { signal: AbortSignal.abort(reason) })), reason);
  const controller = new AbortController();
  const pending = endless.run("the dog runs", {
    maxNewTokens: 100_000,
    signal: controller.signal,
  });
  setImmediate(() => controller.abort(reason));
  assert.equal(await errorOf(pending), reason);
  for await (const _ of model.generate(first.text)) break;
  assert.equal((await model.run(second.text)).text, second.generated_text);
});

test("leaving a long text stops the work behind it", async () => {
  for await (const _ of endless.generate("the dog runs", { maxNewTokens: 100_000 })) break;
  // The worker answers in order: what it had to say before the cancel has come.
  await endless.tokenize("dog");
  const steps = BrowserWorker.steps;
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(BrowserWorker.steps, steps);
});

test("searches of many texts, constraints that are asked for here, encodings", async () => {
  const inPlace = await Model.load(files);
  const bare = ({ stats, ...result }) => result;
  const both = async (call) => [await call(model), await call(inPlace)];
  const asked = { model: [], inPlace: [] };
  const options = {
    ...{ numBeams: 3, numReturnSequences: 2, maxNewTokens: 8, targetPrefix: [[3], [99], [4]] },
  };
  const given = [first.text, second.text, first.text];
  const [there, here] = await both((one) => one.run(given, options));
  assert.deepEqual(there.map(bare), here.map(bare));
  assert.ok(there[1].error instanceof RelataError && there[1].error.code === "input_invalid");
  const [allowedThere, allowedHere] = await both((one) => {
    const allowedTokens = async (prefixIds, item) => {
      asked[one === model ? "model" : "inPlace"].push([item, ...prefixIds]);
      return prefixIds.length < 4 ? [5, 6, 7] : [2];
    };
    return one.run(given, { allowedTokens, numBeams: 2 });
  });
  assert.deepEqual(allowedThere.map(bare), allowedHere.map(bare));
  assert.deepEqual(asked.model, asked.inPlace);
  assert.equal(allowedThere[0].tokens.length, 5);
  const mine = new Error("mine");
  const allowedTokens = () => {
    throw mine;
  };
  assert.equal(await errorOf(model.run(first.text, { allowedTokens })), mine);
  const samples = { doSample: true, seed: 8, numReturnSequences: 2, maxNewTokens: 9 };
  assert.deepEqual(...(await both(async (one) => bare(await one.run(first.text, samples)))));
  assert.deepEqual(...(await both((one) => one.encode(first.text, { pooling: "mean" }))));
  let streamed = "";
  for await (const piece of model.stream(first.text)) streamed += piece;
  assert.equal(streamed, first.generated_text);
  inPlace.dispose();
});

test("errors arrive with code and place", async () => {
  const error = await errorOf(model.score("", "dog"));
  assert.ok(error instanceof RelataError);
  assert.deepEqual([error.code, error.where], ["input_invalid", "source"]);
  assert.equal((await errorOf(model.run("dog", { maxNewTokens: 0 }))).code, "option_invalid");
});

test("loading: an address, progress, a failure and an abort leave no worker behind", async () => {
  const opened = BrowserWorker.opened;
  await withServer(serveFiles(files), async (address) => {
    const calls = [];
    const onProgress = (progress) => calls.push(progress);
    const other = await Model.load(address, { worker: true, onProgress });
    assert.equal((await other.run(first.text)).text, first.generated_text);
    assert.equal(calls.at(-1).loaded, calls.at(-1).total);
    other.dispose();
    assert.equal(
      (await errorOf(Model.load(`${address}/`, { worker: true, signal: AbortSignal.abort() })))
        .name,
      "AbortError",
    );
    const controller = new AbortController();
    const aborting = Model.load(address, {
      worker: true,
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    assert.equal((await errorOf(aborting)).name, "AbortError");
  });
  const { "config.json": _none, ...rest } = files;
  assert.equal((await errorOf(Model.load(rest, { worker: true }))).code, "file_missing");
  assert.equal(
    (await errorOf(Model.load("http://127.0.0.1:1/", { worker: true }))).code,
    "network",
  );
  assert.equal(
    (await errorOf(Model.load(files, { worker: true, wasm: new Uint8Array(8) }))).code,
    "wasm_unavailable",
  );
  assert.equal(BrowserWorker.opened, opened);
});

test("dispose ends what runs with the error disposed", async () => {
  const other = await Model.load(filesOf("shaw"), { worker: true });
  const running = other.run("the dog runs", { maxNewTokens: 100_000 });
  const generation = other.generate("the dog runs", { maxNewTokens: 100_000 });
  await generation.next();
  other.dispose();
  other.dispose();
  assert.equal((await errorOf(running)).code, "disposed");
  assert.equal((await errorOf(generation.next())).code, "disposed");
  assert.equal((await errorOf(other.run("dog"))).code, "disposed");
});

test("a worker that cannot start is an error, not a wait", async () => {
  class Broken extends BrowserWorker {
    constructor(_address, options) {
      super(new URL("file:///nowhere/worker.js"), options);
    }
  }
  globalThis.Worker = Broken;
  const error = await errorOf(Model.load(files, { worker: true }));
  globalThis.Worker = BrowserWorker;
  assert.equal(error.code, "internal");
  assert.equal(error.where, "worker");
});
