// What a model tells of itself: its description, its attention, the labels it takes; all of it copies.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Model } from "relata";
import {
  codeOf,
  errorOf,
  filesOf,
  golden,
  goldenJson,
  largestDifference,
  letterFilesOf,
  lettersOf,
  readTensors,
} from "./fixtures.mjs";

const texts = goldenJson("t5-gated-untied").texts;
const [first, second] = texts;
let model;
before(async () => {
  model = await Model.load(golden("t5-gated-untied"));
});
after(() => model.dispose());

test("the model describes itself", () => {
  const { info } = model;
  const config = JSON.parse(readFileSync(join(golden("t5-gated-untied"), "config.json"), "utf8"));
  assert.equal(info.modelType, "t5");
  assert.deepEqual(
    [
      info.vocabSize,
      info.dModel,
      info.dFf,
      info.numHeads,
      info.headDim,
      info.numEncoderLayers,
      info.numDecoderLayers,
    ],
    [
      config.vocab_size,
      config.d_model,
      config.d_ff,
      config.num_heads,
      config.d_kv,
      config.num_layers,
      config.num_decoder_layers,
    ],
  );
  const { encoder_self, decoder_self } = info.relation;
  assert.deepEqual([encoder_self.index, encoder_self.effect], ["bucketed_distance", "bias"]);
  assert.equal(encoder_self.numRelations, config.relative_attention_num_buckets);
  // Distance 0 is bucket 0; the first distance to the future is the second half's first that is used.
  const id = (relation, distance) => relation.ids[distance - relation.firstDistance];
  assert.deepEqual([id(encoder_self, 0), id(encoder_self, -1), id(encoder_self, 1)], [0, 1, 7]);
  assert.deepEqual([id(decoder_self, 0), id(decoder_self, -1), id(decoder_self, -2)], [0, 1, 2]);
  const elements = info.tensors.reduce(
    (sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1),
    0,
  );
  assert.equal(
    info.tensors.reduce((sum, { bytes }) => sum + bytes, 0),
    4 * elements,
  );
  assert.ok(info.weightBytes >= 4 * (elements - 2 * config.vocab_size * config.d_model));
});

test("a shaw model describes its relation", async () => {
  const shaw = await Model.load(filesOf("shaw"));
  const relation = shaw.info.relation.encoder_self;
  assert.deepEqual(
    [relation.index, relation.effect, relation.numRelations],
    ["clipped_distance", "vectors", 9],
  );
  assert.deepEqual([relation.keys, relation.values, relation.firstDistance], [true, true, -4]);
  assert.deepEqual([...relation.ids], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  shaw.dispose();
});

test("attention: rows sum to one, and the softmax of content plus relation is the weights", async () => {
  const { trace, source, target } = await model.attend(first.text, second.text);
  const { info } = model;
  assert.equal(trace.length, info.numHeads * (info.numEncoderLayers + 2 * info.numDecoderLayers));
  const order = ["encoder_self", "decoder_self", "cross"];
  const ranks = trace.map(
    ({ kind, layer, head }) => 10000 * order.indexOf(kind) + 100 * layer + head,
  );
  assert.deepEqual(ranks, ranks.toSorted?.((a, b) => a - b) ?? [...ranks].sort((a, b) => a - b));
  for (const head of trace) {
    const [queries, keys] = [head.queryTokens.length, head.keyTokens.length];
    assert.deepEqual(head.queryTokens, head.kind === "encoder_self" ? source : target);
    assert.deepEqual(head.keyTokens, head.kind === "decoder_self" ? target : source);
    assert.equal(head.relationScores === null, head.kind === "cross");
    for (let i = 0; i < queries; i++) {
      const visible = head.kind === "decoder_self" ? i + 1 : keys;
      const row = (values) => Array.from(values.subarray(i * keys, (i + 1) * keys));
      const weights = row(head.weights);
      assert.ok(Math.abs(weights.reduce((sum, weight) => sum + weight, 0) - 1) < 1e-5);
      const content = row(head.contentScores);
      const relation =
        head.relationScores === null ? content.map(() => 0) : row(head.relationScores);
      const scores = content.map((score, j) => score + relation[j]).slice(0, visible);
      const largest = Math.max(...scores);
      const exps = scores.map((score) => Math.exp(score - largest));
      const sum = exps.reduce((a, b) => a + b);
      assert.ok(
        largestDifference(
          weights.slice(0, visible),
          exps.map((value) => value / sum),
        ) < 1e-5,
      );
      for (const hidden of [weights, content, relation])
        assert.ok(hidden.slice(visible).every((cell) => cell === 0));
    }
  }
});

test("a trace asks for kinds, layers and heads, and changes no probability", async () => {
  const plain = await model.run(first.text);
  assert.deepEqual(plain.trace, []);
  const traced = await model.run(first.text, {
    trace: { kinds: ["cross", "decoder_self"], layers: [1], heads: [2, 0] },
  });
  assert.deepEqual(traced.tokens, plain.tokens);
  assert.deepEqual(
    traced.trace.map(({ kind, layer, head }) => [kind, layer, head]),
    [
      ["decoder_self", 1, 0],
      ["decoder_self", 1, 2],
      ["cross", 1, 0],
      ["cross", 1, 2],
    ],
  );
  for (const head of traced.trace) {
    assert.equal(head.queryTokens.length, plain.tokens.length);
    assert.equal(head.queryTokens[0].id, 0);
    assert.equal(head.weights.length, head.queryTokens.length * head.keyTokens.length);
  }
  // Only the encoder has a third layer.
  const deep = await model.run(first.text, {
    trace: { kinds: ["encoder_self", "cross"], layers: [2] },
  });
  assert.ok(deep.trace.length > 0 && deep.trace.every(({ kind }) => kind === "encoder_self"));
});

test("the trace of a generation is the trace of a pass over its tokens", async () => {
  const letters = await Model.load(letterFilesOf("t5-gated-untied"));
  const [, { source_ids }] = goldenJson("t5-gated-untied").cases;
  const trace = { kinds: ["decoder_self", "cross"] };
  const made = await letters.run(lettersOf(source_ids), { maxNewTokens: 20, trace });
  const forced = await letters.attend(lettersOf(source_ids), made.text, { trace });
  assert.equal(made.trace.length, forced.trace.length);
  for (const [i, head] of made.trace.entries()) {
    const [rows, keys] = [head.queryTokens.length, head.keyTokens.length];
    const other = forced.trace[i];
    for (let row = 0; row < rows; row++) {
      const length = head.kind === "cross" ? keys : row + 1;
      const of = ({ weights, keyTokens }) =>
        weights.slice(row * keyTokens.length, row * keyTokens.length + length);
      assert.ok(largestDifference(of(head), of(other)) < 1e-5);
    }
  }
  letters.dispose();
});

test("arrays handed out are copies: they outlive growth of the heap and the model", async () => {
  const other = await Model.load(golden("t5-gated-untied"));
  const { trace } = await other.attend(first.text, second.text);
  const before = trace.map(({ weights }) => Array.from(weights));
  const ids = Array.from(other.info.relation.encoder_self.ids);
  // Several hundred tokens want more heap than the module starts with.
  await other.run("the dog ".repeat(3000), { maxNewTokens: 1 });
  other.dispose();
  trace.forEach(({ weights }, i) => {
    assert.deepEqual(Array.from(weights), before[i]);
  });
  assert.deepEqual(Array.from(other.info.relation.encoder_self.ids), ids);
});

test("labels: needed, n x n, in range", async () => {
  const name = "labels-vectors";
  const labelled = await Model.load(letterFilesOf(name));
  const found = goldenJson(name).cases.find(({ source_ids }) => source_ids.length === 7);
  const text = lettersOf(found.source_ids);
  const labels = Int32Array.from(
    readTensors(join(golden(name), "expected.safetensors"))[`${found.name}.labels`].data,
  );
  const { tokens } = await labelled.run(text, { relation: { labels: Array.from(labels) } });
  assert.deepEqual(
    tokens.map(({ id }) => id),
    found.greedy_ids.slice(0, tokens.length),
  );

  const none = await errorOf(labelled.run(text));
  assert.deepEqual([none.code, none.where], ["input_invalid", "relation.labels"]);
  assert.equal(
    await codeOf(labelled.run(text, { relation: { labels: labels.slice(1) } })),
    "option_invalid",
  );
  const { numRelations } = labelled.info.relation.encoder_self;
  for (const wrong of [-1, numRelations, 2 ** 31 - 1]) {
    const changed = Array.from(labels);
    changed[5] = wrong;
    const calls = [
      () => labelled.run(text, { relation: { labels: changed } }),
      () => labelled.score(text, text, { relation: { labels: changed } }),
    ];
    for (const call of calls) {
      const { code, where, message } = await errorOf(call);
      assert.deepEqual([code, where], ["input_invalid", "relation.labels[0][5]"]);
      assert.ok(message.startsWith(`${where}: `), message);
    }
  }
  assert.equal(await codeOf(labelled.run(text, { relation: { labels: [0.5] } })), "option_invalid");
  const notLabels = await errorOf(labelled.run(text, { relation: { labels: "x" } }));
  assert.deepEqual([notLabels.code, notLabels.where], ["option_invalid", "relation.labels"]);
  assert.match(notLabels.message, /expected an Int32Array/);
  assert.equal(await codeOf(labelled.run(text, { relation: { label: labels } })), "option_invalid");
  assert.equal((await labelled.run(text, { relation: { labels } })).text.length > 0, true);
  labelled.dispose();
  // A model by distance takes none.
  const count = (await model.tokenize("dog")).length ** 2;
  for (const relation of [{ labels: new Array(count).fill(0) }, { labels: [] }]) {
    const { code, where, message } = await errorOf(model.run("dog", { relation }));
    assert.deepEqual([code, where], ["option_invalid", "relation.labels"]);
    assert.match(message, /this model takes no labels: its relation is by bucketed_distance/);
  }
});
