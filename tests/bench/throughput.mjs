// What working on texts together saves:  node tests/bench/throughput.mjs   (after a build)
//
// Sixteen texts one by one and as one batch, alternating, in one run and one thread; medians of the time.

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Model } from "relata";
import { t5Small, textOf } from "./t5-small.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const kTexts = 16;
const kRounds = 9;
const median = (values) => values.slice().sort((a, b) => a - b)[values.length >> 1];

/** Milliseconds of one by one and of a batch: [whole, decoding]. */
async function measure(model, texts, options) {
  const timed = async (work) => {
    const started = performance.now();
    const results = await work();
    const decodeMs = results.reduce((sum, { stats }) => sum + stats.decodeMs, 0);
    return [performance.now() - started, decodeMs];
  };
  const alone = async () => {
    const results = [];
    for (const text of texts) results.push(await model.run(text, options));
    return results;
  };
  const times = { alone: [], together: [] };
  for (let round = -2; round < kRounds; round++) {
    const pair = {
      alone: await timed(alone),
      together: await timed(() => model.run(texts, options)),
    };
    // The first rounds warm up.
    if (round >= 0) for (const way of ["alone", "together"]) times[way].push(pair[way]);
  }
  return Object.fromEntries(
    Object.entries(times).map(([way, all]) => [
      way,
      [0, 1].map((i) => median(all.map((time) => time[i]))),
    ]),
  );
}

function report(title, { alone, together }, texts) {
  const row = (name, [whole, decoding]) =>
    `${name.padEnd(12)} ${whole.toFixed(1).padStart(9)} ms ${decoding.toFixed(1).padStart(9)} ms decoding ${((1000 * texts) / whole).toFixed(1).padStart(8)} texts/s`;
  console.log(`${title}, ${texts} texts`);
  console.log(row("one by one", alone));
  console.log(row("together", together));
  const factor = (i) => (alone[i] / together[i]).toFixed(2);
  console.log(`factor       ${factor(0).padStart(9)}    ${factor(1).padStart(9)}\n`);
}

const subjects = ["A man", "Two dogs", "A little girl", "Several people"];
const actions = [
  ...["are standing next to a fountain.", "plays with a red ball in the snow."],
  ...[
    "sitting on a bench in front of a shop and reading a newspaper.",
    "is riding a bicycle down the street.",
  ],
];
const sentences = subjects.flatMap((subject) => actions.map((action) => `${subject} ${action}`));
const captions = await Model.load(join(root, "models/captions-en-de"));
report("captions-en-de, greedy", await measure(captions, sentences, {}), kTexts);
report(
  "captions-en-de, 4 beams",
  await measure(captions, sentences, { numBeams: 4, batchSize: 16 }),
  kTexts,
);
captions.dispose();

const small = await Model.load(t5Small());
const texts = Array.from({ length: kTexts }, (_, i) => textOf(8 + i));
const options = { maxNewTokens: 16, minNewTokens: 16 };
report(
  "t5-small's shape in f32, greedy, 16 tokens each",
  await measure(small, texts, options),
  kTexts,
);
small.dispose();
