// The five steps: their numbers are the engine's, worked out by other code.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Model } from "relata";
import { drawn, launch, modelFolder, newPage, open } from "./browser.mjs";
import { importModules } from "./modules.mjs";

const kSentence = "A man is riding a bicycle down the street.";

let browser;
let modules;
before(async () => {
  [browser, modules] = await Promise.all([launch(), importModules()]);
});
after(() => browser?.close());

const bytesOf = (name) => readFileSync(join(modelFolder, name));

function near(actual, expected, slack, what) {
  assert.equal(actual.length, expected.length, what);
  actual.forEach((value, at) => {
    assert.ok(Math.abs(value - expected[at]) < slack, `${what}[${at}]: ${value}, ${expected[at]}`);
  });
}

/** model.safetensors with one encoder layer only. */
function firstLayerOnly(file) {
  const length = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.subarray(8, 8 + length).toString());
  const parts = [];
  const kept = {};
  let at = 0;
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__" || /^encoder\.layers\.[1-9]/.test(name)) continue;
    const [from, to] = entry.data_offsets;
    parts.push(file.subarray(8 + length + from, 8 + length + to));
    kept[name] = { ...entry, data_offsets: [at, at + to - from] };
    at += to - from;
  }
  const text = JSON.stringify(kept);
  const words = Buffer.from(text.padEnd(8 * Math.ceil(text.length / 8)));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(words.length));
  return Buffer.concat([prefix, words, ...parts]);
}

test("every tensor of the layer equals the engine's", async () => {
  const names = ["config.json", "tokenizer.json", "model.safetensors"];
  const files = Object.fromEntries(names.map((name) => [name, bytesOf(name)]));
  const config = { ...JSON.parse(files["config.json"]), num_encoder_layers: 1 };
  files["config.json"] = Buffer.from(JSON.stringify(config));
  files["model.safetensors"] = firstLayerOnly(files["model.safetensors"]);
  const model = await Model.load(files);
  const { trace } = await model.run(kSentence, { trace: { kinds: ["encoder_self"] } });
  const encoded = await model.encode(kSentence);
  const ids = trace[0].queryTokens.map(({ id }) => id);
  const read = (...asked) => model.tensor(...asked);
  const { learned, off } = await modules.workOut(read, model.info, ids);
  for (const head of trace) {
    const what = `head ${head.head}`;
    near(learned.contentScores[head.head], head.contentScores, 1e-4, `${what} content`);
    near(learned.relationScores[head.head], head.relationScores, 1e-4, `${what} relation`);
    near(learned.weights[head.head], head.weights, 1e-5, `${what} weights`);
    assert.ok(off.relationScores[head.head].every((value) => value === 0));
  }
  // What the engine gives is behind the last norm.
  const width = config.d_model;
  const norm = (name) => {
    const length = Number(files["model.safetensors"].readBigUInt64LE(0));
    const header = JSON.parse(files["model.safetensors"].subarray(8, 8 + length).toString());
    const { dtype, data_offsets: offsets } = header[`encoder.final_norm.${name}`];
    assert.equal(dtype, "F16");
    const at = 8 + length + offsets[0];
    return Array.from({ length: width }, (_, i) => half(files["model.safetensors"], at + 2 * i));
  };
  const [weight, bias] = [norm("weight"), norm("bias")];
  const expected = [];
  for (let row = 0; row < learned.length; row += 1) {
    const values = [...learned.output.subarray(row * width, (row + 1) * width)];
    const mean = values.reduce((sum, value) => sum + value, 0) / width;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width;
    const scale = 1 / Math.sqrt(variance + config.norm.epsilon);
    expected.push(...values.map((value, i) => (value - mean) * scale * weight[i] + bias[i]));
  }
  near([...encoded.values], expected, 2e-3, "encoder output");
  model.dispose();
});

function half(bytes, at) {
  const bits = bytes.readUInt16LE(at);
  const exponent = (bits >> 10) & 31;
  const size =
    exponent === 0 ? 2 ** -24 * (bits & 1023) : 2 ** (exponent - 25) * (1024 + (bits & 1023));
  return bits & 0x8000 ? -size : size;
}

test("the page shows five steps with shapes, numbers, formulas and what changes", async () => {
  const { page, complaints } = await newPage(browser);
  await open(page);
  assert.equal(await page.locator(".step").count(), 0);
  await page.locator("#guide-button").click();
  await page.locator("#step-5").waitFor();
  const model = await Model.load(modelFolder);
  const { trace, tokens } = await model.run(kSentence, { trace: { kinds: ["encoder_self"] } });
  const length = trace[0].queryTokens.length;
  for (const [step, shape] of [
    [1, `${length} × 128`],
    [2, `4 × ${length} × 32`],
    [3, `4 × ${length} × ${length}`],
    [4, `${length} × 128`],
    [5, `${tokens.length} × 6000`],
  ]) {
    const text = await page.locator(`#step-${step}`).textContent();
    assert.ok(text.includes(shape), `step ${step}: ${text}`);
    assert.match(text, /If the relation is switched off/);
    assert.equal(await page.locator(`#step-${step} math`).count(), 1);
  }
  // The bars of the third step are the weights of the head on show.
  await page.locator("label:has(#guide-token-3)").click();
  await page.locator("label:has(#head-2)").click();
  await drawn(page);
  const shown = await page.locator("#step-3 .paired text:not(.query)").allTextContents();
  const head = trace.find(({ layer, head }) => layer === 0 && head === 2);
  const row = [...head.weights.subarray(3 * length, 4 * length)];
  assert.deepEqual(
    shown,
    row.map((weight) => weight.toFixed(2)),
  );
  const probability = Math.exp(tokens[0].logProbability).toFixed(4);
  assert.ok((await page.locator("#step-5 .numbers").textContent()).endsWith(probability));
  model.dispose();
  // It follows the sentence.
  await page.locator("#examples button").nth(1).click();
  await page.locator("#step-1 .heat-labels", { hasText: "dogs" }).waitFor();
  assert.deepEqual(complaints, []);
  await page.context().close();
});
