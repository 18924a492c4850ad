// Several threads on one step: the same bits as one, whatever they are asked for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Model } from "relata";
import { errorOf, filesOf, golden, goldenJson } from "./fixtures.mjs";

const { texts } = goldenJson("t5-gated-untied");

/** Everything a model says about some texts that could tell one bit. */
async function answers(options) {
  const model = await Model.load(golden("t5-gated-untied"), options);
  try {
    const [first] = texts;
    const { score, tokens } = await model.run(first.text, { maxNewTokens: 12 });
    const beams = await model.run(first.text, { maxNewTokens: 12, numBeams: 3 });
    const forced = await model.score(first.text, first.text);
    return { score, tokens, beams: beams.tokens, forced: forced.tokens };
  } finally {
    model.dispose();
  }
}

test("two threads and three give the bits of one", async () => {
  for (const dtype of ["f32", "int8"]) {
    const alone = await answers({ dtype, variant: "baseline" });
    for (const threads of [2, 3])
      assert.deepEqual(await answers({ dtype, variant: "baseline", threads }), alone);
  }
});

test("threads are a whole number", async () => {
  for (const threads of [0, 1.5, -1, "2", 1e6]) {
    const error = await errorOf(() => Model.load(filesOf("shaw"), { threads }));
    assert.equal(error.code, "option_invalid");
    assert.equal(error.where, "threads");
  }
});
