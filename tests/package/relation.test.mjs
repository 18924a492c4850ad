// A relation altered for a call: the reference's numbers, nothing kept of it, and refusals by name.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Model, RelataError } from "relata";
import {
  errorOf,
  golden,
  goldenJson,
  largestDifference,
  letterFilesOf,
  lettersOf,
  readTensors,
  repository,
} from "./fixtures.mjs";

const { alterations } = goldenJson("alterations");
const expected = readTensors(join(golden("alterations"), "expected.safetensors"));
const load = (folder) => Model.load(letterFilesOf(folder));

let shaw;
before(async () => {
  shaw = await load("shaw");
});
after(() => shaw.dispose());

test("every switch gives what the reference gives", async () => {
  const models = new Map();
  for (const { name, folder, switch: word, clip, ...where } of alterations) {
    if (!models.has(folder)) models.set(folder, await load(folder));
    const model = models.get(folder);
    const nearCase = goldenJson(folder).cases.find((one) => one.name === "source_7");
    const tensors = readTensors(join(golden(folder), "expected.safetensors"));
    const labels = tensors["source_7.labels"]?.data;
    const relation = {
      ...{ switch: word === "clip" ? { clip } : word, ...where },
      ...(labels === undefined ? {} : { labels: Int32Array.from(labels) }),
    };
    const source = lettersOf(nearCase.source_ids);
    const { values } = await model.encode(source, { relation });
    const difference = largestDifference(values, expected[`${name}.encoder`].data);
    assert.ok(difference < 1e-4, `${folder} ${JSON.stringify(relation)}: ${difference}`);

    // A target [t1, t2, ...] is scored after what the decoder read: the same rows of logits.
    const logits = expected[`${name}.logits`];
    const [rows, width] = logits.shape;
    const target = nearCase.decoder_input_ids.slice(1, rows);
    const { tokens } = await model.score(source, target, { relation });
    for (const [i, { id, logProbability }] of tokens.entries()) {
      const row = Array.from(logits.data.slice(i * width, (i + 1) * width));
      const most = Math.max(...row);
      const sum = row.reduce((all, value) => all + Math.exp(value - most), 0);
      assert.ok(Math.abs(logProbability - (row[id] - most - Math.log(sum))) < 1e-3);
    }
    const { trace } = await model.attend(source, target, { relation });
    for (const { kind, layer, head, relationScores } of trace) {
      const tensor = expected[`${name}.${kind}.relation_scores`];
      if (layer !== 0 || tensor === undefined) continue;
      // The last token is read by the oracle and not by the decoder.
      const [, rows, columns] = tensor.shape;
      const length = Math.sqrt(relationScores.length);
      for (let i = 0; i < length; i++) {
        const from = (head * rows + i) * columns;
        const theirs = tensor.data.slice(from, from + length);
        const ours = relationScores.subarray(i * length, (i + 1) * length);
        assert.ok(largestDifference(ours, theirs) < 1e-4);
      }
    }
  }
  for (const model of models.values()) model.dispose();
});

test("an altered call leaves the model as it was, and the two may overlap", async () => {
  const text = lettersOf([7, 9, 22, 31, 5, 2]);
  const options = { maxNewTokens: 12 };
  const off = { ...options, relation: { switch: "off" } };
  const memory = shaw.info.weightBytes;
  const trained = await shaw.run(text, options);
  const [altered, again, alteredAgain] = await Promise.all([
    shaw.run(text, off),
    shaw.run(text, options),
    shaw.run(text, { ...off, numBeams: 1 }),
  ]);
  const idsOf = ({ tokens }) => tokens.map(({ id }) => id);
  assert.notDeepEqual(idsOf(altered), idsOf(trained));
  assert.deepEqual(again.tokens, trained.tokens);
  assert.deepEqual(alteredAgain.tokens, altered.tokens);
  assert.equal(shaw.info.weightBytes, memory);
  // Nothing asked for is nothing altered, to the bit; and every way to generate takes the switch.
  assert.deepEqual((await shaw.run(text, { ...options, relation: {} })).tokens, trained.tokens);
  const [many] = await shaw.run([text, text], off);
  assert.deepEqual(many.tokens, altered.tokens);
  const steps = [];
  for await (const step of shaw.generate(text, off)) steps.push(step.id);
  assert.deepEqual(steps, idsOf(altered));
});

test("what cannot be altered is refused by name, whichever call", async () => {
  const text = lettersOf([5, 6, 2]);
  const sinusoidal = await load("sinusoidal-halves");
  const labelled = await load("labels-bias");
  const slope = await load("fixed-slope");
  const labels = new Int32Array(9);
  const cases = [
    [sinusoidal, { switch: "off" }, "relation.switch", "no relation"],
    [slope, { switch: "mirrored" }, "relation.switch", "changes nothing"],
    [slope, { switch: "keys" }, "relation.switch", "vectors"],
    [labelled, { switch: "mirrored", labels }, "relation.switch", "labels"],
    [labelled, { switch: { clip: 1 }, labels }, "relation.switch", "labels"],
    [shaw, { switch: "of" }, "relation.switch", "off"],
    [shaw, { switch: "none" }, "relation.switch", "off"],
    [shaw, { switch: null }, "relation.switch", "null"],
    [shaw, { switch: {} }, "relation.switch", "clip"],
    [shaw, { switch: ["off"] }, "relation.switch", "an array"],
    [shaw, { switch: { clip: -1 } }, "relation.switch.clip", "integer"],
    [shaw, { switch: { clip: "1" } }, "relation.switch.clip", "integer"],
    [shaw, { switch: { clip: 1, far: 2 } }, "relation.switch.far", "unknown option"],
    [shaw, { switch: { clip: 4 } }, "relation.switch", "changes nothing"],
    [shaw, { switch: { clip: 2 ** 31 - 1 } }, "relation.switch", "changes nothing"],
    [shaw, { switch: "off", layers: [2] }, "relation.layers[0]", "2"],
    [shaw, { switch: "off", layers: [0, -1] }, "relation.layers[1]", "integer"],
    [shaw, { switch: "off", layers: [] }, "relation.layers", "empty"],
    [shaw, { switch: "off", layers: 0 }, "relation.layers", "array"],
    [shaw, { switch: "off", heads: [3] }, "relation.heads[0]", "3"],
    [shaw, { switch: "off", heads: [0.5] }, "relation.heads[0]", "integer"],
    [shaw, { switch: "off", kinds: ["cross"] }, "relation.kinds[0]", "encoder_self"],
    [shaw, { switch: "off", head: [0] }, "relation.head", "heads"],
    [shaw, { heads: [0] }, "relation.heads", "relation.switch"],
  ];
  for (const [model, relation, place, words] of cases) {
    for (const action of [
      async () => model.run(text, { relation }),
      async () => model.generate(text, { relation }).next(),
      async () => model.score(text, text, { relation }),
      async () => model.attend(text, text, { relation }),
      async () => model.encode(text, { relation }),
    ]) {
      const error = await errorOf(action());
      assert.ok(error instanceof RelataError, `${JSON.stringify(relation)}: ${error?.stack}`);
      assert.deepEqual([error.code, error.where], ["option_invalid", place], error.message);
      assert.ok(error.message.includes(words), error.message);
    }
  }
  // An empty text is no excuse.
  const { where } = await errorOf(shaw.run("", { relation: { switch: "off", heads: [3] } }));
  assert.equal(where, "relation.heads[0]");
  for (const model of [sinusoidal, labelled, slope]) model.dispose();
});

test("without its relation the shipped model loses the order of words", async () => {
  const model = await Model.load(join(repository, "models/captions-en-de"));
  const texts = [
    "A man in a red shirt is riding a bicycle down the street.",
    "A woman is reading a book to three children while a dog sleeps beside them.",
    "The boy in the blue jacket jumps over a small river with his brown dog.",
    "An old man with a white hat is selling fruit to a woman with a black bag.",
    "Two girls in yellow dresses are dancing on a stage in front of a large crowd.",
    "A black dog and a white dog are running after a ball on the green grass.",
  ];
  const options = { numBeams: 1, doSample: false };
  const wordsOf = ({ text }) => text.split(" ");
  const pairsOf = (words) => words.slice(1).map((word, i) => `${words[i]} ${word}`);
  const trained = await model.run(texts, options);
  /** The share of the unaltered translations' word pairs that are there. */
  const agreement = async (relation) => {
    const altered = await model.run(texts, { ...options, relation });
    let [kept, all] = [0, 0];
    for (const [i, result] of trained.entries()) {
      const there = pairsOf(wordsOf(altered[i]));
      for (const pair of pairsOf(wordsOf(result))) {
        all += 1;
        if (there.includes(pair)) kept += 1;
      }
    }
    return kept / all;
  };
  assert.equal(await agreement({}), 1);
  const off = await agreement({ switch: "off" });
  const mirrored = await agreement({ switch: "mirrored" });
  const one = await agreement({ switch: "off", kinds: ["encoder_self"], layers: [0], heads: [0] });
  assert.ok(off < 0.5, `off: ${off}`);
  assert.ok(mirrored < 0.5, `mirrored: ${mirrored}`);
  assert.ok(one > off, `one head of one layer off: ${one}, all off: ${off}`);
  model.dispose();
});
