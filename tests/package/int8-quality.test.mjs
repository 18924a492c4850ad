// What rounding weights to 8 bits costs: the shipped model against itself in f32 on a hundred captions, and with a feed-forward
// value far out of the range of its neighbours.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Model } from "relata";
import { readTensors, relata, repository, withFolder } from "./fixtures.mjs";

const { corpusBleu } = await import(pathToFileURL(join(repository, "models/bleu.mjs")).href);

const folder = join(repository, "models/captions-en-de");
const pairs = readFileSync(new URL("captions.tsv", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => line.split("\t"));
const sources = pairs.map(([source]) => source);
const greedy = { numBeams: 1, doSample: false };

async function withModels(source, use) {
  const models = [];
  try {
    for (const dtype of ["f32", "int8"]) models.push(await Model.load(source, { dtype }));
    return await use(...models);
  } finally {
    for (const model of models) model.dispose();
  }
}

test("of a hundred captions 99 of 100 tokens are the same, and BLEU falls by no more than 0.2", async () => {
  await withModels(folder, async (exact, rounded) => {
    const [expected, found] = [
      await exact.run(sources, greedy),
      await rounded.run(sources, greedy),
    ];
    const bleu = (results) =>
      corpusBleu(
        results.map(({ text }) => text),
        pairs.map(([, text]) => text),
      ).bleu;
    // Teacher-forced: after the beginning that f32 wrote.
    let [same, total] = [0, 0];
    for (const [i, { tokens }] of expected.entries()) {
      const ids = tokens.map(({ id }) => id);
      const next = await Promise.all(
        ids.map((_, n) =>
          rounded.run(sources[i], { ...greedy, targetPrefix: ids.slice(0, n), maxNewTokens: 1 }),
        ),
      );
      same += next.filter((result, n) => result.tokens.at(-1).id === ids[n]).length;
      total += ids.length;
    }
    console.log(
      `${same} of ${total} tokens; BLEU ${bleu(expected).toFixed(2)}, ${bleu(found).toFixed(2)}`,
    );
    assert.ok(total > 1000 && same >= 0.99 * total, `${same} of ${total}`);
    assert.ok(bleu(found) >= bleu(expected) - 0.2, `${bleu(found)} of ${bleu(expected)}`);
  });
});

test("tokens of a prefix have the log probabilities that scoring gives, however many are worked on", async () => {
  await withModels(folder, async (_, rounded) => {
    const prefix = [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23];
    for (const numBeams of [1, 4, 5]) {
      for (const length of [1, 2, 5, 17, 18, 19]) {
        const targetPrefix = prefix.slice(0, length);
        const { tokens } = await rounded.run(sources[0], {
          doSample: false,
          numBeams,
          targetPrefix,
          maxNewTokens: 2,
        });
        const scored = await rounded.score(
          sources[0],
          tokens.map(({ id }) => id),
        );
        tokens.forEach(({ logProbability }, n) => {
          const difference = Math.abs(logProbability - scored.tokens[n].logProbability);
          assert.ok(
            difference <= 1e-5,
            `${numBeams} beams, prefix of ${length}, token ${n}: ${difference}`,
          );
        });
      }
    }
  });
});

/** The bytes of a safetensors file of f32. */
function safetensors(tensors) {
  let end = 0;
  const header = Object.fromEntries(
    Object.entries(tensors).map(([name, { shape, data }]) => {
      const from = end;
      end += 4 * data.length;
      return [name, { dtype: "F32", shape, data_offsets: [from, end] }];
    }),
  );
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const values = Object.values(tensors).map(({ data }) =>
    Buffer.from(Float32Array.from(data).buffer),
  );
  return Buffer.concat([length, text, ...values]);
}

/**
 * Makes value `at` of every feed-forward layer of the model in `out` 200 times as large, and what reads it 200 times smaller: with
 * ReLU the same function.
 */
function writeOutliers(out, at) {
  const { status, stderr } = relata(["convert", folder, out, "--dtype", "f32"]);
  assert.deepEqual([status, stderr], [0, ""]);
  const file = join(out, "model.safetensors");
  const tensors = readTensors(file);
  let changed = 0;
  for (const [name, { shape, data }] of Object.entries(tensors)) {
    if (/feed_forward\.input\.(weight|bias)$/.test(name)) {
      const width = shape[1] ?? 1;
      for (let k = 0; k < width; k++) data[at * width + k] *= 200;
      changed++;
    } else if (name.endsWith("feed_forward.output.weight")) {
      for (let row = 0; row < shape[0]; row++) data[row * shape[1] + at] /= 200;
      changed++;
    }
  }
  assert.equal(changed, 3 * 8);
  writeFileSync(file, safetensors(tensors));
}

/** The root mean square of the difference int8 makes to the encoder's output, over that output's. */
async function errorOf(source) {
  return withModels(source, async (exact, rounded) => {
    let [difference, size] = [0, 0];
    for (const text of sources.slice(0, 20)) {
      const [expected, found] = [await exact.encode(text), await rounded.encode(text)];
      expected.values.forEach((value, i) => {
        difference += (found.values[i] - value) ** 2;
        size += value ** 2;
      });
    }
    return Math.sqrt(difference / size);
  });
}

test("a feed-forward value 200 times as large makes int8 at most three times as wrong", async () => {
  await withFolder({}, async (out) => {
    const model = join(out, "model");
    writeOutliers(model, 7);
    const [plain, outliers] = [await errorOf(folder), await errorOf(model)];
    console.log(
      `relative error ${plain.toExponential(2)}, with outliers ${outliers.toExponential(2)}`,
    );
    assert.ok(plain > 0 && plain < 0.02, `${plain}`);
    assert.ok(outliers <= 3 * plain, `${outliers} against ${plain}`);
  });
});
