// What the calls of a loaded model promise: streams, aborting, overlapping, dispose, checked options, copies.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Model, RelataError } from "relata";
import {
  errorOf,
  filesOf,
  golden,
  goldenJson,
  largestDifference,
  letterFilesOf,
  lettersOf,
  readTensors,
} from "./fixtures.mjs";

const texts = goldenJson("t5-gated-untied").texts;
const [first, second] = texts;
let model;
before(async () => {
  model = await Model.load(golden("t5-gated-untied"));
});
after(() => model.dispose());

async function code(action) {
  const error = await errorOf(action);
  assert.ok(error instanceof RelataError, String(error?.stack ?? error));
  return error.code;
}

test("the model describes itself", () => {
  const { info } = model;
  const config = JSON.parse(readFileSync(join(golden("t5-gated-untied"), "config.json"), "utf8"));
  assert.equal(info.modelType, "t5");
  assert.deepEqual(
    [
      info.vocabSize,
      info.dModel,
      info.dFf,
      info.numHeads,
      info.headDim,
      info.numEncoderLayers,
      info.numDecoderLayers,
    ],
    [
      config.vocab_size,
      config.d_model,
      config.d_ff,
      config.num_heads,
      config.d_kv,
      config.num_layers,
      config.num_decoder_layers,
    ],
  );
  const { encoder_self, decoder_self } = info.relation;
  assert.deepEqual([encoder_self.index, encoder_self.effect], ["bucketed_distance", "bias"]);
  assert.equal(encoder_self.numRelations, config.relative_attention_num_buckets);
  // Distance 0 is bucket 0; the first distance to the future is the second half's first that is used.
  const id = (relation, distance) => relation.ids[distance - relation.firstDistance];
  assert.deepEqual([id(encoder_self, 0), id(encoder_self, -1), id(encoder_self, 1)], [0, 1, 7]);
  assert.deepEqual([id(decoder_self, 0), id(decoder_self, -1), id(decoder_self, -2)], [0, 1, 2]);
  const elements = info.tensors.reduce(
    (sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1),
    0,
  );
  assert.equal(
    info.tensors.reduce((sum, { bytes }) => sum + bytes, 0),
    4 * elements,
  );
  assert.ok(info.weightBytes >= 4 * (elements - 2 * config.vocab_size * config.d_model));
});

test("a shaw model describes its relation", async () => {
  const shaw = await Model.load(filesOf("shaw"));
  const relation = shaw.info.relation.encoder_self;
  assert.deepEqual(
    [relation.index, relation.effect, relation.numRelations],
    ["clipped_distance", "vectors", 9],
  );
  assert.deepEqual([relation.keys, relation.values, relation.firstDistance], [true, true, -4]);
  assert.deepEqual([...relation.ids], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  shaw.dispose();
});

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
    assert.equal(await code(model.score(text, "dog")), "input_invalid");
    assert.equal(await code(model.attend(text, "dog")), "input_invalid");
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

test("attention: rows sum to one, and the softmax of content plus relation is the weights", async () => {
  const { trace, source, target } = await model.attend(first.text, second.text);
  const { info } = model;
  assert.equal(trace.length, info.numHeads * (info.numEncoderLayers + 2 * info.numDecoderLayers));
  const order = ["encoder_self", "decoder_self", "cross"];
  const ranks = trace.map(
    ({ kind, layer, head }) => 10000 * order.indexOf(kind) + 100 * layer + head,
  );
  assert.deepEqual(ranks, ranks.toSorted?.((a, b) => a - b) ?? [...ranks].sort((a, b) => a - b));
  for (const head of trace) {
    const [queries, keys] = [head.queryTokens.length, head.keyTokens.length];
    assert.deepEqual(head.queryTokens, head.kind === "encoder_self" ? source : target);
    assert.deepEqual(head.keyTokens, head.kind === "decoder_self" ? target : source);
    assert.equal(head.relationScores === null, head.kind === "cross");
    for (let i = 0; i < queries; i++) {
      const visible = head.kind === "decoder_self" ? i + 1 : keys;
      const row = (values) => Array.from(values.subarray(i * keys, (i + 1) * keys));
      const weights = row(head.weights);
      assert.ok(Math.abs(weights.reduce((sum, weight) => sum + weight, 0) - 1) < 1e-5);
      const content = row(head.contentScores);
      const relation =
        head.relationScores === null ? content.map(() => 0) : row(head.relationScores);
      const scores = content.map((score, j) => score + relation[j]).slice(0, visible);
      const largest = Math.max(...scores);
      const exps = scores.map((score) => Math.exp(score - largest));
      const sum = exps.reduce((a, b) => a + b);
      assert.ok(
        largestDifference(
          weights.slice(0, visible),
          exps.map((value) => value / sum),
        ) < 1e-5,
      );
      for (const hidden of [weights, content, relation])
        assert.ok(hidden.slice(visible).every((cell) => cell === 0));
    }
  }
});

test("a trace asks for kinds, layers and heads, and changes no probability", async () => {
  const plain = await model.run(first.text);
  assert.deepEqual(plain.trace, []);
  const traced = await model.run(first.text, {
    trace: { kinds: ["cross", "decoder_self"], layers: [1], heads: [2, 0] },
  });
  assert.deepEqual(traced.tokens, plain.tokens);
  assert.deepEqual(
    traced.trace.map(({ kind, layer, head }) => [kind, layer, head]),
    [
      ["decoder_self", 1, 0],
      ["decoder_self", 1, 2],
      ["cross", 1, 0],
      ["cross", 1, 2],
    ],
  );
  for (const head of traced.trace) {
    assert.equal(head.queryTokens.length, plain.tokens.length);
    assert.equal(head.queryTokens[0].id, 0);
    assert.equal(head.weights.length, head.queryTokens.length * head.keyTokens.length);
  }
  // Only the encoder has a third layer.
  const deep = await model.run(first.text, {
    trace: { kinds: ["encoder_self", "cross"], layers: [2] },
  });
  assert.ok(deep.trace.length > 0 && deep.trace.every(({ kind }) => kind === "encoder_self"));
});

test("the trace of a generation is the trace of a pass over its tokens", async () => {
  const letters = await Model.load(letterFilesOf("t5-gated-untied"));
  const [, { source_ids }] = goldenJson("t5-gated-untied").cases;
  const trace = { kinds: ["decoder_self", "cross"] };
  const made = await letters.run(lettersOf(source_ids), { maxNewTokens: 20, trace });
  const forced = await letters.attend(lettersOf(source_ids), made.text, { trace });
  assert.equal(made.trace.length, forced.trace.length);
  for (const [i, head] of made.trace.entries()) {
    const [rows, keys] = [head.queryTokens.length, head.keyTokens.length];
    const other = forced.trace[i];
    for (let row = 0; row < rows; row++) {
      const length = head.kind === "cross" ? keys : row + 1;
      const of = ({ weights, keyTokens }) =>
        weights.slice(row * keyTokens.length, row * keyTokens.length + length);
      assert.ok(largestDifference(of(head), of(other)) < 1e-5);
    }
  }
  letters.dispose();
});

test("arrays handed out are copies: they outlive growth of the heap and the model", async () => {
  const other = await Model.load(golden("t5-gated-untied"));
  const { trace } = await other.attend(first.text, second.text);
  const before = trace.map(({ weights }) => Array.from(weights));
  const ids = Array.from(other.info.relation.encoder_self.ids);
  // Several hundred tokens want more heap than the module starts with.
  await other.run("the dog ".repeat(3000), { maxNewTokens: 1 });
  other.dispose();
  trace.forEach(({ weights }, i) => {
    assert.deepEqual(Array.from(weights), before[i]);
  });
  assert.deepEqual(Array.from(other.info.relation.encoder_self.ids), ids);
});

test("labels: needed, n x n, in range", async () => {
  const name = "labels-vectors";
  const labelled = await Model.load(letterFilesOf(name));
  const found = goldenJson(name).cases.find(({ source_ids }) => source_ids.length === 7);
  const text = lettersOf(found.source_ids);
  const labels = Int32Array.from(
    readTensors(join(golden(name), "expected.safetensors"))[`${found.name}.labels`].data,
  );
  const { tokens } = await labelled.run(text, { relation: { labels: Array.from(labels) } });
  assert.deepEqual(
    tokens.map(({ id }) => id),
    found.greedy_ids.slice(0, tokens.length),
  );

  const none = await errorOf(labelled.run(text));
  assert.deepEqual([none.code, none.where], ["input_invalid", "relation.labels"]);
  assert.equal(
    await code(labelled.run(text, { relation: { labels: labels.slice(1) } })),
    "option_invalid",
  );
  const { numRelations } = labelled.info.relation.encoder_self;
  for (const wrong of [-1, numRelations, 2 ** 31 - 1]) {
    const changed = Array.from(labels);
    changed[5] = wrong;
    const calls = [
      () => labelled.run(text, { relation: { labels: changed } }),
      () => labelled.score(text, text, { relation: { labels: changed } }),
    ];
    for (const call of calls) {
      const { code, where, message } = await errorOf(call);
      assert.deepEqual([code, where], ["input_invalid", "relation.labels[0][5]"]);
      assert.ok(message.startsWith(`${where}: `), message);
    }
  }
  assert.equal(await code(labelled.run(text, { relation: { labels: [0.5] } })), "option_invalid");
  const notLabels = await errorOf(labelled.run(text, { relation: { labels: "x" } }));
  assert.deepEqual([notLabels.code, notLabels.where], ["option_invalid", "relation.labels"]);
  assert.match(notLabels.message, /expected an Int32Array/);
  assert.equal(await code(labelled.run(text, { relation: { label: labels } })), "option_invalid");
  assert.equal((await labelled.run(text, { relation: { labels } })).text.length > 0, true);
  labelled.dispose();
  // A model by distance takes none.
  const count = (await model.tokenize("dog")).length ** 2;
  for (const relation of [{ labels: new Array(count).fill(0) }, { labels: [] }]) {
    const { code, where, message } = await errorOf(model.run("dog", { relation }));
    assert.deepEqual([code, where], ["option_invalid", "relation.labels"]);
    assert.match(message, /this model takes no labels: its relation is by bucketed_distance/);
  }
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
  assert.equal(await code(model.score("dog", "dog", { maxNewTokens: 3 })), "option_invalid");
  assert.equal(await code(model.run("dog", 3)), "option_invalid");
  for (const text of [undefined, null, 7, { text: "dog" }]) {
    assert.equal(await code(model.run(text)), "input_invalid");
    assert.equal(await code(model.score("dog", text)), "input_invalid");
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
  assert.equal(await code(generation.next()), "disposed");
  assert.equal(await code(running), "disposed");
  assert.equal(await code(idle.next()), "disposed");
  for (const call of [
    () => other.run("dog"),
    async () => other.generate("dog").next(),
    () => other.score("dog", "dog"),
    () => other.attend("dog", "dog"),
    () => other.tokenize("dog"),
  ]) {
    assert.equal(await code(call), "disposed");
  }
  assert.equal((await model.run(first.text)).text, first.generated_text);
  const again = await Model.load(golden("t5-gated-untied"));
  assert.equal((await again.run(first.text)).text, first.generated_text);
  if (Symbol.dispose) again[Symbol.dispose]();
  else again.dispose();
  assert.equal(await code(again.run("dog")), "disposed");
});
