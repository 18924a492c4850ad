// A model's tensors, asked for by the schema's names: the file's numbers, whatever the file calls them.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Model } from "relata";
import {
  errorOf,
  golden,
  goldenJson,
  largestDifference,
  letterFilesOf,
  readTensors,
} from "./fixtures.mjs";
import { ctranslate2, gguf } from "./format-fixtures.mjs";

const load = (folder, options) => Model.load(letterFilesOf(folder), options);
const stored = (folder) => readTensors(join(golden(folder), "model.safetensors"));

// Those whose file is in 32 bits.
for (const folder of ["shaw", "shaw-per-head", "shaw-keys", "labels-vectors"]) {
  test(`${folder}: every tensor of the file`, async () => {
    const model = await load(folder);
    const tensors = Object.entries(stored(folder));
    assert.ok(tensors.length > 20);
    for (const [name, { shape, data }] of tensors) {
      const read = await model.tensor(name);
      assert.deepEqual([read.name, read.shape], [name, shape]);
      assert.deepEqual([...read.values], data, name);
    }
    model.dispose();
  });
}

test("a T5 by the schema's names, and some rows of it", async () => {
  const model = await load("t5-gated-untied");
  const file = stored("t5-gated-untied");
  for (const [ours, theirs] of [
    ["embedding.weight", "shared.weight"],
    ["lm_head.weight", "lm_head.weight"],
    [
      "encoder.layers.1.self_attention.query.weight",
      "encoder.block.1.layer.0.SelfAttention.q.weight",
    ],
    [
      "decoder.layers.0.cross_attention.output.weight",
      "decoder.block.0.layer.1.EncDecAttention.o.weight",
    ],
    [
      "decoder.layers.1.feed_forward.gate.weight",
      "decoder.block.1.layer.2.DenseReluDense.wi_1.weight",
    ],
    ["encoder.layers.0.feed_forward_norm.weight", "encoder.block.0.layer.1.layer_norm.weight"],
    ["decoder.final_norm.weight", "decoder.final_layer_norm.weight"],
  ]) {
    assert.deepEqual([...(await model.tensor(ours)).values], file[theirs].data, ours);
  }
  const { shape, values } = await model.tensor("encoder.layers.1.self_attention.relation_bias");
  const table = file["encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"];
  assert.deepEqual(shape, [...table.shape].reverse());
  values.forEach((value, at) => {
    const [head, relation] = [Math.floor(at / shape[1]), at % shape[1]];
    // No distance falls into one half's first bucket.
    const isUsed = model.info.relation.encoder_self.ids.includes(relation);
    assert.equal(value, isUsed ? table.data[relation * shape[0] + head] : 0);
  });
  const width = model.info.dModel;
  const rows = await model.tensor("embedding.weight", [3, 0, 3]);
  assert.deepEqual(rows.shape, [3, width]);
  [3, 0, 3].forEach((row, at) => {
    const expected = file["shared.weight"].data.slice(row * width, (row + 1) * width);
    assert.deepEqual([...rows.values.subarray(at * width, (at + 1) * width)], expected);
  });
  model.dispose();
});

test("what the network is, told by the model and not by its file's kind", async () => {
  const network = async (source) => {
    const model = await Model.load(source);
    model.dispose();
    return model.info.network;
  };
  const t5 = await network(letterFilesOf("t5-gated-untied"));
  const config = goldenJson("t5-gated-untied", "config.json");
  assert.deepEqual(
    [t5.norm, t5.normPosition, t5.gated, t5.attentionScale, t5.tiedOutput, t5.positions.type],
    ["rms_norm", "pre", true, 1, false, "none"],
  );
  assert.ok(Math.abs(t5.normEpsilon - config.layer_norm_epsilon) < 1e-9);
  assert.equal((await network(gguf)).norm, "rms_norm");
  const { attentionScale, positions, normPosition } = await network(
    ctranslate2("sinusoidal").files,
  );
  assert.ok(attentionScale > 0 && attentionScale < 1);
  assert.equal(positions.type, "sinusoidal");
  assert.match(normPosition, /^(pre|post)$/);
});

test("in int8 a tensor is what the rounded numbers stand for", async () => {
  const model = await load("shaw", { dtype: "int8" });
  const name = "encoder.layers.0.self_attention.query.weight";
  const { data } = stored("shaw")[name];
  const { values } = await model.tensor(name);
  const reach = data.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const off = largestDifference(values, data);
  assert.ok(off > 0 && off < reach / 50, `${off} of ${reach}`);
  model.dispose();
});

test("names and rows that are not there", async () => {
  const model = await load("shaw");
  for (const name of [
    ...["", "embedding", "embedding.bias", "embedding.weights", "positions.weight", "lm_head.bias"],
    ...["encoder", "encoder.layers", "encoder.layers..self_attention.query.weight"],
    ...[
      "encoder.layers.99.self_attention.query.weight",
      "encoder.layers.0.cross_attention.query.weight",
    ],
    ...[
      "encoder.layers.0.self_attention.relation_bias",
      "encoder.layers.0.feed_forward.gate.weight",
    ],
    ...["encoder.layers.-1.self_attention.query.weight", "encoder.relation_keys"],
    ...["encoder.layers.0.self_attention.query.weight.more", "embedding.weight."],
  ]) {
    const error = await errorOf(model.tensor(name));
    assert.deepEqual([error.code, error.where], ["tensor_missing", name]);
  }
  const rows = await errorOf(model.tensor("embedding.weight", [0, model.info.vocabSize]));
  assert.deepEqual([rows.code, rows.where], ["input_invalid", "rows"]);
  assert.match(rows.message, /no row/);
  const none = await errorOf(model.tensor("embedding.weight", []));
  assert.deepEqual([none.code, none.where], ["input_invalid", "rows"]);
  // biome-ignore lint/suspicious/noSparseArray: a hole is no row.
  const hole = await errorOf(model.tensor("embedding.weight", [, 1]));
  assert.equal(hole.where, "rows[0]");
  assert.equal((await errorOf(model.tensor("embedding.weight", [-1]))).code, "option_invalid");
  assert.equal((await errorOf(model.tensor(7))).code, "input_invalid");
  model.dispose();
  assert.equal((await errorOf(model.tensor("embedding.weight"))).code, "disposed");
});
