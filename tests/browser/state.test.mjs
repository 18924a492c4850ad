// The state and its one function: what each event changes.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { importModules } from "./modules.mjs";

let page;
before(async () => {
  page = await importModules();
});

const search = { numBeams: 1, numReturnSequences: 1, doSample: false, maxNewTokens: 80 };
const info = { numEncoderLayers: 4, numDecoderLayers: 2, numHeads: 2, search };

const tokens = (count) => Array.from({ length: count }, (_, id) => ({ id, piece: `t${id}` }));

function trace(kind, layer, numQueries, numKeys) {
  const cells = new Float32Array(numQueries * numKeys);
  return {
    ...{ kind, layer, head: 0, queryTokens: tokens(numQueries), keyTokens: tokens(numKeys) },
    ...{ weights: cells, contentScores: cells, relationScores: kind === "cross" ? null : cells },
  };
}

/** The state after some events, from a page that has its model and a 3 to 2 translation. */
function after(...events) {
  const traces = [
    trace("encoder_self", 0, 3, 3),
    trace("encoder_self", 3, 3, 3),
    trace("decoder_self", 0, 2, 2),
    trace("decoder_self", 1, 2, 2),
    trace("cross", 0, 2, 3),
  ];
  const stats = { newTokens: 2, decodeMs: 5 };
  const result = { text: "ja", finishReason: "length", stats, trace: traces, sequences: [] };
  const all = [
    { type: "loadFinished", info, threads: 1 },
    { type: "translationFinished", result },
    ...events,
  ];
  return all.reduce(page.update, page.initialState("light", 400));
}

test("steps add up to the text and its count", () => {
  const state = after(
    { type: "translationStarted", text: "two dogs" },
    { type: "stepArrived", step: { text: "Zwei" }, ms: 3 },
    { type: "stepArrived", step: { text: " Hunde" }, ms: 7 },
  );
  assert.deepEqual(state.translation, { status: "running", text: "Zwei Hunde", tokens: 2, ms: 7 });
  assert.equal(
    page.wordsOf("en").stats(state.translation, 1),
    "2 tokens, 286 per second, 1 thread",
  );
  const stopped = page.update(state, { type: "translationStopped" });
  assert.equal(
    page.wordsOf("en").stats(stopped.translation, 2),
    "2 tokens, 286 per second, 2 threads, stopped",
  );
  assert.equal(stopped.translation.text, "Zwei Hunde");
});

test("a finished translation tells the engine's own time, and whether it was cut", () => {
  const { translation } = after();
  assert.equal(
    page.wordsOf("en").stats(translation, 1),
    "2 tokens, 400 per second, 1 thread, cut at the length limit",
  );
  const ended = { ...translation, finishReason: "eos" };
  assert.equal(page.wordsOf("en").stats(ended, 4), "2 tokens, 400 per second, 4 threads");
});

test("an empty text is not a running translation", () => {
  assert.equal(after({ type: "translationStarted", text: " \n" }).translation.status, "empty");
});

test("a new translation leaves the old pictures until its own arrive", () => {
  assert.equal(after({ type: "translationStarted", text: "x" }).traces.length, 5);
});

test("a new load leaves nothing of the old model", () => {
  const state = after({
    type: "loadStarted",
    source: { kind: "catalogue", name: "captions-en-de" },
  });
  assert.equal(state.traces.length, 0);
  assert.equal(state.translation.text, "");
});

test("a layer the other stack does not have becomes its last", () => {
  const state = after(
    { type: "layerChosen", layer: 3 },
    { type: "kindChosen", kind: "decoder_self" },
  );
  assert.equal(state.layer, 1);
  assert.equal(page.currentTrace(state).kind, "decoder_self");
});

test("cross attention has no relation score to show", () => {
  const chosen = after({ type: "quantityChosen", quantity: "relationScores" });
  assert.equal(
    page.update(chosen, { type: "kindChosen", kind: "decoder_self" }).quantity,
    "relationScores",
  );
  assert.equal(page.update(chosen, { type: "kindChosen", kind: "cross" }).quantity, "weights");
});

test("the cell cursor starts at the first cell and stays on the grid", () => {
  const move = (queries, keys) => ({ type: "cellMoved", queries, keys });
  assert.deepEqual(after(move(1, 0)).point, { query: 0, key: 0 });
  assert.deepEqual(after(move(1, 0), move(1, 0), move(0, 1)).point, { query: 1, key: 1 });
  assert.deepEqual(after(move(1, 0), move(-1, 0), move(0, -1)).point, { query: 0, key: 0 });
  assert.deepEqual(after(move(0, 0), move(9, 9)).point, { query: 2, key: 2 });
});

test("in a decoder the cursor stays on keys that exist", () => {
  const state = after(
    { type: "kindChosen", kind: "decoder_self" },
    { type: "cellMoved", queries: 0, keys: 0 },
    { type: "cellMoved", queries: 0, keys: 1 },
  );
  assert.deepEqual(state.point, { query: 0, key: 0 });
});

test("distances move between the two ends", () => {
  const left = { type: "distanceMoved", by: -1 };
  assert.deepEqual(after(left).point, { distance: 0 });
  assert.deepEqual(after(left, left, left, left, left).point, { distance: -2 });
  const decoder = after({ type: "kindChosen", kind: "decoder_self" }, left);
  assert.deepEqual(page.update(decoder, { type: "distanceMoved", by: 1 }).point, { distance: 0 });
});

test("a cell lights its distance", () => {
  assert.equal(page.litDistance({ query: 2, key: 0 }), -2);
  assert.equal(page.litDistance({ distance: 1 }), 1);
  assert.equal(page.litDistance(null), null);
});

test("every failure has words of its own place", () => {
  const codes = [
    ...["file_missing", "file_damaged", "config_invalid", "unsupported", "tensor_missing"],
    ...["tensor_invalid", "tokenizer_invalid", "input_invalid", "option_invalid", "out_of_memory"],
    ...["network", "internal", "unknown"],
  ];
  for (const code of codes) {
    const words = page.wordsOf("en").failureWords({ code, where: "model.safetensors" });
    assert.match(words, /\(model\.safetensors\)/, code);
    assert.match(words, /\.$/, code);
  }
  assert.match(
    page.wordsOf("en").failureWords({ code: "wasm_unavailable", where: "" }),
    /WebAssembly/,
  );
});

test("options start as the model wants them, stay in their ranges, and ask only for what the method reads", () => {
  const search = (method, ...changes) =>
    page.searchOptions(
      changes.reduce((choice, [name, value]) => page.withField(choice, name, value), {
        ...after().search,
        method,
      }),
    );
  const common = { maxNewTokens: 80, repetitionPenalty: 1, noRepeatNgramSize: 0 };
  assert.deepEqual(search("greedy"), {
    ...common,
    ...{ numBeams: 1, doSample: false, numReturnSequences: 1 },
  });
  assert.deepEqual(search("beams", ["numBeams", 3], ["numReturnSequences", 9]), {
    ...common,
    ...{ numBeams: 3, lengthPenalty: 1, numReturnSequences: 3, doSample: false },
  });
  const drawn = search("sampling", ["topP", 7], ["topK", 2.6], ["seed", 5], ["temperature", -1]);
  assert.deepEqual(drawn, {
    ...common,
    ...{ temperature: 0.05, topK: 3, topP: 1, numReturnSequences: 4, seed: 5 },
    ...{ numBeams: 1, doSample: true },
  });
  assert.ok(!("seed" in search("sampling", ["seed", 5], ["seed", null])));
});

test("a model that wants beams gets them; options that came with the address stay", () => {
  const wants = { ...info, search: { ...search, numBeams: 6, numReturnSequences: 2 } };
  const fresh = page.update(page.initialState("light", 400), {
    type: "loadFinished",
    info: wants,
    threads: 1,
  });
  const { method, numBeams, numReturnSequences } = fresh.search;
  assert.deepEqual([method, numBeams, numReturnSequences], ["beams", 6, 2]);
  const chosen = [
    { type: "methodChosen", method: "sampling" },
    { type: "loadFinished", info: wants, threads: 1 },
  ].reduce(page.update, page.initialState("light", 400));
  assert.equal(chosen.search.method, "sampling");
});

test("of a large model and a long text only the attention on show is recorded", () => {
  const small = { ...info, numHeads: 4 };
  const large = { numEncoderLayers: 12, numDecoderLayers: 12, numHeads: 12 };
  const every = ["encoder_self", "decoder_self", "cross"];
  assert.deepEqual(page.tracedKinds(small, 512, "cross"), every);
  assert.deepEqual(page.tracedKinds(large, 64, "cross"), every);
  // 36 layers, 12 heads, 512 x 512 pairs of 12 bytes: 1.4 GB.
  assert.deepEqual(page.tracedKinds(large, 512, "cross"), ["cross"]);
});
