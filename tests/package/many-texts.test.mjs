// Many texts in one call, their hidden states and scores: each what it would be alone, and one that fails, fails alone.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Model, perplexity, RelataError } from "relata";
import {
  errorOf,
  golden,
  goldenJson,
  largestDifference,
  letterFilesOf,
  lettersOf,
  readTensors,
} from "./fixtures.mjs";
import { captions, cases, greedy, idsOf, model, name, source } from "./search-fixtures.mjs";

test("one bad text among many fails alone; by itself it is thrown", async () => {
  const texts = [source, 7, "", source, source];
  const targetPrefix = [[], [], [], [99], "一"];
  const results = await model.run(texts, { targetPrefix, maxNewTokens: 6 });
  assert.deepEqual(
    results.map(({ finishReason, error }) => [finishReason, error?.code]),
    [
      ["length", undefined],
      ["failed", "input_invalid"],
      ["eos", undefined],
      ["failed", "input_invalid"],
      ["length", undefined],
    ],
  );
  assert.ok(results[1].error instanceof RelataError && results[1].error.where === "texts[1]");
  assert.deepEqual([results[3].tokens, results[3].sequences, results[3].text], [[], [], ""]);
  assert.deepEqual(idsOf(results[0]), greedy.slice(0, 6));
  assert.equal(idsOf(results[4])[0], 0);
  assert.deepEqual(await model.run([]), []);
  // One that is too large for memory: a trace of n x n.
  const large = "a ".repeat(40_000);
  const trace = { kinds: ["encoder_self"], layers: [0], heads: [0] };
  const mixed = await captions.run(["A dog.", large, "A cat."], { trace, maxNewTokens: 3 });
  assert.deepEqual(
    mixed.map(({ error }) => error?.code),
    [undefined, "out_of_memory", undefined],
  );
  assert.ok(mixed[0].trace.length === 1 && mixed[2].text !== "");
  const count = await errorOf(() => model.run([source], { targetPrefix: [[3], [4]] }));
  assert.deepEqual([count.code, count.where], ["option_invalid", "targetPrefix"]);
});

test("labels of many texts", async () => {
  const labelled = await Model.load(letterFilesOf("labels-vectors"));
  const tensors = readTensors(join(golden("labels-vectors"), "expected.safetensors"));
  const some = goldenJson("labels-vectors").cases.slice(0, 3);
  const texts = some.map(({ source_ids }) => lettersOf(source_ids));
  const labels = some.map((one) => Int32Array.from(tensors[`${one.name}.labels`].data));
  const results = await labelled.run(texts, { relation: { labels }, maxNewTokens: 8 });
  for (const [i, result] of results.entries())
    assert.deepEqual(idsOf(result), some[i].greedy_ids.slice(0, result.tokens.length));
  const wrong = await errorOf(() => labelled.run(texts, { relation: { labels: labels[0] } }));
  assert.deepEqual([wrong.code, wrong.where], ["option_invalid", "relation.labels"]);
  labelled.dispose();
});

test("a source is cut only when asked, around its special tokens, and that is told", async () => {
  const long = "Two dogs are playing in the snow.";
  const whole = await captions.tokenize(long);
  const cut = await captions.encode(long, { maxSourceTokens: 5 });
  assert.deepEqual(cut.source, [...whole.slice(0, 4), whole.at(-1)]);
  assert.equal(cut.truncatedTokens, whole.length - 5);
  const results = await captions.run([long, "A dog."], { maxSourceTokens: 5 });
  assert.deepEqual(
    results.map(({ stats }) => [stats.sourceLength, stats.truncatedTokens]),
    [
      [5, whole.length - 5],
      [4, 0],
    ],
  );
  const letters = await model.run(source + source, { maxSourceTokens: 7 });
  assert.deepEqual(idsOf(letters), idsOf(await model.run(source)));
  const nothing = await errorOf(() => captions.run(long, { maxSourceTokens: 1 }));
  assert.deepEqual([nothing.code, nothing.where], ["option_invalid", "maxSourceTokens"]);
});

test("encode: the encoder's last hidden states, their mean and their first", async () => {
  const tensors = readTensors(join(golden(name), "expected.safetensors"));
  for (const { name: label, source_ids } of cases) {
    const text = lettersOf(source_ids);
    const { data, shape } = tensors[`${label}.encoder`];
    const all = await model.encode(text);
    assert.deepEqual([all.shape, all.source.map(({ id }) => id)], [shape, source_ids]);
    assert.ok(largestDifference(all.values, data) < 1e-4);
    const width = shape[1];
    const mean = await model.encode(text, { pooling: "mean" });
    const expected = Array.from({ length: width }, (_, j) => {
      const column = data.filter((_, i) => i % width === j);
      return column.reduce((a, b) => a + b) / column.length;
    });
    assert.deepEqual(mean.shape, [width]);
    assert.ok(largestDifference(mean.values, expected) < 1e-4);
    const first = await model.encode(text, { pooling: "first" });
    assert.ok(largestDifference(first.values, data.slice(0, width)) < 1e-4);
  }
  // Of many texts each gives what it gives alone, or its error.
  const texts = cases.map(({ source_ids }) => lettersOf(source_ids));
  const alone = [];
  for (const text of texts) alone.push(await model.encode(text, { pooling: "mean" }));
  const many = await model.encode([texts[0], " ", ...texts.slice(1)], { pooling: "mean" });
  assert.deepEqual(
    many.filter((_, i) => i !== 1),
    alone,
  );
  const failed = many[1];
  assert.deepEqual(
    [failed.error.code, failed.source, failed.values.length],
    ["input_invalid", [], 0],
  );
  assert.deepEqual(await model.encode([]), []);
  const signal = AbortSignal.abort();
  assert.equal((await errorOf(() => model.encode(texts, { signal }))).name, "AbortError");
  // An encoder alone can do this, and nothing else.
  const encoder = await Model.load(letterFilesOf("t5-encoder"));
  const whole = readTensors(join(golden("t5-relu-tied"), "expected.safetensors"));
  for (const { name: label, source_ids } of goldenJson("t5-relu-tied").cases) {
    const { values } = await encoder.encode(lettersOf(source_ids));
    assert.ok(largestDifference(values, whole[`${label}.encoder`].data) < 1e-4);
  }
  for (const call of [() => encoder.run(source), () => encoder.score(source, source)])
    assert.equal((await errorOf(call)).code, "unsupported");
  encoder.dispose();
  const wrong = await errorOf(() => model.encode(source, { pooling: "max" }));
  assert.deepEqual([wrong.code, wrong.where], ["option_invalid", "pooling"]);
  assert.equal((await errorOf(() => model.encode(" "))).code, "input_invalid");
});

test("scores of many pairs: a bad one fails alone; their perplexity", async () => {
  const scored = await model.score([source, "", source], [[5, 6], [5], [99]]);
  assert.deepEqual(
    scored.map(({ error }) => error?.code),
    [undefined, "input_invalid", "input_invalid"],
  );
  const [one] = scored;
  assert.ok(Math.abs(perplexity([one, one]) - Math.exp(-one.score / 2)) < 1e-9);
  assert.throws(() => perplexity(scored), { code: "input_invalid" });
  assert.throws(() => perplexity([]), RelataError);
  assert.equal((await errorOf(() => model.score([source], ["a", "b"]))).code, "input_invalid");
  for (const options of [{ decoderStartTokenId: 40 }, { maxSourceTokens: 0 }]) {
    const error = await errorOf(() => model.score([source], ["a"], options));
    assert.deepEqual([error.code, error.where], ["option_invalid", Object.keys(options)[0]]);
  }
});
