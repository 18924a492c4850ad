// The five steps for every kind of model: the layer worked out here against what the engine records of it.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Model } from "relata";
import { importModules } from "./modules.mjs";

process.env.RELATA_ROOT ??= fileURLToPath(new URL("../..", import.meta.url));
const { lettersOf, letterFilesOf } = await import("../package/fixtures.mjs");
const { ctranslate2, gguf, ggufCases } = await import("../package/format-fixtures.mjs");

let modules;
before(async () => {
  modules = await importModules();
});

function near(actual, expected, slack, what) {
  assert.equal(actual.length, expected.length, what);
  const reach = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 1);
  actual.forEach((value, at) => {
    const off = Math.abs(value - expected[at]) / reach;
    assert.ok(off < slack, `${what}[${at}]: ${value}, ${expected[at]}`);
  });
}

/** The attentions of the first two layers and what the guide makes of the same sentence. */
async function bothOf(model, text) {
  const { info } = model;
  const { length } = await model.tokenize(text);
  const { index, numRelations } = info.relation.encoder_self;
  const labels =
    index === "labels"
      ? Int32Array.from({ length: length ** 2 }, (_, at) => (7 * at) % numRelations)
      : null;
  const { trace } = await model.run(text, {
    trace: { kinds: ["encoder_self"], layers: info.numEncoderLayers > 1 ? [0, 1] : [0] },
    ...(labels && { relation: { labels } }),
    maxNewTokens: 1,
  });
  const ids = trace[0].queryTokens.map(({ id }) => id);
  const read = (...asked) => model.tensor(...asked);
  return { trace, read, layer: await modules.workOut(read, info, ids, labels) };
}

async function holds(model, text, what) {
  const { trace, read, layer } = await bothOf(model, text);
  const { info } = model;
  const { learned, off, order } = layer;
  for (const head of trace.filter((one) => one.layer === 0)) {
    const name = `${what}, head ${head.head}`;
    near(learned.contentScores[head.head], head.contentScores, 1e-4, `${name}, content`);
    const relation = head.relationScores ?? new Float32Array(head.weights.length);
    near(learned.relationScores[head.head], relation, 1e-4, `${name}, relation`);
    near(learned.weights[head.head], head.weights, 1e-4, `${name}, weights`);
    if (order === "relation")
      assert.ok(off.relationScores[head.head].every((value) => value === 0));
  }
  // The second layer's scores are made of the first one's output.
  const { dModel, numHeads, headDim, network } = info;
  const linear = async (name) => {
    const of = (part) => read(`encoder.layers.1.${name}.${part}`);
    const bias = await of("bias").catch(() => null);
    return { weight: (await of("weight")).values, bias: bias?.values ?? null };
  };
  if (info.numEncoderLayers > 1) {
    const norm = await linear("self_attention_norm");
    const isPre = network.normPosition === "pre";
    const input = isPre
      ? modules.normalised(learned.output, dModel, norm, network)
      : learned.output;
    const width = numHeads * headDim;
    const project = async (name) =>
      modules.apply(input, dModel, await linear(name), width, () => {});
    const [queries, keys] = [
      await project("self_attention.query"),
      await project("self_attention.key"),
    ];
    for (const head of trace.filter((one) => one.layer === 1)) {
      const scores = head.contentScores.map((_, at) => {
        const [i, j] = [Math.floor(at / learned.length), at % learned.length];
        const [query, key] = [i, j].map((row) => row * width + head.head * headDim);
        return network.attentionScale * modules.dot(queries, query, keys, key, headDim);
      });
      near(scores, head.contentScores, 3e-4, `${what}, layer 1, head ${head.head}`);
    }
  }
  return layer;
}

const kFolders = {
  shaw: "relation",
  "shaw-keys": "relation",
  "shaw-values": "relation",
  "shaw-per-head": "relation",
  "shaw-shared-tables": "relation",
  "bucketed-bias": "relation",
  "bucketed-bias-per-layer": "relation",
  "bucketed-vectors": "relation",
  "fixed-slope": "relation",
  "labels-bias": "labels",
  "labels-vectors": "labels",
  "sinusoidal-halves": "positions",
  "sinusoidal-interleaved": "positions",
  "t5-relu-tied": "relation",
  "t5-gated-untied": "relation",
  umt5: "relation",
  "marian/shared": "positions",
};

for (const [folder, order] of Object.entries(kFolders)) {
  test(`${folder}: scores, weights and output of the first layer are the engine's`, async () => {
    const model = await Model.load(letterFilesOf(folder));
    const layer = await holds(model, lettersOf([5, 9, 12, 5, 28, 17, 8, 22, 11, 5]), folder);
    assert.equal(layer.order, order);
    model.dispose();
  });
}

test("models from a GGUF file and from CTranslate2's", async () => {
  const { text } = ggufCases.find((one) => one.text.length > 8);
  const { files, cases } = ctranslate2("sinusoidal");
  for (const [source, sentence, what] of [
    [gguf, text, "GGUF"],
    [files, cases.find((one) => one.text.length > 8).text, "CTranslate2"],
  ]) {
    const model = await Model.load(source);
    await holds(model, sentence, what);
    model.dispose();
  }
});

test("a sentence that is too long is not worked out", async () => {
  const model = await Model.load(letterFilesOf("shaw"));
  const ids = Array.from({ length: modules.longestSentence + 1 }, () => 5);
  const read = () => assert.fail("nothing is to be read");
  assert.equal(await modules.workOut(read, model.info, ids), null);
  model.dispose();
});

test("the error function, as tables have it", () => {
  // Abramowitz and Stegun, Table 7.1, and beyond it Wolfram's.
  for (const [x, value] of [
    [0, 0],
    [0.5, 0.5204998778],
    [1, 0.8427007929],
    [2, 0.995322265],
    [2.4, 0.9993114861],
    [2.6, 0.9997639656],
    [3.5, 0.9999992569],
  ]) {
    assert.ok(Math.abs(modules.erf(x) - value) < 2e-10, `erf(${x}) = ${modules.erf(x)}`);
    assert.equal(modules.erf(-x), -modules.erf(x));
  }
});
