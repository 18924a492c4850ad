// Memory comes back: rounds of load, generate, dispose, in one heap and in many.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Model } from "relata";
import { errorOf, filesOf, goldenJson, moduleOf, packageFolder } from "./fixtures.mjs";

const files = filesOf("t5-gated-untied");
const [{ text, generated_text }] = goldenJson("t5-gated-untied").texts;

const { searchOf } = await moduleOf("search-options.js");
const { relationOf } = await moduleOf("relation-options.js");
const { alteration } = relationOf({}, {});
const { alteration: off } = relationOf({ switch: "off" }, {});

/** A core that counts its buffers, of which none may be left. */
async function countingCore() {
  const [{ Core }, { compileCore }] = await Promise.all([
    moduleOf("core.js"),
    moduleOf("wasm-module.js"),
  ]);
  const wasm = readFileSync(join(packageFolder, "dist/package/wasm/relata.wasm"));
  const core = await Core.instantiate(await compileCore(new Uint8Array(wasm)));
  let alive = 0;
  for (const name of ["bytes", "ints"]) {
    const make = core[name].bind(core);
    core[name] = (argument) => {
      const buffer = make(argument);
      const free = buffer.delete.bind(buffer);
      alive += 1;
      buffer.delete = () => {
        alive -= 1;
        free();
      };
      return buffer;
    };
  }
  const heapBytes = () => {
    const probe = core.bytes(1);
    const size = probe.view().buffer.byteLength;
    probe.delete();
    return size;
  };
  return { core, heapBytes, alive: () => alive };
}

test("thirty rounds in one heap: it does not grow after the second", async () => {
  const [{ Engine }, { folderOf }] = await Promise.all([
    moduleOf("engine.js"),
    moduleOf("source.js"),
  ]);
  const { core, heapBytes, alive } = await countingCore();
  // Loads that fail and texts that are left halfway take part.
  const cut = { ...files, "model.safetensors": files["model.safetensors"].slice(0, -1) };
  const badTokenizer = { ...files, "tokenizer.json": new TextEncoder().encode("{}") };
  const round = async () => {
    assert.equal((await errorOf(Engine.load(core, folderOf(cut), "f32", {}))).code, "file_damaged");
    assert.equal(
      (await errorOf(Engine.load(core, folderOf(badTokenizer), "f32", {}))).code,
      "tokenizer_invalid",
    );
    const controller = new AbortController();
    const onProgress = () => controller.abort();
    await errorOf(
      Engine.load(core, folderOf(files), "f32", { signal: controller.signal, onProgress }),
    );
    const engine = await Engine.load(core, folderOf(files), "f32", {});
    const trace = { kinds: ["encoder_self", "decoder_self", "cross"], layers: [], heads: [] };
    const args = {
      texts: [text],
      search: searchOf({}, engine.info, null),
      trace,
      labels: [null],
      alteration,
    };
    const whole = engine.call("generate", args);
    let next = await whole.next();
    while (!next.done) next = await whole.next();
    assert.equal(next.value[0].text, generated_text);
    const halfway = engine.call("generate", args);
    await halfway.next();
    await halfway.return();
    await engine.call("generate", args).next();
    const pass = { startId: null, maxSourceTokens: 0, trace, labels: null, alteration: off };
    await engine.call("force", { source: text, target: "dog", ...pass }).next();
    engine.dispose();
    // A block as large as the weights fits where the model was.
    const blocks = [core.bytes(1 << 20), core.bytes(1 << 20)];
    for (const block of blocks) block.delete();
    assert.equal(alive(), 0);
    return heapBytes();
  };
  const sizes = [];
  for (let i = 0; i < 30; i++) sizes.push(await round());
  assert.ok(
    sizes[29] <= sizes[1] * 1.05,
    `${sizes[1]} bytes after round 2, ${sizes[29]} after round 30`,
  );
});

test("texts of one model, finished, left and failed: the heap does not grow after the second", async () => {
  const [{ Engine }, { folderOf }] = await Promise.all([
    moduleOf("engine.js"),
    moduleOf("source.js"),
  ]);
  const { core, heapBytes, alive } = await countingCore();
  const engine = await Engine.load(core, folderOf(files), "f32", {});
  // Room for so many tokens is about a megabyte a text.
  const args = {
    ...{ texts: [text], trace: null, labels: [null], alteration },
    search: searchOf({ maxNewTokens: 10_000 }, engine.info, null),
  };
  const sizes = [];
  for (let i = 0; i < 30; i++) {
    const halfway = engine.call("generate", args);
    await halfway.next();
    await halfway.return();
    const whole = engine.call("generate", args);
    while (!(await whole.next()).done);
    for (const [changed, code] of [
      [{ labels: [new Int32Array(1)] }, "option_invalid"],
      [{ search: { ...args.search, core: { max_new_tokens: 2 ** 31 - 1 } } }, "option_invalid"],
    ]) {
      const failing = engine.call("generate", { ...args, ...changed });
      const ended = await failing.next().catch((error) => ({ value: [{ error }] }));
      assert.equal(ended.value[0].error.code, code);
    }
    assert.equal(alive(), 0);
    sizes.push(heapBytes());
  }
  engine.dispose();
  assert.ok(
    sizes[29] <= sizes[1] * 1.05,
    `${sizes[1]} bytes after round 2, ${sizes[29]} after round 30`,
  );
});

test("a heap of its own for each model, given back to the system", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  const used = async () => {
    for (let i = 0; i < 3; i++) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const { heapUsed, external, arrayBuffers } = process.memoryUsage();
    return heapUsed + external + arrayBuffers;
  };
  const sizes = [];
  for (let i = 0; i < 30; i++) {
    const model = await Model.load(files);
    assert.equal((await model.run(text)).text, generated_text);
    model.dispose();
    model.dispose();
    if (i === 1 || i === 29) sizes.push(await used());
  }
  assert.ok(
    sizes[1] <= sizes[0] * 1.05,
    `${sizes[0]} bytes after round 2, ${sizes[1]} after round 30`,
  );
});

test("the memory that threads share goes with the model", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  const { Memory } = WebAssembly;
  const memories = [];
  WebAssembly.Memory = class extends Memory {
    constructor(...given) {
      super(...given);
      memories.push(new WeakRef(this));
    }
  };
  try {
    for (let i = 0; i < 6; i++) {
      const model = await Model.load(files, { threads: 2 });
      assert.equal((await model.run(text)).text, generated_text);
      model.dispose();
    }
  } finally {
    WebAssembly.Memory = Memory;
  }
  assert.equal(memories.length, 6);
  const left = () => memories.filter((memory) => memory.deref() !== undefined).length;
  // Threads end in their own time; the last memory may be on the stack.
  for (let i = 0; i < 200 && left() > 1; i++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    collect();
  }
  assert.ok(left() <= 1, `${left()} of 6 memories are left`);
});

test("after a trap every call says so, and nothing hangs", async () => {
  const { core } = await countingCore();
  const trap = () => {
    throw new WebAssembly.RuntimeError("unreachable");
  };
  for (let i = 0; i < 2; i++) {
    const error = await errorOf(() => core.run(trap));
    assert.equal(error.code, "internal");
    assert.match(error.message, /unreachable/);
  }
});
