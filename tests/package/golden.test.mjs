// The package against oracles that are not Relata (tests/golden), through its public calls.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Model } from "relata";
import {
  filesOf,
  golden,
  goldenJson,
  goldenNames,
  largestDifference,
  lettersOf,
  letterTokenizer,
  readTensors,
} from "./fixtures.mjs";

const kTolerance = 1e-4;

function logSoftmax(row) {
  const largest = Math.max(...row);
  const sum = row.reduce((total, value) => total + Math.exp(value - largest), 0);
  return row.map((value) => value - largest - Math.log(sum));
}

const texts = goldenNames.filter((name) => goldenJson(name).texts != null);

test("there are golden models of both families, with tokenizers too", () => {
  assert.ok(goldenNames.some((name) => name.startsWith("t5-")) && goldenNames.includes("shaw"));
  assert.ok(texts.length >= 2);
});

for (const name of texts) {
  test(`${name}: texts are read, continued and decoded as the oracle does`, async () => {
    const model = await Model.load(golden(name));
    for (const { text, ids, generated_ids, generated_text } of goldenJson(name).texts) {
      const source = await model.tokenize(text);
      assert.deepEqual(
        source.map(({ id }) => id),
        ids,
        text,
      );
      const steps = [];
      for await (const step of model.generate(text)) steps.push(step);
      assert.deepEqual(
        steps.map(({ id }) => id),
        generated_ids,
        text,
      );
      assert.equal(steps.map((step) => step.text).join(""), generated_text);
      const result = await model.run(text);
      assert.equal(result.text, generated_text);
      assert.equal(result.stats.encoderRuns, 1);
      assert.equal(result.stats.sourceLength, ids.length);
      assert.equal(result.stats.newTokens, generated_ids.length);
    }
    model.dispose();
  });
}

for (const name of goldenNames) {
  test(`${name}: greedy ids, log probabilities and attentions of every case`, async () => {
    const files = filesOf(name);
    const { vocab_size } = JSON.parse(Buffer.from(files["config.json"]));
    const source = { ...files, "tokenizer.json": letterTokenizer(vocab_size) };
    // As the oracle computes, whatever the file holds.
    const model = await Model.load(source, { dtype: "f32" });
    const tensors = readTensors(join(golden(name), "expected.safetensors"));
    const { cases } = goldenJson(name);
    let compared = 0;
    // An overflow in float16 is judged relative to its size.
    const tolerance = name.includes("float16-overflow") ? 1e-3 : kTolerance;
    for (const { name: label, source_ids, decoder_input_ids, greedy_ids } of cases) {
      const source = lettersOf(source_ids);
      const labels = tensors[`${label}.labels`];
      const options =
        labels === undefined ? {} : { relation: { labels: Int32Array.from(labels.data) } };

      const { tokens, finishReason } = await model.run(source, {
        ...options,
        maxNewTokens: greedy_ids.length,
      });
      const ids = tokens.map(({ id }) => id);
      assert.deepEqual(ids, greedy_ids.slice(0, ids.length), label);
      assert.equal(finishReason, ids.length < greedy_ids.length ? "eos" : finishReason);

      // The oracle's rows predict the token after each input; the end token follows the target.
      const target = decoder_input_ids.slice(1);
      const { shape, data } = tensors[`${label}.logits`];
      const scored = await model.score(source, lettersOf(target), options);
      scored.tokens.forEach((token, i) => {
        if (i < target.length) assert.equal(token.id, target[i]);
        const row = logSoftmax(data.slice(i * shape[1], (i + 1) * shape[1]));
        const difference = Math.abs(token.logProbability - row[token.id]);
        assert.ok(difference < tolerance, `${label} token ${i}: ${difference}`);
      });
      const sum = scored.tokens.reduce((total, token) => total + token.logProbability, 0);
      assert.ok(Math.abs(scored.score - sum) < 1e-9);

      const {
        trace,
        source: sourceTokens,
        target: input,
      } = await model.attend(source, lettersOf(target), options);
      assert.deepEqual(
        sourceTokens.map(({ id }) => id),
        source_ids,
      );
      assert.deepEqual(
        input.map(({ id }) => id).slice(0, decoder_input_ids.length),
        decoder_input_ids,
      );
      for (const head of trace) {
        const expected = (part) => {
          const tensor = tensors[`${label}.${head.kind}.${head.layer}.${part}`];
          if (tensor === undefined) return null;
          const size = tensor.shape[1] * tensor.shape[2];
          return tensor.data.slice(head.head * size, (head.head + 1) * size);
        };
        const place = `${label} ${head.kind} ${head.layer} ${head.head}`;
        assert.equal(head.weights.length, head.queryTokens.length * head.keyTokens.length, place);
        for (const [part, actual] of [
          ["weights", head.weights],
          ["content_scores", head.contentScores],
          ["relation_scores", head.relationScores],
        ]) {
          const oracle = expected(part);
          if (actual === null) {
            // Where the oracle has an array for "no relation", it is one of zeros.
            assert.ok(oracle === null || oracle.every((value) => value === 0), `${place} ${part}`);
          } else if (oracle !== null) {
            const scale = Math.max(1, ...oracle.map(Math.abs));
            const difference = largestDifference(actual, oracle) / scale;
            assert.ok(difference < tolerance, `${place} ${part}: ${difference}`);
          }
        }
      }
      const known = trace.filter(
        ({ kind, layer }) => tensors[`${label}.${kind}.${layer}.weights`] !== undefined,
      );
      compared += known.length === trace.length ? 1 : 0;
    }
    assert.ok(compared > 0, "the oracle has every head of one case");
    model.dispose();
  });
}
