// Several threads on one step: the same bits as one, whatever they are asked for.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Model } from "relata";
import { errorOf, filesOf, golden, goldenJson, moduleOf, packageFolder } from "./fixtures.mjs";

const { texts } = goldenJson("t5-gated-untied");

/** Everything a model says about some texts that could tell one bit. */
async function answers(options) {
  const model = await Model.load(golden("t5-gated-untied"), options);
  try {
    const [first] = texts;
    const { score, tokens } = await model.run(first.text, { maxNewTokens: 12 });
    const beams = await model.run(first.text, { maxNewTokens: 12, numBeams: 3 });
    const forced = await model.score(first.text, first.text);
    return { score, tokens, beams: beams.tokens, forced: forced.tokens };
  } finally {
    model.dispose();
  }
}

test("two threads and three give the bits of one", async () => {
  for (const dtype of ["f32", "int8"]) {
    const alone = await answers({ dtype, variant: "baseline" });
    for (const threads of [2, 3])
      assert.deepEqual(await answers({ dtype, variant: "baseline", threads }), alone);
  }
});

test("threads are a whole number", async () => {
  for (const threads of [0, 1.5, -1, "2", 1e6]) {
    const error = await errorOf(() => Model.load(filesOf("shaw"), { threads }));
    assert.equal(error.code, "option_invalid");
    assert.equal(error.where, "threads");
  }
});

/** The module with threads, which startThread starts. */
async function start(numThreads, startThread) {
  const { compileCore, startModel } = await moduleOf("wasm-module.js");
  const wasm = readFileSync(join(packageFolder, "dist/package/wasm/threads/relata.wasm"));
  return startModel(await compileCore(wasm), numThreads, startThread);
}

test("a thread's memory is its own as long as the threads are held", async () => {
  const places = [];
  const startThread = async ({ place, bytes }) => {
    places.push([place, place + bytes]);
    return { terminate() {} };
  };
  const { raw, threads } = await start(4, startThread);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  for (let round = 0; round < 5; round++) {
    collect();
    await setTimeout(20);
  }
  for (let i = 0; i < 8; i++) {
    const { byteOffset, length } = raw.Bytes.allocate(1 << 17).view();
    for (const [begin, end] of places)
      assert.ok(byteOffset + length <= begin || byteOffset >= end, `${byteOffset} of ${begin}`);
  }
  assert.equal(threads.length, 3);
});

test("where one thread cannot start, the others end, and the error says so", async () => {
  const places = new Set();
  let ended = 0;
  const startThread = async ({ place, thread }) => {
    assert.equal(place % 16, 0);
    places.add(place);
    if (thread === 2) throw new Error("no more workers");
    return { terminate: () => ended++ };
  };
  const error = await errorOf(() => start(4, startThread));
  assert.equal(error.code, "wasm_unavailable");
  assert.equal(error.where, "threads");
  assert.match(error.message, /no more workers/);
  assert.equal(places.size, 3);
  assert.equal(ended, 2);
});

test("a program with a threaded model that it does not dispose of ends", () => {
  const program = `
    import { Model } from "relata";
    const model = await Model.load(${JSON.stringify(golden("t5-gated-untied"))}, { threads: 3 });
    console.log((await model.run("one", { maxNewTokens: 2 })).tokens.length);`;
  const argv = ["--input-type=module", "--eval", program];
  const { status, stdout } = spawnSync(process.execPath, argv, {
    cwd: packageFolder,
    encoding: "utf8",
    timeout: 60_000,
  });
  assert.equal(stdout, "2\n");
  assert.equal(status, 0);
});
