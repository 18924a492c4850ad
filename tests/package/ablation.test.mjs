// What the relation is worth: the shipped model with its relation taken away, in parts and whole, on a hundred captions of
// some twenty words. Order matters in those; of a hundred short ones without clauses, 76 BLEU fell to 44 only.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { Model } from "relata";
import { repository } from "./fixtures.mjs";

const { corpusBleu } = await import(pathToFileURL(join(repository, "models/bleu.mjs")).href);

const kPairs = readFileSync(new URL("captions.tsv", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => line.split("\t"));
const kSources = kPairs.map(([source]) => source);
const kReferences = kPairs.map(([, reference]) => reference);

let model;
before(async () => {
  model = await Model.load(join(repository, "models/captions-en-de"));
});
after(() => model?.dispose());

/** The greedy translations of all captions, with the relation switched as `name` says, or as trained. */
async function translated(name) {
  const relation = name === undefined ? {} : { relation: { switch: name } };
  const results = await model.run(kSources, { numBeams: 1, doSample: false, ...relation });
  return results.map(({ text, error }) => {
    assert.equal(error, null);
    return text;
  });
}

test("without its relation the model loses more than half of its BLEU, with half of it less", async () => {
  assert.equal(kPairs.length, 100);
  const [on, off, keys, values] = [
    await translated(),
    await translated("off"),
    await translated("keys"),
    await translated("values"),
  ];
  const bleu = (texts) => corpusBleu(texts, kReferences).bleu;
  const scores = { on: bleu(on), keys: bleu(keys), values: bleu(values), off: bleu(off) };
  const told = Object.entries(scores).map(([name, score]) => `${name} ${score.toFixed(1)}`);
  console.log(`BLEU with the relation ${told.join(", ")}`);
  const changed = on.filter((text, i) => text !== off[i]).length;
  assert.ok(changed > 90, `${changed} of 100 texts differ without the relation`);
  // A model that writes nothing of use would lose nothing.
  assert.ok(scores.on > 25, told.join(", "));
  assert.ok(scores.on > 2 * scores.off, told.join(", "));
  for (const half of ["keys", "values"])
    assert.ok(scores.off < scores[half] && scores[half] < scores.on, told.join(", "));
});
