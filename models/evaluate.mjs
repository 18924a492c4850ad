// Translates a test set with the built package, greedily, and prints BLEU and speed:
//
//   npm run evaluate -- --model models/captions-en-de --data FOLDER --split test_2016_flickr [--limit N] [--hyp FILE]
//
// FOLDER holds {split}.en.gz and {split}.de.gz, one sentence a line. --from and --to name other languages.
// --dtype int8 rounds the weights; --relation off, keys, values, mirrored or clip:K translates with the model's relation altered.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";
import { Model } from "../dist/package/node.js";
import { corpusBleu } from "./bleu.mjs";

const { values } = parseArgs({
  options: {
    model: { type: "string" },
    data: { type: "string" },
    split: { type: "string" },
    from: { type: "string", default: "en" },
    to: { type: "string", default: "de" },
    limit: { type: "string" },
    hyp: { type: "string" },
    relation: { type: "string" },
    dtype: { type: "string" },
  },
});
for (const name of ["model", "data", "split"]) {
  if (values[name] === undefined) {
    console.error(`evaluate: --${name} is missing`);
    process.exit(2);
  }
}
const limit = values.limit === undefined ? Number.POSITIVE_INFINITY : Number(values.limit);
if (!(limit >= 1)) {
  console.error(`evaluate: --limit takes a number of sentences, not ${values.limit}`);
  process.exit(2);
}

function lines(language) {
  const file = join(values.data, `${values.split}.${language}.gz`);
  const text = gunzipSync(readFileSync(file)).toString("utf8").replace(/\n$/, "");
  return text.split("\n").slice(0, limit);
}

const [sources, references] = [lines(values.from), lines(values.to)];
const loading = performance.now();
const model = await Model.load(
  values.model,
  values.dtype === undefined ? {} : { dtype: values.dtype },
);
const loadMs = performance.now() - loading;

const clip = /^clip:(\d+)$/.exec(values.relation ?? "");
const altered = clip === null ? values.relation : { clip: Number(clip[1]) };
const options = {
  ...{ numBeams: 1, doSample: false },
  ...(altered === undefined ? {} : { relation: { switch: altered } }),
};

const hypotheses = [];
let [tokens, encodeMs, decodeMs, cut] = [0, 0, 0, 0];
for (const source of sources) {
  const { text, stats, finishReason } = await model.run(source, options);
  hypotheses.push(text);
  tokens += stats.newTokens;
  encodeMs += stats.encodeMs;
  decodeMs += stats.decodeMs;
  if (finishReason === "length") cut += 1;
  if (hypotheses.length % 100 === 0)
    console.error(`${hypotheses.length} of ${sources.length} sentences`);
}
model.dispose();
if (values.hyp !== undefined) writeFileSync(values.hyp, `${hypotheses.join("\n")}\n`);

const { bleu, precisions, brevityPenalty, hypothesisLength, referenceLength } = corpusBleu(
  hypotheses,
  references,
);
const seconds = (encodeMs + decodeMs) / 1000;
console.log(`sentences  ${sources.length}, of them ${cut} cut at the longest length`);
if (altered !== undefined) console.log(`relation   ${values.relation}`);
console.log(`load       ${loadMs.toFixed(0)} ms`);
console.log(
  `speed      ${(sources.length / seconds).toFixed(1)} sentences/s, ${(tokens / (decodeMs / 1000)).toFixed(0)} tokens/s while decoding`,
);
console.log(
  `n-grams    ${precisions.map((p) => p.toFixed(1)).join("/")}, brevity penalty ${brevityPenalty.toFixed(3)} (${hypothesisLength}/${referenceLength} tokens)`,
);
console.log(`BLEU       ${bleu.toFixed(2)}   (cased, 13a, greedy, ${values.split})`);
