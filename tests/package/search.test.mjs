// What a search promises: its options and their contradictions, stops, constraints, samples, streams, many texts.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Model, perplexity, RelataError } from "relata";
import {
  errorOf,
  filesOf,
  golden,
  goldenJson,
  largestDifference,
  letterFilesOf,
  lettersOf,
  readTensors,
  repository,
} from "./fixtures.mjs";

const name = "t5-gated-untied";
const files = letterFilesOf(name);
const { cases } = goldenJson(name);
const found = cases.find(({ source_ids }) => source_ids.length === 7);
const source = lettersOf(found.source_ids);
const greedy = found.greedy_ids;
const idsOf = ({ tokens }) => tokens.map(({ id }) => id);
const bare = (result) => ({ ...result, stats: { ...result.stats, encodeMs: 0, decodeMs: 0 } });

let model;
let captions;
before(async () => {
  model = await Model.load(files);
  captions = await Model.load(join(repository, "models/captions-en-de"));
});
after(() => {
  model.dispose();
  captions.dispose();
});

test("options: out of range, of the wrong kind, without effect or against each other, by their names", async () => {
  const wrong = [
    [{ num_beams: 2 }, "num_beams", 'the nearest is "numBeams"'],
    [{ numBeam: 2 }, "numBeam", 'the nearest is "numBeams"'],
    [{ noRepeatNGramSize: 2 }, "noRepeatNGramSize", '"noRepeatNgramSize"'],
    [{ stopString: ["a"] }, "stopString", '"stopStrings"'],
    [{ numBeams: 0 }, "numBeams", "integer"],
    [{ numBeams: 257 }, "numBeams", "must be from 1 to 256, not 257"],
    [{ numBeams: "4" }, "numBeams", 'got "4"'],
    [{ numReturnSequences: 2 }, "numReturnSequences", "(numBeams)"],
    [{ numBeams: 2, numReturnSequences: 3 }, "numReturnSequences", "only 2 beams"],
    [{ numBeams: 2, doSample: true }, "numBeams", "doSample"],
    [{ lengthPenalty: 2 }, "lengthPenalty", "of beams only"],
    [{ earlyStopping: true }, "earlyStopping", "of beams only"],
    [{ lengthPenaltyForm: "gnmt" }, "lengthPenaltyForm", "of beams only"],
    [{ numBeams: 2, lengthPenaltyForm: "google" }, "lengthPenaltyForm", '"power", "gnmt"'],
    [{ numBeams: 2, earlyStopping: "yes" }, "earlyStopping", 'true, "never"'],
    [{ numBeams: 2, lengthPenalty: Number.NaN }, "lengthPenalty", "got NaN"],
    ...["temperature", "topK", "topP", "minP", "typicalP", "seed"].map((option) => [
      ...[{ [option]: 1 }, option, "of sampling only, and doSample is false"],
    ]),
    [{ doSample: true, temperature: 0 }, "temperature", "positive"],
    [{ doSample: true, topP: 1.5 }, "topP", "at most 1"],
    [{ doSample: true, seed: 2 ** 32 }, "seed", "4294967295"],
    [{ doSample: "yes" }, "doSample", "true or false"],
    [{ repetitionPenalty: -1 }, "repetitionPenalty", "positive"],
    [{ minNewTokens: 9, maxNewTokens: 8 }, "minNewTokens", "maxNewTokens"],
    [{ badWordsIds: [[]] }, "badWordsIds", "without tokens"],
    [{ badWordsIds: [3] }, "badWordsIds[0]", "array"],
    [{ badWords: "dog" }, "badWords", "array"],
    [{ badWords: [""] }, "badWords[0]", "not empty"],
    [{ suppressTokens: [40] }, "suppressTokens", "0 to 39, not 40"],
    [{ suppressTokens: [1.5] }, "suppressTokens[0]", "integer"],
    [{ beginSuppressTokens: [40] }, "beginSuppressTokens", "39"],
    [{ stopTokenIds: [99] }, "stopTokenIds", "39"],
    [{ forcedBosTokenId: 40 }, "forcedBosTokenId", "39"],
    [{ forcedEosTokenId: [40] }, "forcedEosTokenId", "39"],
    [{ decoderStartTokenId: 40 }, "decoderStartTokenId", "39"],
    [{ allowedStrings: [] }, "allowedStrings", "empty"],
    [{ allowedSequences: [[40]] }, "allowedSequences", "39"],
    [{ allowedTokens: [3] }, "allowedTokens", "function"],
    [{ maxRepeatNgram: 3 }, "maxRepeatNgram", "maxRepeats is 0"],
    [{ stopStrings: ["a"], numBeams: 2 }, "stopStrings", "not with beams"],
    [
      { stopStrings: ["a"], doSample: true, numReturnSequences: 2 },
      ...["stopStrings", "several samples"],
    ],
    [{ targetPrefix: 3 }, "targetPrefix", "array"],
    [{ batchSize: 0 }, "batchSize", "integer"],
    [{ batchSize: 5000 }, "batchSize", "4096"],
    [{ maxSourceTokens: 0 }, "maxSourceTokens", "integer"],
  ];
  for (const [options, where, words] of wrong) {
    // An empty text does not make it right.
    for (const text of [source, ""]) {
      const error = await errorOf(() => model.run(text, options));
      assert.ok(error instanceof RelataError, JSON.stringify(options));
      assert.deepEqual([error.code, error.where], ["option_invalid", where], error.message);
      assert.ok(error.message.includes(words) && !/[a-z]_[a-z]/.test(words), error.message);
    }
  }
  const prefix = await errorOf(() => model.run(source, { targetPrefix: [99] }));
  assert.deepEqual([prefix.code, prefix.where.split(" ")[0]], ["input_invalid", "targetPrefix"]);
});

test("the model's own search is the default of every option, and the call's options win", async () => {
  const search = {
    ...{ num_beams: 3, num_return_sequences: 2, length_penalty: 0.3, early_stopping: true },
    ...{ no_repeat_ngram_size: 2, max_new_tokens: 9, suppress_tokens: [24] },
    ...{ forced_bos_token_id: 9, forced_eos_token_id: 7 },
  };
  const own = JSON.parse(Buffer.from(files["generation_config.json"]));
  const config = new TextEncoder().encode(JSON.stringify({ ...own, ...search }));
  const beams = await Model.load({ ...files, "generation_config.json": config });
  assert.deepEqual(beams.info.search, {
    ...{ numBeams: 3, numReturnSequences: 2, doSample: false, maxNewTokens: 9 },
  });
  const given = {
    ...{ numBeams: 3, numReturnSequences: 2, lengthPenalty: 0.3, earlyStopping: true },
    ...{ noRepeatNgramSize: 2, maxNewTokens: 9, suppressTokens: [24] },
    ...{ forcedBosTokenId: 9, forcedEosTokenId: 7 },
  };
  assert.deepEqual(bare(await beams.run(source)), bare(await model.run(source, given)));
  const none = {
    ...{ numBeams: 1, numReturnSequences: 1, noRepeatNgramSize: 0, maxNewTokens: 12 },
    ...{ suppressTokens: [], forcedBosTokenId: null, forcedEosTokenId: null },
  };
  assert.deepEqual(idsOf(await beams.run(source, none)), greedy.slice(0, 12));
  // Sampling is asked of a model whose own search is by beams.
  const mixed = await errorOf(() => beams.run(source, { doSample: true }));
  assert.deepEqual([mixed.code, mixed.where], ["option_invalid", "numBeams"]);
  beams.dispose();
});

test("a text ends for a reason: the end token, the length, a stop token, a stop string, a loop", async () => {
  const end = greedy.indexOf(2);
  const cases = [
    [{ maxNewTokens: 40 }, "eos", end + 1],
    [{ maxNewTokens: 5 }, "length", 5],
    [{ stopTokenIds: [13, 3] }, "stop_token", greedy.indexOf(3) + 1],
    [{ stopStrings: [lettersOf([99]), lettersOf(greedy.slice(4, 7))] }, "stop_string", 7],
    [{ maxRepeats: 1 }, "loop", 7],
    [{ maxRepeats: 1, maxRepeatNgram: 1 }, "loop", 11],
  ];
  assert.deepEqual(greedy.slice(0, 11), [29, 24, 3, 24, 13, 24, 13, 24, 30, 34, 34]);
  for (const [options, finishReason, length] of cases) {
    const result = await model.run(source, { maxNewTokens: 40, ...options });
    assert.equal(result.finishReason, finishReason);
    assert.deepEqual(idsOf(result), greedy.slice(0, length));
    assert.equal(result.text, lettersOf(greedy.slice(0, length)));
  }
  // A stop string in the target prefix has come before, and one that begins there has not.
  const targetPrefix = greedy.slice(0, 3);
  const stopStrings = [lettersOf(greedy.slice(1, 3)), lettersOf(greedy.slice(2, 5))];
  const behind = await model.run(source, { targetPrefix, stopStrings });
  assert.deepEqual(
    [behind.finishReason, idsOf(behind), behind.stats.prefixLength, behind.stats.newTokens],
    ["stop_string", greedy.slice(0, 5), 3, 2],
  );
  // Of many texts, those end that have it.
  const stop = { stopStrings: ["Schnee"] };
  const [ended, other] = await captions.run(
    ["Two dogs are playing in the snow.", "Two dogs are playing."],
    stop,
  );
  assert.deepEqual(
    [ended.text, ended.finishReason],
    ["Zwei Hunde spielen im Schnee", "stop_string"],
  );
  assert.deepEqual(bare(other), bare(await captions.run("Two dogs are playing.")));
});

test("only these strings, with beams, as they score; and no bad words", async () => {
  const text = "Two dogs are playing in the snow.";
  const allowedStrings = ["Ja", "Zwei Hunde", "Zwei Katzen", "Nein, danke"];
  const { sequences } = await captions.run(text, {
    ...{ allowedStrings, numBeams: 4, numReturnSequences: 4, lengthPenalty: 0 },
  });
  const scored = await captions.score(Array(4).fill(text), allowedStrings);
  const best = allowedStrings
    .map((string, i) => ({ text: string, score: scored[i].score }))
    .sort((a, b) => b.score - a.score);
  assert.deepEqual(
    sequences.map((one) => one.text),
    best.map((one) => one.text),
  );
  const scores = [sequences, best].map((list) => list.map(({ score }) => score));
  assert.ok(largestDifference(...scores) < 1e-3);
  const plain = await captions.run(text);
  assert.match(plain.text, /Hunde.*Schnee/);
  const without = await captions.run(text, { badWords: ["Hunde", "Schnee"] });
  assert.doesNotMatch(without.text, /\b(Hunde|Schnee)\b/);
  const behind = await captions.run(text, { targetPrefix: "Drei" });
  assert.match(behind.text, /^Drei /);
  assert.equal(behind.stats.prefixLength, (await captions.run(text)).stats.prefixLength + 1);
});

test("allowedTokens: asked for each hypothesis; its own errors and wrong answers end the call", async () => {
  const asked = [];
  const allowedTokens = (prefixIds, item) => {
    asked.push([item, prefixIds.length]);
    return prefixIds.length < 3 ? [5 + item, 9] : [2];
  };
  const results = await model.run([source, lettersOf([8, 9])], { allowedTokens, numBeams: 2 });
  for (const [item, result] of results.entries()) {
    assert.ok(
      idsOf(result)
        .slice(0, -1)
        .every((id) => id === 5 + item || id === 9),
    );
    assert.deepEqual([result.tokens.length, result.finishReason], [4, "eos"]);
  }
  assert.ok(asked.some(([item, length]) => item === 1 && length === 2));
  const mine = new Error("mine");
  const fail = () => {
    throw mine;
  };
  assert.equal(await errorOf(() => model.run(source, { allowedTokens: fail })), mine);
  for (const [answer, where] of [
    [7, "allowedTokens"],
    [null, "allowedTokens"],
    [[1.5], "allowedTokens[0]"],
    [[40], "allowedTokens"],
  ]) {
    const error = await errorOf(() => model.run(source, { allowedTokens: () => answer }));
    assert.deepEqual([error.code, error.where], ["option_invalid", where]);
  }
  // Nothing to go on with concerns one text alone.
  const some = (_, item) => (item === 0 ? [] : [2]);
  const [none, one] = await model.run([source, source], { allowedTokens: some });
  assert.deepEqual([none.finishReason, none.error.code], ["failed", "option_invalid"]);
  assert.deepEqual(idsOf(one), [2]);
  assert.equal(
    (await errorOf(() => model.run(source, { allowedTokens: some }))).code,
    "option_invalid",
  );
});

test("samples: a seed gives the same again, another something else, topK 1 the greedy text", async () => {
  const sampling = { doSample: true, temperature: 2, maxNewTokens: 12, numReturnSequences: 3 };
  const [one, two, other] = [
    await model.run(source, { ...sampling, seed: 5 }),
    await model.run(source, { ...sampling, seed: 5 }),
    await model.run(source, { ...sampling, seed: 6 }),
  ];
  assert.deepEqual(bare(one), bare(two));
  assert.equal(one.sequences.length, 3);
  assert.notDeepEqual(one.sequences, other.sequences);
  assert.ok(new Set(one.sequences.map(({ text }) => text)).size > 1);
  // Without a seed one is drawn and told.
  const drawn = await model.run(source, sampling);
  assert.deepEqual(
    bare(await model.run(source, { ...sampling, seed: drawn.stats.seed })),
    bare(drawn),
  );
  const first = await model.run(source, { doSample: true, topK: 1, maxNewTokens: 12 });
  assert.deepEqual(idsOf(first), greedy.slice(0, 12));
  assert.equal((await model.run(source)).stats.seed, null);
  // The streamed text is that of the first one, wherever the others end.
  for (let seed = 0; seed < 20; seed++) {
    const options = { ...sampling, seed };
    let streamed = "";
    const steps = model.generate(source, options);
    let next = await steps.next();
    for (; !next.done; next = await steps.next()) streamed += next.value.text;
    assert.equal(streamed, next.value.text);
  }
});

test("a web stream of the text; cancelling it and aborting it", async () => {
  const text = "Two dogs are playing in the snow.";
  for (const options of [{}, { numBeams: 3 }]) {
    const pieces = [];
    for await (const piece of captions.stream(text, options)) pieces.push(piece);
    assert.ok(
      pieces.length > 2 && pieces.every((piece) => piece !== "" && !piece.includes("\u{FFFD}")),
    );
    assert.equal(pieces.join(""), (await captions.run(text, options)).text);
  }
  const reader = captions.stream(text).getReader();
  assert.equal((await reader.read()).value, "Zwei");
  await reader.cancel();
  const controller = new AbortController();
  const aborted = captions.stream(text, { signal: controller.signal }).getReader();
  await aborted.read();
  controller.abort();
  assert.equal((await errorOf(() => aborted.read())).name, "AbortError");
  assert.throws(() => captions.stream(["a", "b"]), { code: "input_invalid" });
});

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

test("calls that overlap, of every kind of search, give what they give in sequence", async () => {
  const searches = [
    { numBeams: 4, numReturnSequences: 2 },
    {},
    { doSample: true, seed: 9 },
    { numBeams: 2, noRepeatNgramSize: 2 },
  ].map((options) => ({ maxNewTokens: 15, ...options }));
  const texts = [source, lettersOf([8, 9, 10])];
  const sequence = [];
  for (const options of searches) sequence.push(...(await model.run(texts, options)));
  const overlapping = await Promise.all(searches.map((options) => model.run(texts, options)));
  assert.deepEqual(overlapping.flat().map(bare), sequence.map(bare));
});

test("an abort ends every kind of search within one step", async () => {
  const texts = Array(40).fill(source);
  for (const options of [{}, { numBeams: 3 }, { doSample: true }]) {
    const controller = new AbortController();
    const steps = model.generate(texts, { ...options, signal: controller.signal });
    await steps.next();
    controller.abort();
    assert.equal((await errorOf(() => steps.next())).name, "AbortError");
  }
  const controller = new AbortController();
  const allowedTokens = () => {
    controller.abort();
    return [3];
  };
  const asking = model.run(source, { allowedTokens, signal: controller.signal });
  assert.equal((await errorOf(asking)).name, "AbortError");
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

test("an abort or a disposal ends a call that waits for allowed tokens", async () => {
  const waits = { allowedTokens: () => new Promise(() => {}) };
  const own = await Model.load(filesOf("shaw"));
  const controller = new AbortController();
  const reason = new Error("enough");
  const aborted = own.run("the dog runs", { ...waits, signal: controller.signal });
  setImmediate(() => controller.abort(reason));
  assert.equal(await errorOf(aborted), reason);
  const disposed = own.run("the dog runs", waits);
  setImmediate(() => own.dispose());
  assert.equal((await errorOf(disposed)).code, "disposed");
});
