// Folders whose weights are in 8 bits: `relata convert --dtype int8` writes what loading rounds to, to the bit; they run as they are
// unless floats are asked for; and nothing in them is believed unchecked.

import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Model } from "relata";
import {
  errorOf,
  filesOf,
  golden,
  goldenJson,
  lettersOf,
  letterTokenizer,
  readTensors,
  relata,
  withFolder,
} from "./fixtures.mjs";
import { ctranslate2, gguf, ggufCases } from "./format-fixtures.mjs";

function converts(source, out, dtype) {
  const argv = ["convert", source, out, "--dtype", dtype];
  const { status, stderr } = relata(argv);
  assert.deepEqual([status, stderr], [0, ""]);
  return out;
}

/** What a model makes of some texts, to the bit. */
async function outputs(source, texts, options) {
  const model = await Model.load(source, options);
  try {
    const found = [];
    for (const [text, target] of texts) {
      const { values } = await model.encode(text);
      const { tokens } = await model.score(text, target);
      const { tokens: written } = await model.run(text, { maxNewTokens: 6 });
      const bits = (list) => list.map(({ id, logProbability }) => [id, logProbability]);
      found.push([Array.from(values), bits(tokens), bits(written)]);
    }
    return { found, bytes: model.info.weightBytes };
  } finally {
    model.dispose();
  }
}

const wordsOf = (name) => goldenJson(name).texts.map(({ text }) => [text, text]);
const lettersFrom = (name) =>
  goldenJson(name).cases.map(({ source_ids, greedy_ids }) => [
    lettersOf(source_ids),
    greedy_ids.slice(0, 5),
  ]);

/** Folders of every kind, each with texts. */
async function withSources(use) {
  await withFolder({ "t5.gguf": gguf }, async (folder) => {
    await use(
      "gguf",
      folder,
      ggufCases.slice(0, 3).map(({ text }) => [text, text]),
    );
  });
  const { files, cases } = ctranslate2("shaw-float16");
  await withFolder(files, async (folder) => {
    const texts = cases.filter(({ text }) => text !== "").slice(0, 3);
    await use(
      "ctranslate2",
      folder,
      texts.map(({ text }) => [text, text]),
    );
  });
  for (const name of ["shaw", "t5-gated-untied"]) await use(name, golden(name), wordsOf(name));
  for (const name of ["mt5-sharded", "umt5"]) {
    await withFolder({}, async (folder) => {
      const from = join(folder, name);
      cpSync(golden(name), from, { recursive: true });
      writeFileSync(join(from, "tokenizer.json"), letterTokenizer());
      await use(name, from, lettersFrom(name === "umt5" ? name : "mt5"));
    });
  }
}

test("a converted folder gives the bits that rounding while loading gives, from every kind of file", async () => {
  const seen = [];
  await withSources(async (name, source, texts) => {
    assert.ok(texts.length > 0, name);
    await withFolder({}, async (folder) => {
      const from = name === "gguf" ? join(source, "t5.gguf") : source;
      const rounded = await outputs(from, texts, { dtype: "int8" });
      const out = converts(from, join(folder, "int8"), "int8");
      const kept = await outputs(out, texts);
      assert.deepEqual(kept, rounded, name);
      assert.deepEqual(await outputs(out, texts, { dtype: "int8" }), rounded, name);
      const floats = await outputs(from, texts, { dtype: "f32" });
      assert.notDeepEqual(floats.found, rounded.found, name);
      // Converted again it is the same, and in floats it is the values that the integers stand for.
      const again = converts(out, join(folder, "again"), "int8");
      const tensorsIn = (place) => readTensors(join(place, "model.safetensors"));
      assert.deepEqual(tensorsIn(again), tensorsIn(out), name);
      const asFloats = await outputs(out, texts, { dtype: "f32" });
      assert.ok(asFloats.bytes > 2 * kept.bytes, name);
      const widened = converts(out, join(folder, "f32"), "f32");
      assert.deepEqual(await outputs(widened, texts), asFloats, name);
    });
    seen.push(name);
  });
  assert.equal(seen.length, 6);
});

test("the file: integers, a scale a row and a reach a column, floats before integers", async () => {
  await withFolder({}, async (folder) => {
    const out = converts(golden("shaw"), join(folder, "int8"), "int8");
    const tensors = readTensors(join(out, "model.safetensors"));
    const source = readTensors(join(golden("shaw"), "model.safetensors"));
    const { weights } = JSON.parse(readFileSync(join(out, "config.json"), "utf8"))
      .quantization_config.config_groups.group_0;
    assert.deepEqual([weights.strategy, weights.levelled], ["channel", true]);
    let matrices = 0;
    for (const [name, { shape, data }] of Object.entries(source)) {
      const scales = tensors[`${name}_scale`];
      if (scales === undefined) {
        assert.deepEqual(tensors[name].data, data, name);
        continue;
      }
      matrices++;
      const reach = tensors[`${name}_reach`];
      const [rows, cols] = shape;
      assert.deepEqual(
        [scales.shape, reach.shape],
        [
          [rows, 1],
          [1, cols],
        ],
      );
      // Half a step of the row and column is the most that rounding takes, and a reach the largest of its column, each
      // against the largest of its row.
      for (let i = 0; i < rows; i++) {
        for (let k = 0; k < cols; k++) {
          const step = scales.data[i] * reach.data[k];
          const value = tensors[name].data[i * cols + k] * step;
          assert.ok(Math.abs(value - data[i * cols + k]) <= 0.5001 * step, `${name} [${i}, ${k}]`);
        }
      }
      const column = Array.from({ length: rows }, (_, i) => {
        const row = data.slice(i * cols, (i + 1) * cols).map(Math.abs);
        return Math.fround(row[0] / Math.max(...row));
      });
      assert.equal(reach.data[0], Math.max(...column));
    }
    assert.ok(matrices > 10);
    const bytes = readFileSync(join(out, "model.safetensors"));
    const header = JSON.parse(bytes.toString("utf8", 8, 8 + Number(bytes.readBigUInt64LE(0))));
    const order = Object.values(header).flatMap(({ dtype }) => dtype ?? []);
    assert.ok(order.lastIndexOf("F32") < order.indexOf("I8"));
  });
});

test("a damaged folder of 8 bits is refused by name", async () => {
  await withFolder({}, async (folder) => {
    const out = converts(golden("shaw"), join(folder, "int8"), "int8");
    const files = Object.fromEntries(
      ["config.json", "generation_config.json", "tokenizer.json", "model.safetensors"].map(
        (name) => [name, new Uint8Array(readFileSync(join(out, name)))],
      ),
    );
    const bytes = files["model.safetensors"];
    const start = 8 + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
    const [name] = Object.entries(header).find(([, { dtype }]) => dtype === "I8");
    const failure = async (tensor, at, value) => {
      const copy = bytes.slice();
      const place = start + header[tensor].data_offsets[0] + at;
      if (tensor === name) copy[place] = value;
      else new DataView(copy.buffer).setFloat32(place, value, true);
      return errorOf(Model.load({ ...files, "model.safetensors": copy }));
    };
    for (const [tensor, at, value] of [
      [name, 3, 0x80],
      [`${name}_scale`, 0, Number.NaN],
      [`${name}_reach`, 4, Number.POSITIVE_INFINITY],
    ]) {
      const { code, where } = await failure(tensor, at, value);
      assert.deepEqual([code, where], ["tensor_invalid", `model.safetensors: ${tensor}`]);
    }
    // Each alone is a number, and no value that they make together is.
    const { code, where } = await errorOf(async () => {
      const copy = bytes.slice();
      const view = new DataView(copy.buffer);
      for (const ending of ["_scale", "_reach"])
        view.setFloat32(start + header[name + ending].data_offsets[0], 1e30, true);
      await Model.load({ ...files, "model.safetensors": copy });
    });
    assert.deepEqual([code, where], ["tensor_invalid", `model.safetensors: ${name}`]);
  });
});

test("what is in floats runs in floats where nothing else is asked for", async () => {
  const [plain, floats] = [
    await Model.load(filesOf("shaw")),
    await Model.load(filesOf("shaw"), { dtype: "f32" }),
  ];
  assert.equal(plain.info.weightBytes, floats.info.weightBytes);
  plain.dispose();
  floats.dispose();
});
