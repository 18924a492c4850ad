// BLEU against values of sacrebleu's own documentation and tests, and against counts worked by hand.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const file = pathToFileURL(join(process.env.RELATA_ROOT, "models/bleu.mjs")).href;
const { corpusBleu, scoreOf, tokenize13a } = await import(file);

const near = (actual, expected, tolerance = 1e-6) =>
  assert.ok(Math.abs(actual - expected) < tolerance, `${actual} is not ${expected}`);

test("sacrebleu's README example, two references: 48.530827", () => {
  const hypotheses = [
    "The dog bit the man.",
    "It wasn't surprising.",
    "The man had just bitten him.",
  ];
  const first = ["The dog bit the man.", "It was not unexpected.", "The man bit him first."];
  const second = [
    "The dog had bit the man.",
    "No one was surprised.",
    "The man had bitten the dog.",
  ];
  near(corpusBleu(hypotheses, first, second).bleu, 48.530827);
});

test("sacrebleu's test of compute_bleu: matches 9 7 5 3 of 10 8 6 4, lengths 11 and 11", () => {
  const counts = {
    matches: [9, 7, 5, 3],
    totals: [10, 8, 6, 4],
    hypothesisLength: 11,
    referenceLength: 11,
  };
  near(scoreOf(counts).bleu, 83.75922397);
});

test("sacrebleu's counts for one pair, then exponential smoothing by hand", () => {
  // sacrebleu's test states matches 4 2 1 0 of 6 5 4 3. With the missing 4-gram counted as 1/2:
  // precisions 2/3, 2/5, 1/4, 1/6; product 1/90; penalty exp(1 - 8/6); 100 * exp(-1/3) * 90^(-1/4).
  const result = corpusBleu(
    ["am I am a character sequence"],
    ["I am a symbol string sequence a a"],
  );
  [200 / 3, 40, 25, 50 / 3].forEach((expected, i) => {
    near(result.precisions[i], expected, 1e-9);
  });
  near(result.bleu, 100 * Math.exp(-1 / 3) * 90 ** -0.25, 1e-9);
});

test("two orders without a match are smoothed by 1/2 and 1/4", () => {
  // "a b x y" against "a b c d": 1-grams 2 of 4, 2-grams 1 of 3, 3-grams 0 of 2, 4-grams 0 of 1.
  // (1/2 * 1/3 * (1/2)/2 * (1/4)/1)^(1/4) = (1/96)^(1/4), no penalty.
  near(corpusBleu(["a b x y"], ["a b c d"]).bleu, 100 * 96 ** -0.25, 1e-9);
});

test("a perfect text is 100, a text without a match 0, an empty one 0", () => {
  near(corpusBleu(["this is a test"], ["this is a test"]).bleu, 100, 1e-9);
  assert.equal(corpusBleu(["w x y z"], ["a b c d"]).bleu, 0);
  assert.equal(corpusBleu([""], ["a b c d"]).bleu, 0);
});

test("counts are clipped and summed over the corpus, not averaged", () => {
  // Papineni et al. 2002, example 2: seven times "the" matches twice at most.
  near(
    corpusBleu(["the the the the the the the"], ["the cat is on the mat"]).precisions[0],
    200 / 7,
    1e-9,
  );
  // Sentence 1 "a b c d e" is perfect: 5 4 3 2 of 5 4 3 2. Sentence 2 "a b c x" against "a b c d": 3 2 1 0 of 4 3 2 1.
  // Together 8/9 * 6/7 * 4/5 * 2/3.
  const result = corpusBleu(["a b c d e", "a b c x"], ["a b c d e", "a b c d"]);
  near(result.bleu, 100 * ((8 / 9) * (6 / 7) * (4 / 5) * (2 / 3)) ** 0.25, 1e-9);
});

test("short texts pay the brevity penalty, long ones do not", () => {
  // 4 of 6 tokens: exp(1 - 6/4).
  const short = corpusBleu(["a b c d"], ["a b c d e f"]);
  near(short.brevityPenalty, Math.exp(-0.5), 1e-12);
  near(short.bleu, 100 * Math.exp(-0.5), 1e-9);
  assert.equal(corpusBleu(["a b c d e f"], ["a b c d"]).brevityPenalty, 1);
  // Of references with 3 and 5 tokens, as near to 4 both, the shorter counts.
  assert.equal(corpusBleu(["a b c d"], ["a b c d e"], ["a b c"]).referenceLength, 3);
});

test("case counts", () => {
  near(corpusBleu(["A b c d"], ["a b c d"]).precisions[0], 75, 1e-9);
});

test("13a tokens", () => {
  const cases = [
    ["Ein Mann fährt.", "Ein Mann fährt ."],
    ["He said &quot;no&quot; &amp; left", 'He said " no " & left'],
    ["a &lt;b&gt;", "a < b >"],
    // Numbers keep their inner period and comma.
    ["1,000.50 euros, please", "1,000.50 euros , please"],
    ["It costs 5.", "It costs 5 ."],
    ["v.1 and .5", "v . 1 and . 5"],
    // A dash parts only after a digit; a hyphen between words stays.
    ["a well-known 3-year-old", "a well-known 3 - year-old"],
    ["don't (really) stop!", "don't ( really ) stop !"],
    [
      "e-mail@host.de: 50% $5 a/b [x] {y} ~z",
      "e-mail @ host . de : 50 % $ 5 a / b [ x ] { y } ~ z",
    ],
    ["„Straße“ – groß", "„Straße“ – groß"],
    ["...", ". . ."],
    ["<skipped>one-\ntwo\nthree", "onetwo three"],
    ["  ", ""],
  ];
  for (const [text, tokens] of cases) assert.equal(tokenize13a(text).join(" "), tokens, text);
});

test("lists of different lengths are refused", () => {
  assert.throws(() => corpusBleu(["a"], ["a", "b"]), RangeError);
  assert.throws(() => corpusBleu([], []), RangeError);
});
