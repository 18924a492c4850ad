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
import {
  errorOf,
  filesOf,
  golden,
  goldenJson,
  moduleOf,
  packageFolder,
  repository,
} from "./fixtures.mjs";

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

/** What a model of some width says of a long text, again and again, with pauses in which threads fall asleep. */
const kLongProgram = `
  import { createHash } from "node:crypto";
  import { setTimeout } from "node:timers/promises";
  import { Model } from "relata";
  const text = "A man in a red jacket is riding a bicycle down the street. ".repeat(16);
  for (const dtype of ["f32", "int8"]) {
    for (const threads of [1, 2, 3]) {
      const model = await Model.load(process.argv[1], { dtype, variant: "baseline", threads });
      const hash = createHash("sha256");
      for (let i = 0; i < 12; i++) {
        const { values } = await model.encode(text);
        hash.update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
        await setTimeout(i);
      }
      const { tokens } = await model.run(text, { maxNewTokens: 8, numBeams: 3 });
      hash.update(JSON.stringify(tokens));
      console.log(dtype, hash.digest("hex"));
      model.dispose();
    }
  }`;

test("a long text: the bits of one thread, whichever of the engine's compilers is at work", () => {
  const folder = join(repository, "models/captions-en-de");
  for (const flags of [["--liftoff-only"], ["--no-liftoff"], []]) {
    const argv = [...flags, "--input-type=module", "--eval", kLongProgram, folder];
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, {
      cwd: packageFolder,
      encoding: "utf8",
    });
    assert.equal(status, 0, stderr.slice(-2000));
    const lines = stdout.trim().split("\n");
    assert.equal(lines.length, 6);
    for (const dtype of ["f32", "int8"])
      assert.equal(new Set(lines.filter((line) => line.startsWith(dtype))).size, 1, stdout);
  }
});

test("threads are a whole number", async () => {
  for (const threads of [0, 1.5, -1, "2", 1e6]) {
    const error = await errorOf(() => Model.load(filesOf("shaw"), { threads }));
    assert.equal(error.code, "option_invalid");
    assert.equal(error.where, "threads");
  }
});

test("a build for one thread where several are asked for, and the other way about, is told", async () => {
  const wasm = (file) => readFileSync(join(packageFolder, "dist/package/wasm", file));
  for (const [file, threads, found] of [
    ["relata.wasm", 2, /a build for one thread, and threads is 2/],
    ["threads/relata.wasm", 1, /a build for several threads, and threads is 1/],
  ]) {
    const error = await errorOf(Model.load(filesOf("shaw"), { wasm: wasm(file), threads }));
    assert.equal(error.code, "wasm_unavailable");
    assert.match(error.message, found);
  }
});

test("a core that nobody holds any more ends its threads", async () => {
  const [{ Core, kWebHost }, { compileCore }] = await Promise.all([
    moduleOf("core.js"),
    moduleOf("wasm-module.js"),
  ]);
  const wasm = readFileSync(join(packageFolder, "dist/package/wasm/threads/relata.wasm"));
  const module = await compileCore(wasm);
  let ended = 0;
  const startThread = async () => ({ terminate: () => ended++ });
  const load = async () =>
    (await Core.instantiate(module, 3, { ...kWebHost, startThread })).numThreads;
  assert.equal(await load(), 3);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  for (let round = 0; round < 100 && ended === 0; round++) {
    collect();
    await setTimeout(10);
  }
  assert.equal(ended, 2);
});

test("where one thread cannot start, the others end, and the error says so", async () => {
  const { compileCore, startModel } = await moduleOf("wasm-module.js");
  const wasm = readFileSync(join(packageFolder, "dist/package/wasm/threads/relata.wasm"));
  const places = new Set();
  let ended = 0;
  const startThread = async ({ place, thread }) => {
    assert.equal(place % 16, 0);
    places.add(place);
    if (thread === 2) throw new Error("no more workers");
    return { terminate: () => ended++ };
  };
  const error = await errorOf(async () => startModel(await compileCore(wasm), 4, startThread));
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
