// Searches of the package against Hugging Face's `generate` (tests/golden/generation): ids and scores of over 200
// combinations of options, alone, together, by their own allowed tokens, and streamed.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Model } from "relata";
import { filesOf, golden, largestDifference, letterFilesOf, lettersOf } from "./fixtures.mjs";

const { cases, beams_differ_from_greedy } = JSON.parse(
  readFileSync(join(golden("generation"), "search.json"), "utf8"),
);
const models = {};
before(async () => {
  for (const folder of new Set(cases.map((one) => one.folder)))
    models[folder] = await Model.load(letterFilesOf(folder));
});
after(() => {
  for (const model of Object.values(models)) model.dispose();
});

/** The reference's options in the package's words. */
function optionsOf({ options, prefix }) {
  const names = { eos: "stopTokenIds" };
  const camelCase = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  const given = Object.entries(options).map(([name, value]) => [
    names[name] ?? camelCase(name),
    value,
  ]);
  return { ...Object.fromEntries(given), targetPrefix: prefix };
}

const close = (a, b) => Math.abs(a - b) <= 1e-4 * Math.max(1, Math.abs(b));

function compare(result, expected, prefix, label) {
  assert.equal(result.error, null, label);
  assert.deepEqual(
    result.sequences.map(({ tokens }) => tokens.map(({ id }) => id)),
    expected.map(([ids]) => ids),
    label,
  );
  for (const [i, [ids, score, own]] of expected.entries()) {
    const { tokens, text, finishReason, score: found } = result.sequences[i];
    assert.equal(text, lettersOf(ids), label);
    const sum = tokens
      .slice(prefix.length)
      .reduce((total, { logProbability }) => total + logProbability, 0);
    assert.ok(close(sum, own), `${label}: ${sum}, not ${own}`);
    assert.ok(close(found, score ?? own), `${label}: score ${found}, not ${score ?? own}`);
    assert.ok(["eos", "length", "stop_token"].includes(finishReason), label);
  }
  const [best] = result.sequences;
  for (const name of Object.keys(best)) assert.deepEqual(result[name], best[name]);
  assert.equal(result.stats.newTokens + result.stats.prefixLength, best.tokens.length);
}

test("searches find what the reference finds, and stream it", async () => {
  assert.ok(cases.length >= 200 && beams_differ_from_greedy >= 20);
  for (const one of cases) {
    const label = JSON.stringify(one);
    const texts = one.sources.map(lettersOf);
    const steps = models[one.folder].generate(texts, optionsOf(one));
    const streamed = texts.map(() => "");
    const counts = texts.map(() => 0);
    let next = await steps.next();
    for (; !next.done; next = await steps.next()) {
      const { item, index, text } = next.value;
      assert.equal(index, counts[item]++, label);
      streamed[item] += text;
    }
    assert.equal(next.value.length, texts.length);
    for (const [i, result] of next.value.entries()) {
      compare(result, one.results[i], one.prefix, label);
      assert.equal(streamed[i], result.text, label);
    }
  }
});

test("any texts together give what each gives alone, in any order and batch size", async () => {
  const folder = "t5-gated-untied";
  // Lengths 1 to 40, in an order without order.
  const letters = Array.from({ length: 40 }, (_, i) => {
    const length = 1 + ((i * 17) % 40);
    return lettersOf(Array.from({ length }, (_, j) => 3 + ((i * 7 + j * 5 + j * j) % 37)));
  });
  const model = models[folder];
  for (const options of [
    { numBeams: 1, maxNewTokens: 12 },
    { numBeams: 3, numReturnSequences: 2, maxNewTokens: 12, repetitionPenalty: 1.3 },
    { doSample: true, seed: 7, maxNewTokens: 12, numReturnSequences: 2 },
  ]) {
    const alone = [];
    for (const text of letters) alone.push(await model.run(text, options));
    for (const [batchSize, turned] of [
      [1, letters],
      [7, letters],
      [64, letters.slice(13).concat(letters.slice(0, 13))],
    ]) {
      const together = await model.run(turned, { ...options, batchSize });
      for (const [i, text] of turned.entries()) {
        const [mine, other] = [together[i], alone[letters.indexOf(text)]];
        assert.equal(mine.sequences.length, other.sequences.length);
        for (const [j, one] of mine.sequences.entries()) {
          const ids = ({ tokens }) => tokens.map(({ id }) => id);
          assert.deepEqual(ids(one), ids(other.sequences[j]));
          assert.ok(Math.abs(one.score - other.sequences[j].score) <= 1e-5);
        }
      }
    }
  }
});

test("allowedTokens that follow the allowed sequences find what these find", async () => {
  const some = cases.filter(({ options }) => options.allowed_sequences !== undefined).slice(0, 12);
  assert.equal(some.length, 12);
  for (const one of some) {
    const { allowedSequences, ...options } = optionsOf(one);
    const end = JSON.parse(Buffer.from(filesOf(one.folder)["config.json"])).eos_token_id;
    const forced = options.forcedBosTokenId !== undefined && one.prefix.length === 0 ? 1 : 0;
    const everything = Array.from({ length: 40 }, (_, id) => id);
    const allowedTokens = async (prefixIds) => {
      const path = prefixIds.slice(one.prefix.length + forced);
      if (prefixIds.length < one.prefix.length + forced) return everything;
      const same = allowedSequences.filter((ids) => path.every((id, i) => ids[i] === id));
      const next = same.flatMap((ids) => (ids.length > path.length ? [ids[path.length]] : []));
      const complete = same.some((ids) => ids.length === path.length);
      return new Set([...next, ...(complete ? [end] : [])]);
    };
    const results = await models[one.folder].run(one.sources.map(lettersOf), {
      ...options,
      allowedTokens,
    });
    results.forEach((result, i) => {
      compare(result, one.results[i], one.prefix, JSON.stringify(one));
    });
  }
});

test("the trace of every search is the attention of a pass over its best sequence", async () => {
  const beams = cases.filter(({ options }) => options.num_beams === 3).slice(0, 4);
  const greedy = cases.filter(({ options }) => options.num_beams === 1).slice(0, 4);
  assert.equal(beams.length + greedy.length, 8);
  const trace = { kinds: ["encoder_self", "decoder_self", "cross"] };
  const compareTraces = async (model, source, options) => {
    const made = await model.run(source, { ...options, trace });
    const ids = made.tokens.map(({ id }) => id);
    const { decoderStartTokenId, maxSourceTokens } = options;
    const pass = decoderStartTokenId ? { decoderStartTokenId, maxSourceTokens } : {};
    const forced = await model.attend(source, ids, pass);
    assert.equal(made.trace.length, forced.trace.length);
    for (const [i, head] of made.trace.entries()) {
      const other = forced.trace[i];
      const place = [head.kind, head.layer, head.head];
      assert.deepEqual([other.kind, other.layer, other.head], place);
      assert.deepEqual([head.queryTokens, head.keyTokens], [other.queryTokens, other.keyTokens]);
      for (const part of ["weights", "contentScores", "relationScores"]) {
        if (head[part] === null) assert.equal(other[part], null);
        else {
          const scale = Math.max(1, ...other[part].map(Math.abs));
          assert.ok(largestDifference(head[part], other[part]) / scale < 1e-5, `${place} ${part}`);
        }
      }
      assert.ok(largestDifference(head.weights, other.weights) < 1e-5, String(place));
      const keys = head.keyTokens.length;
      for (let row = 0; row < head.queryTokens.length; row++) {
        const sum = head.weights.slice(row * keys, (row + 1) * keys).reduce((a, b) => a + b);
        assert.ok(Math.abs(sum - 1) < 1e-5);
      }
    }
    const decoder = made.trace.find(({ kind }) => kind === "cross");
    assert.deepEqual(
      decoder.queryTokens.map(({ id }) => id),
      [decoderStartTokenId ?? 0, ...ids.slice(0, -1)],
    );
    const scored = await model.score(source, ids, pass);
    scored.tokens.forEach(({ logProbability }, i) => {
      assert.ok(Math.abs(logProbability - made.tokens[i].logProbability) < 1e-5);
    });
  };
  for (const one of [...beams, ...greedy])
    await compareTraces(models[one.folder], lettersOf(one.sources[0]), optionsOf(one));
  await compareTraces(models["t5-gated-untied"], lettersOf([5, 9, 20, 7, 8, 30, 11, 6, 33]), {
    ...{ numBeams: 3, decoderStartTokenId: 11, maxSourceTokens: 7, maxNewTokens: 6 },
  });
  await compareTraces(models["t5-gated-untied"], lettersOf([5, 9, 20, 7, 8, 30, 11]), {
    ...{ doSample: true, seed: 3, numReturnSequences: 3, maxNewTokens: 5 },
  });
});

test("a GNMT score is the sum over ((5 + length) / 6) ^ lengthPenalty", async () => {
  const orders = new Set();
  for (const lengthPenalty of [0, 1, 2, 4]) {
    const texts = cases.slice(0, 8).map(({ sources }) => lettersOf(sources[0]));
    const results = await models["t5-relu-tied"].run(texts, {
      ...{ numBeams: 5, numReturnSequences: 5, maxNewTokens: 12, lengthPenalty },
      lengthPenaltyForm: "gnmt",
    });
    for (const { sequences } of results) {
      for (const { tokens, score } of sequences) {
        const sum = tokens.reduce((total, { logProbability }) => total + logProbability, 0);
        assert.ok(close(score, sum / ((5 + tokens.length) / 6) ** lengthPenalty));
      }
      const scores = sequences.map(({ score }) => score);
      assert.deepEqual(
        scores,
        scores.slice().sort((a, b) => b - a),
      );
    }
    orders.add(results.map(({ text }) => text).join());
  }
  assert.ok(orders.size > 1, "the penalty changes what is best");
});

test("score sees what the search saw, of one pair and of many", async () => {
  const model = models["t5-gated-untied"];
  const sources = [
    [11, 5, 15],
    [9, 39, 4, 2, 8, 8],
  ].map(lettersOf);
  const results = await model.run(sources, { maxNewTokens: 10 });
  const targets = results.map(({ tokens }) => tokens.map(({ id }) => id));
  const scored = await model.score(sources, targets);
  for (const [i, { tokens, score, error }] of scored.entries()) {
    assert.equal(error, null);
    assert.ok(Math.abs(score - results[i].score) < 1e-5);
    tokens.forEach(({ id, logProbability }, j) => {
      assert.equal(id, targets[i][j]);
      assert.ok(Math.abs(logProbability - results[i].tokens[j].logProbability) < 1e-5);
    });
    assert.deepEqual(await model.score(sources[i], targets[i]), scored[i]);
  }
});

test("a source of 2,048 tokens is read as the reference reads it", async () => {
  const long = JSON.parse(readFileSync(join(golden("generation"), "long.json"), "utf8"));
  assert.equal(long.cases.length, 2);
  for (const { folder, source, ids, score, hidden } of long.cases) {
    assert.equal(source.length, 2048);
    const text = lettersOf(source);
    const { values, shape } = await models[folder].encode(text);
    for (const [row, expected] of Object.entries(hidden)) {
      const found = values.slice(Number(row) * shape[1], (Number(row) + 1) * shape[1]);
      assert.ok(largestDifference(found, expected) < 1e-4, `${folder} row ${row}`);
    }
    const result = await models[folder].run(text, { maxNewTokens: 40 });
    assert.deepEqual(
      result.tokens.map(({ id }) => id),
      ids,
    );
    assert.ok(close(result.score, score));
    assert.deepEqual([result.stats.sourceLength, result.stats.truncatedTokens], [2048, 0]);
  }
});
