// The builds of the core: which one is loaded, that int8 has the same bits in all, and f32 nearly.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Model } from "relata";
import {
  errorOf,
  filesOf,
  golden,
  goldenJson,
  largestDifference,
  packageFolder,
} from "./fixtures.mjs";

const { hasRelaxedSimd } = await import(
  pathToFileURL(join(packageFolder, "dist/package/variant.js")).href
);

async function logProbabilities(name, options) {
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

test("relaxed and baseline: int8 to the bit, f32 to rounding", {
  skip: !hasRelaxedSimd(),
}, async () => {
  for (const name of ["shaw", "t5-gated-untied"]) {
    for (const dtype of ["int8", "f32"]) {
      const baseline = await logProbabilities(name, { dtype, variant: "baseline" });
      const relaxed = await logProbabilities(name, { dtype, variant: "relaxed" });
      if (dtype === "int8") assert.deepEqual(relaxed, baseline);
      else assert.ok(largestDifference(relaxed, baseline) < 1e-4);
    }
  }
});
