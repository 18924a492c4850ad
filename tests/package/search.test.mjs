// What a search promises: stops, constraints, samples, streams.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Model } from "relata";
import { errorOf, filesOf, largestDifference, lettersOf } from "./fixtures.mjs";
import { bare, captions, greedy, idsOf, model, source } from "./search-fixtures.mjs";

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
