// The command line over many texts: order, formats, workers, perplexity, and what is said of bad ones.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { Model } from "relata";
import { cli, golden, goldenJson, moduleOf, relata, withFolder } from "./fixtures.mjs";

const folder = golden("shaw");
const run = ["run", "--model", folder];
const options = { maxNewTokens: 4 };
const flags = ["--max-new-tokens", "4"];

const { kMaxNewTokens } = await moduleOf("options.js");

// 301 texts, more than two lots, of some lengths; some empty, some twice.
const words = goldenJson("shaw").texts.map(({ text }) => text);
const texts = Array.from({ length: 301 }, (_, i) =>
  i % 50 === 7
    ? ""
    : Array.from({ length: 1 + (i % 3) }, (_, j) => words[(i + j) % words.length]).join(" "),
);
let results;
let lines;
before(async () => {
  const model = await Model.load(folder);
  results = await model.run(texts, options);
  lines = results.map(({ text }) => `${text}\n`).join("");
  model.dispose();
});

test("each line of standard input gives a line, in order, and no progress bar where nobody sees it", () => {
  for (const end of ["\n", "\r\n"]) {
    const expected = { status: 0, stdout: lines, stderr: "" };
    assert.deepEqual(relata([...run, ...flags], texts.join(end)), expected);
  }
  // A last line's end makes no text of its own, and nothing gives nothing.
  assert.equal(relata([...run, ...flags], `${texts[0]}\n`).stdout, `${results[0].text}\n`);
  assert.deepEqual(relata(run, ""), { status: 0, stdout: "", stderr: "" });
});

test("a line is answered when it comes, without waiting for more", async () => {
  const child = spawn(process.execPath, [cli, ...run, ...flags], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  for (const i of [0, 1]) {
    child.stdin.write(`${texts[i]}\n`);
    const [answer] = await once(child.stdout, "data");
    assert.equal(String(answer), `${results[i].text}\n`);
  }
  child.stdin.end();
  assert.deepEqual(await once(child, "close"), [0, null]);
});

test("a file of lines, JSON lines, tables with and without names: a line of JSON with the score for each", async () => {
  const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
  const files = {
    "a.txt": texts.join("\n"),
    "a.jsonl": texts.map((text) => JSON.stringify({ id: 1, text })).join("\n"),
    "b.data": texts.map((text) => JSON.stringify({ source: text })).join("\n"),
    "a.tsv": `${texts.map((text, i) => `${i}\t${text}`).join("\r\n")}\r\n`,
    "a.csv": `id,"the text"\r\n${texts.map((text, i) => `${i},${quoted(text)}`).join("\r\n")}`,
  };
  const asJson = results.map(({ text, score, finishReason }, i) => ({
    ...{ line: i + 1, text, score, finishReason },
  }));
  await withFolder(files, (temporary) => {
    const cases = [
      ["a.txt"],
      ["a.jsonl"],
      ["b.data", "--field", "source"],
      ["a.tsv", "--column", "2"],
      ["a.csv", "--column", "the text", "--workers", "2"],
    ];
    for (const [file, ...more] of cases) {
      const argv = [...run, ...flags, "--json", "--input", join(temporary, file), ...more];
      const { status, stdout, stderr } = relata(argv);
      assert.deepEqual([status, stderr], [0, ""], file);
      const found = stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      assert.deepEqual(found, asJson, file);
    }
  });
});

test("a bad text fails alone: its line is empty, and the rest is done", async () => {
  const bad = [JSON.stringify({ text: texts[0] }), "{", "{}", JSON.stringify({ text: texts[1] })];
  await withFolder({ "in.jsonl": bad.join("\n") }, (temporary) => {
    const argv = [...run, ...flags, "--input", join(temporary, "in.jsonl")];
    const { status, stdout, stderr } = relata(argv);
    assert.equal(status, 1);
    assert.equal(stdout, `${results[0].text}\n\n\n${results[1].text}\n`);
    assert.match(
      stderr,
      /^relata: text 2: it is not JSON: .*\nrelata: text 3: its "text" is not a string \[input_invalid\]\n$/,
    );
    const json = relata([...argv, "--json"])
      .stdout.trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual([json[2].line, json[2].error.code], [3, "input_invalid"]);
  });
});

test("every option of a search is a flag", async () => {
  const model = await Model.load(folder);
  const search = {
    ...{ numBeams: 3, numReturnSequences: 2, lengthPenalty: -0.5, lengthPenaltyForm: "gnmt" },
    ...{ earlyStopping: "never", maxNewTokens: 5, minNewTokens: 2, noRepeatNgramSize: 2 },
    ...{ badWordsIds: [[5, 6], [7]], suppressTokens: [8, 9], forcedEosTokenId: null },
    ...{ badWords: ["dog", "the"], targetPrefix: "dog", stopTokenIds: [11] },
  };
  const { sequences } = await model.run(texts[0], search);
  model.dispose();
  const argv = [
    ...["--num-beams", "3", "--num-return-sequences", "2", "--length-penalty", "-0.5"],
    ...["--length-penalty-form", "gnmt", "--early-stopping", "never", "--max-new-tokens=5"],
    ...["--min-new-tokens", "2", "--no-repeat-ngram-size", "2", "--bad-words-ids", "5,6;7"],
    ...["--suppress-tokens", "8,9", "--forced-eos-token-id", "none", "--bad-words", "dog"],
    ...["--bad-words", "the", "--target-prefix", "dog", "--stop-token-ids", "11"],
  ];
  const { status, stdout, stderr } = relata([...run, "--json", ...argv, texts[0]]);
  assert.deepEqual([status, stderr], [0, ""]);
  assert.deepEqual(JSON.parse(stdout).sequences, JSON.parse(JSON.stringify(sequences)));
  const sampled = ["--do-sample", "--top-k", "5", "--seed", "3", "--json"];
  const [one, two] = [
    relata([...run, ...sampled], texts[0]),
    relata([...run, ...sampled], texts[0]),
  ];
  assert.deepEqual([one.status, one], [0, two]);
});

test("--relation alters the relation, and --threads changes nothing", async () => {
  const model = await Model.load(folder);
  const text = words[0];
  for (const [flag, given] of [
    ["off", "off"],
    ["mirrored", "mirrored"],
    ["clip=1", { clip: 1 }],
  ]) {
    const altered = await model.run(text, { ...options, relation: { switch: given } });
    const { stdout } = relata([...run, ...flags, "--relation", flag, "--json", text]);
    assert.equal(JSON.parse(stdout).score, altered.score, flag);
    assert.notEqual(altered.score, (await model.run(text, options)).score);
  }
  const { stdout } = relata([...run, ...flags, "--threads", "2", "--json", text]);
  const { score } = JSON.parse(stdout);
  assert.ok(Math.abs(score - (await model.run(text, options)).score) < 1e-4);
  const [alone] = await model.score([text], [text], { relation: { switch: "off" } });
  const pair = relata(
    [...run, "--perplexity", "--json", "--relation", "off"],
    `${text}\t${text}\n`,
  );
  const { perplexity, tokens } = JSON.parse(pair.stdout);
  assert.ok(Math.abs(perplexity / Math.exp(-alone.score / tokens) - 1) < 1e-6);
  model.dispose();
});

test("perplexity of pairs", async () => {
  const pairs = texts.slice(0, 6).map((source, i) => [source, texts[i + 1]]);
  const model = await Model.load(folder);
  const scored = await model.score(...[0, 1].map((side) => pairs.map((pair) => pair[side])));
  model.dispose();
  const sum = scored.reduce((total, { score }) => total + score, 0);
  const tokens = scored.reduce((total, one) => total + one.tokens.length, 0);
  const files = {
    "pairs.tsv": pairs.map((pair) => pair.join("\t")).join("\n"),
    "pairs.jsonl": pairs.map(([source, target]) => JSON.stringify({ source, target })).join("\n"),
  };
  await withFolder(files, (temporary) => {
    for (const argv of [["pairs.tsv"], ["pairs.jsonl", "--field", "source"]]) {
      const input = ["--perplexity", "--json", "--input", join(temporary, argv[0])];
      const { status, stdout, stderr } = relata([...run, ...input, ...argv.slice(1)]);
      assert.deepEqual([status, stderr], [0, ""]);
      const { perplexity, ...counts } = JSON.parse(stdout);
      assert.deepEqual(counts, { tokens, pairs: 6, failed: 0 });
      assert.ok(Math.abs(perplexity / Math.exp(-sum / tokens) - 1) < 1e-6);
    }
    const { stdout } = relata([...run, "--perplexity"], files["pairs.tsv"]);
    assert.match(stdout, /^perplexity \d+\.\d{4} of \d+ tokens in 6 pairs\n$/);
  });
});

test("what is not understood: status 2", async () => {
  await withFolder({ "a.tsv": "source\ttarget\na\tb\n" }, (temporary) => {
    const cases = [
      [["--resume"], /--resume goes on with the FILE of --output/],
      [["--workers", "0"], /--workers takes a number from 1 to 64, not 0/],
      [["--num-beams", "x"], /--num-beams takes a number, not x/],
      [["--num_beams", "3"], /nearest option is --num-beams/],
      [["--top-p", "0.5"], /^relata: --top-p: is of sampling only/],
      [["--num-beams", "1000"], /^relata: --num-beams: must be from 1 to 256, not 1000\n/],
      [
        ["--length-penalty", "1"],
        /^relata: --length-penalty: is of beams only, and --num-beams is/,
      ],
      [
        ["--min-new-tokens", "9", "--max-new-tokens", "2"],
        /^relata: --min-new-tokens: must be from 0 to --max-new-tokens, 2, not 9\n/,
      ],
      [
        ["--num-return-sequences", "2"],
        /^relata: --num-return-sequences: is 2, but there are only 1 beams \(--num-beams\) to return/,
      ],
      [["--bad-words-ids", "1,2;-3"], /^relata: --bad-words-ids: /],
      [["--model", golden("t5-gated-untied"), "--relation", "values"], /^relata: --relation: /],
      [
        ["--input", join(temporary, "a.tsv"), "--column", "text"],
        /no column text in its first line: source, target/,
      ],
      [["--perplexity", "--num-beams", "2"], /--num-beams is not for --perplexity/],
      [["--perplexity", "--workers", "2"], /--workers is not for --perplexity/],
      [["--relation", "of"], /--relation takes off, keys, values, mirrored or clip=N, not of/],
      [["--relation", "clip=-1"], /--relation takes/],
      [["--threads", "0"], /--threads takes a number from 1 to 64, not 0/],
    ];
    for (const [argv, expected] of cases) {
      const { status, stdout, stderr } = relata([...run, ...argv], "dog\n");
      assert.deepEqual([status, stdout], [2, ""], `${argv.join(" ")} ${stderr}`);
      assert.match(stderr, expected);
      assert.doesNotMatch(stderr.replaceAll(temporary, ""), /\b[a-z]+[A-Z]/);
    }
  });
});

test("what is wrong with one text names the flags, too", () => {
  const longest = [...run, "--target-prefix", "dog", "--max-new-tokens", String(kMaxNewTokens)];
  const expected =
    /--target-prefix: the target prefix and --max-new-tokens together are above .* \[input_invalid\]\n$/;
  for (const [argv, input] of [
    [[...longest, "dog"], ""],
    [longest, "dog\n"],
  ]) {
    const { status, stderr } = relata(argv, input);
    assert.equal(status, 1);
    assert.match(stderr, expected);
  }
  // In JSON the package's own words stay.
  const { stdout } = relata([...longest, "--json"], "dog\n");
  assert.equal(JSON.parse(stdout).error.where, "targetPrefix");
});

test("a progress bar on a terminal: drawn over itself, at most ten times a second, and taken away", async () => {
  const { Progress } = await moduleOf("cli/progress.js");
  let [now, drawn] = [0, ""];
  const terminal = {
    isTTY: true,
    write: (text) => {
      drawn += text;
    },
  };
  const progress = new Progress(terminal, 100, () => now);
  progress.show(100, 400);
  now = 2000;
  progress.show(200, 400);
  now = 2050;
  progress.show(300, 400);
  assert.equal(drawn.split("\r").length - 1, 2);
  assert.match(drawn.split("\r")[2], /\[={12} {12}\] 50 % {2}200 texts {2}50\.0\/s {2}4 s left$/);
  progress.clear();
  assert.ok(drawn.endsWith("\r\u{1B}[K"));
  drawn = "";
  const silent = new Progress({ ...terminal, isTTY: false });
  silent.show(1, 2);
  silent.clear();
  assert.equal(drawn, "");
});

test("tables: a quote that is never closed is told, blank lines are no rows, a last field may be empty", async () => {
  await withFolder({}, (at) => {
    const input = join(at, "in.csv");
    const csv = (content) => {
      writeFileSync(input, content);
      return relata([...run, ...flags, "--json", "--input", input, "--column", "1"]);
    };
    const open = csv(`${texts[0]},1\n"${texts[1]},2\n${texts[2]},3\n`);
    assert.equal(open.status, 1);
    assert.equal(open.stdout.split("\n").length, 2);
    assert.match(open.stderr, /in\.csv: record 2: a quote is opened and never closed/);
    assert.equal(csv(`${texts[0]}\n\n${texts[1]}\n\n`).stdout.split("\n").length, 3);
    assert.equal(csv(`${texts[0]}\n""\n""`).stdout.split("\n").length, 4);
  });
});
