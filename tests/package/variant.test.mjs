// The builds of the core: which one is loaded, that int8 has the same bits in all, and f32 nearly.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Model } from "relata";
import { errorOf, filesOf, golden, goldenJson, moduleOf } from "./fixtures.mjs";

const { hasRelaxedSimd } = await moduleOf("variant.js");

async function _logProbabilities(name, options) {
  const model = await Model.load(golden(name), options);
  try {
    const [{ text }] = goldenJson(name).texts;
    const scored = await model.score(text, text);
    return scored.tokens.map(({ logProbability }) => logProbability);
  } finally {
    model.dispose();
  }
}

test("a variant nobody has is refused, and those there are named", async () => {
  const error = await errorOf(() => Model.load(filesOf("shaw"), { variant: "relaxd" }));
  assert.equal(error.code, "option_invalid");
  assert.match(error.message, /relaxed/);
});

test("only the file of the variant is read", async () => {
  const only = (variant) => Model.load(filesOf("shaw"), { variant });
  (await only("baseline")).dispose();
  if (hasRelaxedSimd()) (await only("relaxed")).dispose();
  else assert.equal((await errorOf(() => only("relaxed"))).code, "wasm_unavailable");
});
