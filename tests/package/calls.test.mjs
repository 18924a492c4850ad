// What the calls of a loaded model promise: streams, aborting, overlapping, dispose, checked options.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Model } from "relata";
import { codeOf, errorOf, golden, goldenJson } from "./fixtures.mjs";

const texts = goldenJson("t5-gated-untied").texts;
const [first, second] = texts;
let model;
before(async () => {
  model = await Model.load(golden("t5-gated-untied"));
});
after(() => model.dispose());

test("the generator returns what run gives, and its steps are the tokens", async () => {
  const steps = [];
  const generation = model.generate(first.text);
  let next = await generation.next();
  for (; !next.done; next = await generation.next()) steps.push(next.value);
  const result = await model.run(first.text);
  assert.deepEqual({ ...next.value, stats: null }, { ...result, stats: null });
  assert.deepEqual(
    steps.map(({ index }) => index),
    steps.map((_, i) => i),
  );
  assert.deepEqual(
    steps.map(({ id, piece, logProbability }) => ({ id, piece, logProbability })),
    result.tokens,
  );
  assert.equal(result.finishReason, "eos");
  assert.equal(result.tokens.at(-1).id, 2);
  assert.ok(result.tokens.every(({ logProbability }) => logProbability <= 0));
});

test("maxNewTokens ends the text", async () => {
  const result = await model.run(first.text, { maxNewTokens: 3 });
  assert.equal(result.finishReason, "length");
  assert.deepEqual(
    result.tokens.map(({ id }) => id),
    first.generated_ids.slice(0, 3),
  );
});

test("score gives what generating saw", async () => {
  const long = await model.run(first.text);
  const scored = await model.score(first.text, long.text);
  // Where the text reads back as the tokens it was made of, every probability is the same.
  const same = scored.tokens.map(({ id }) => id).join() === long.tokens.map(({ id }) => id).join();
  if (same) assert.ok(Math.abs(scored.score - long.score) < 1e-4);
  assert.ok(scored.tokens.at(-1).id === 2 && scored.score < 0);
});

test("leaving the loop stops, and the model goes on working", async () => {
  let seen = 0;
  for await (const _ of model.generate(first.text)) {
    seen += 1;
    if (seen === 2) break;
  }
  assert.equal((await model.run(first.text)).text, first.generated_text);
});

test("overlapping calls give what they give alone", async () => {
  const results = await Promise.all(texts.map(({ text }) => model.run(text)));
  assert.deepEqual(
    results.map(({ text }) => text),
    texts.map(({ generated_text }) => generated_text),
  );
  const streams = texts.map(({ text }) => model.generate(text));
  const joined = texts.map(() => "");
  for (let open = streams.length; open > 0; ) {
    for (const [i, stream] of streams.entries()) {
      const { done, value } = await stream.next();
      if (done && value !== undefined) open -= 1;
      else if (!done) joined[i] += value.text;
    }
  }
  assert.deepEqual(
    joined,
    texts.map(({ generated_text }) => generated_text),
  );
});

test("aborting: before, between two steps, and while one is awaited", async () => {
  const reason = new Error("enough");
  const calls = [
    (signal) => model.run(first.text, { signal }),
    (signal) => model.score(first.text, "dog", { signal }),
    (signal) => model.attend(first.text, "dog", { signal }),
    (signal) => model.generate(first.text, { signal }).next(),
  ];
  for (const call of calls) {
    assert.equal(await errorOf(call(AbortSignal.abort(reason))), reason);
    const controller = new AbortController();
    const pending = call(controller.signal);
    controller.abort(reason);
    assert.equal(await errorOf(pending), reason);
  }

  const controller = new AbortController();
  const steps = [];
  const error = await errorOf(async () => {
    for await (const step of model.generate(first.text, { signal: controller.signal })) {
      steps.push(step);
      if (steps.length === 2) controller.abort();
    }
  });
  assert.equal(error.name, "AbortError");
  assert.equal(steps.length, 2);

  // The event loop turns between steps: a timer gets through.
  const timed = new AbortController();
  setImmediate(() => timed.abort(reason));
  assert.equal(await errorOf(model.run(first.text, { signal: timed.signal })), reason);
  assert.equal((await model.run(first.text)).text, first.generated_text);
});

test("an empty text gives the empty result, and no step", async () => {
  for (const text of ["", " \n\t "]) {
    const nothing = { text: "", tokens: [], score: 0, finishReason: "eos" };
    assert.deepEqual(await model.run(text, { trace: { kinds: ["cross"] } }), {
      ...nothing,
      sequences: [nothing],
      stats: {
        ...{ sourceLength: 0, truncatedTokens: 0, prefixLength: 0, newTokens: 0 },
        ...{ seed: null, encoderRuns: 0, encodeMs: 0, decodeMs: 0 },
      },
      trace: [],
      error: null,
    });
    for await (const step of model.generate(text)) assert.fail(`a step: ${step.text}`);
    assert.deepEqual(await model.tokenize(text), []);
    assert.equal(await codeOf(model.score(text, "dog")), "input_invalid");
    assert.equal(await codeOf(model.attend(text, "dog")), "input_invalid");
  }
  const { target, trace } = await model.attend("dog", "");
  assert.deepEqual(
    target.map(({ id }) => id),
    [0],
  );
  assert.ok(
    trace.every(({ kind, queryTokens }) => kind === "encoder_self" || queryTokens.length === 1),
  );
});

test("options: unknown names say the nearest, values are checked", async () => {
  const wrong = [
    [{ max_new_tokens: 3 }, "max_new_tokens", '"maxNewTokens"'],
    [{ maxNewToken: 3 }, "maxNewToken", '"maxNewTokens"'],
    [{ traces: {} }, "traces", '"trace"'],
    [{ zeal: 4 }, "zeal", "unknown option; expected one of maxNewTokens, minNewTokens, "],
    [{ trace: { kind: ["cross"] } }, "trace.kind", '"kinds"'],
    [{ trace: { kinds: ["encoder"] } }, "trace.kinds[0]", '"encoder_self"'],
    [{ trace: { kinds: [] } }, "trace.kinds", "is empty: expected some of encoder_self, "],
    [{ trace: { kinds: ["sideways"] } }, "trace.kinds[0]", "expected one of encoder_self, "],
    [{ trace: {} }, "trace.kinds", "array"],
    [{ trace: true }, "trace", "object"],
    [{ trace: { kinds: ["cross"], layers: [9] } }, "trace.layers[0]", "0 to 1"],
    [{ trace: { kinds: ["cross"], layers: [2] } }, "trace.layers[0]", "0 to 1"],
    [{ trace: { kinds: ["cross"], heads: [-1] } }, "trace.heads[0]", "0 to 2"],
    [{ trace: { kinds: ["cross"], heads: ["0"] } }, "trace.heads[0]", "integer"],
    [{ trace: { kinds: ["cross"], layers: [] } }, "trace.layers", "empty"],
    [{ maxNewTokens: 0 }, "maxNewTokens", "integer"],
    [{ maxNewTokens: 1.5 }, "maxNewTokens", "integer"],
    [{ maxNewTokens: "9" }, "maxNewTokens", "integer"],
    [{ maxNewTokens: Number.NaN }, "maxNewTokens", "integer"],
    [{ maxNewTokens: 2 ** 20 + 1 }, "maxNewTokens", "from 1 to 1048576"],
    [{ maxNewTokens: 2 ** 32 + 1 }, "maxNewTokens", "integer"],
    [{ signal: {} }, "signal", "AbortSignal"],
    [{ relation: { labels: "x" } }, "relation.labels", "takes no labels"],
  ];
  for (const [options, where, words] of wrong) {
    for (const action of [
      () => model.run("dog", options),
      async () => model.generate("dog", options).next(),
    ]) {
      const error = await errorOf(action);
      assert.deepEqual([error.code, error.where], ["option_invalid", where], error.message);
      assert.ok(error.message.includes(words), error.message);
    }
  }
  assert.equal(await codeOf(model.score("dog", "dog", { maxNewTokens: 3 })), "option_invalid");
  assert.equal(await codeOf(model.run("dog", 3)), "option_invalid");
  for (const text of [undefined, null, 7, { text: "dog" }]) {
    assert.equal(await codeOf(model.run(text)), "input_invalid");
    assert.equal(await codeOf(model.score("dog", text)), "input_invalid");
  }
});

test("a text longer than memory allows is refused with its bytes, and the model goes on", async () => {
  // The longest text there may be is no option out of range.
  const most = model.generate("dog", { maxNewTokens: 2 ** 20 });
  assert.equal((await most.next()).done, false);
  await most.return();
  // A trace of n x n scores: 40,000 tokens squared are 6.4 GB for one head.
  const long = await errorOf(
    model.run("a ".repeat(40_000), {
      maxNewTokens: 1,
      trace: { kinds: ["encoder_self"], layers: [0], heads: [0] },
    }),
  );
  assert.equal(long.code, "out_of_memory");
  assert.match(long.message, /\d{6,}/);
  assert.equal((await model.run(first.text)).text, first.generated_text);
});

test("a timer that is due comes before the work", async () => {
  for (const call of [
    (signal) => model.score(first.text, "dog", { signal }),
    (signal) => model.generate(first.text, { signal }).next(),
  ]) {
    const signal = AbortSignal.timeout(1);
    const start = performance.now();
    while (performance.now() - start < 20);
    assert.equal(signal.aborted, false);
    assert.equal((await errorOf(call(signal))).name, "TimeoutError");
  }
});

test("dispose: twice, before use, and in the middle of a text", async () => {
  const other = await Model.load(golden("t5-gated-untied"));
  const generation = other.generate(first.text);
  await generation.next();
  const running = other.run(second.text);
  const idle = other.generate(first.text);
  other.dispose();
  other.dispose();
  assert.equal(await codeOf(generation.next()), "disposed");
  assert.equal(await codeOf(running), "disposed");
  assert.equal(await codeOf(idle.next()), "disposed");
  for (const call of [
    () => other.run("dog"),
    async () => other.generate("dog").next(),
    () => other.score("dog", "dog"),
    () => other.attend("dog", "dog"),
    () => other.tokenize("dog"),
  ]) {
    assert.equal(await codeOf(call), "disposed");
  }
  assert.equal((await model.run(first.text)).text, first.generated_text);
  const again = await Model.load(golden("t5-gated-untied"));
  assert.equal((await again.run(first.text)).text, first.generated_text);
  if (Symbol.dispose) again[Symbol.dispose]();
  else again.dispose();
  assert.equal(await codeOf(again.run("dog")), "disposed");
});
