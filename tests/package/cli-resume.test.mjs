// `relata run --output`: what is there is not lost, and `--resume` goes on with it where it is of the same run.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { Model } from "relata";
import { cli, golden, goldenJson, relata, withFolder } from "./fixtures.mjs";

const folder = golden("shaw");
const run = ["run", "--model", folder];
const flags = ["--max-new-tokens", "4"];

// More than two lots; one text in fifty is empty.
const words = goldenJson("shaw").texts.map(({ text }) => text);
const texts = Array.from({ length: 150 }, (_, i) =>
  i % 50 === 7 ? "" : `${words[i % words.length]} ${words[(7 * i + 3) % words.length]}`,
);
let results;
let lines;
before(async () => {
  const model = await Model.load(folder);
  results = await model.run(texts, { maxNewTokens: 4 });
  lines = results.map(({ text }) => `${text}\n`).join("");
  model.dispose();
});

/** Runs `use` with the arguments of a run over the texts, and its file. */
const withRun = (use) =>
  withFolder({ "in.txt": texts.join("\n") }, (at) => {
    const output = join(at, "out.txt");
    return use([...run, ...flags, "--input", join(at, "in.txt"), "--output", output], output, at);
  });
const sameText = (file, text) => existsSync(file) && readFileSync(file, "utf8") === text;
const recordsIn = (file) =>
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

test("an interrupted run goes on: no line is lost, none comes twice", async () => {
  await withRun(async (argv, output) => {
    // Wherever it was cut: at the start, at a line's end, and in the middle of a line or of a letter.
    const bytes = new TextEncoder().encode(lines);
    const cut = lines.indexOf("\n", 900) + 1;
    for (const length of [0, 1, cut, cut + 1, bytes.length - 1, bytes.length]) {
      writeFileSync(output, bytes.slice(0, length));
      assert.deepEqual(relata([...argv, "--resume"]), { status: 0, stdout: "", stderr: "" });
      assert.equal(readFileSync(output, "utf8"), lines, `cut at ${length}`);
    }
    // Ended from outside, with several workers: wherever that was.
    writeFileSync(output, "");
    const child = spawn(process.execPath, [cli, ...argv, "--workers", "2"]);
    const ended = once(child, "close");
    while (child.exitCode === null && !readFileSync(output, "utf8").startsWith(results[0].text))
      await new Promise((resolve) => setImmediate(resolve));
    child.kill("SIGKILL");
    await ended;
    assert.equal(relata([...argv, "--workers", "2", "--resume"]).status, 0);
    assert.equal(readFileSync(output, "utf8"), lines);
    // Without a word about going on, what is there stays.
    assert.equal(relata(argv).status, 2);
    assert.equal(readFileSync(output, "utf8"), lines);
    writeFileSync(output, `${lines}one more\n`);
    const { status, stderr } = relata([...argv, "--resume"]);
    assert.equal(status, 1);
    assert.match(stderr, /has 151 lines, and the input only 150 texts: it is of another run/);
  });
});

test("what is there is not lost: the input itself, results of a run before, lines of another kind", async () => {
  await withFolder({}, (at) => {
    const [input, output] = [join(at, "in.txt"), join(at, "out.txt")];
    writeFileSync(input, `${texts[0]}\n`);
    const both = relata([...run, ...flags, "--input", input, "--output", input]);
    assert.equal(both.status, 2);
    assert.match(both.stderr, /is the file of --input/);
    assert.equal(readFileSync(input, "utf8"), `${texts[0]}\n`);
    writeFileSync(output, "precious\n");
    const over = relata([...run, ...flags, "--input", input, "--output", output]);
    assert.equal(over.status, 2);
    assert.match(over.stderr, /--resume goes on with it/);
    const other = relata([
      ...run,
      ...flags,
      "--json",
      "--input",
      input,
      "--output",
      output,
      "--resume",
    ]);
    assert.equal(other.status, 2);
    assert.equal(readFileSync(output, "utf8"), "precious\n");
  });
});

test("two runs on one file: the one that finds more there than it wrote stops and adds nothing", async () => {
  await withFolder({}, async (at) => {
    const output = join(at, "out.txt");
    const child = spawn(process.execPath, [cli, ...run, ...flags, "--output", output]);
    const ended = once(child, "close");
    let stderr = "";
    child.stderr.on("data", (piece) => {
      stderr += piece;
    });
    child.stdin.write(`${texts[0]}\n`);
    const first = `${results[0].text}\n`;
    while (child.exitCode === null && !sameText(output, first))
      await new Promise((resolve) => setImmediate(resolve));
    writeFileSync(output, "of another run\n", { flag: "a" });
    child.stdin.end(`${texts[1]}\n`);
    assert.deepEqual(await ended, [1, null]);
    assert.match(stderr, /out\.txt is written to by somebody else as well/);
    assert.equal(readFileSync(output, "utf8"), `${first}of another run\n`);
  });
});

test("lines of other options, of another model or of another input are told, and stay", async () => {
  await withRun((argv, output, at) => {
    const other = join(at, "other.txt");
    writeFileSync(other, [...texts].reverse().join("\n"));
    const [inAt, modelAt, tokensAt] = ["--input", "--model", "--max-new-tokens"].map(
      (name) => argv.indexOf(name) + 1,
    );
    for (const json of [[], ["--json"]]) {
      const first = argv.with(inAt, join(at, "first.txt"));
      writeFileSync(join(at, "first.txt"), texts.slice(0, 40).join("\n"));
      assert.equal(relata([...first, ...json]).status, 0);
      // With a half line behind, which has to stay, too.
      writeFileSync(output, "half", { flag: "a" });
      const kept = readFileSync(output, "utf8");
      for (const changed of [
        argv.with(tokensAt, "3"),
        argv.with(inAt, other),
        argv.with(modelAt, golden("t5-gated-untied")),
        [...argv, "--relation", "off"],
      ]) {
        const { status, stderr } = relata([...changed, ...json, "--resume"]);
        assert.equal(status, 2, changed.join(" "));
        assert.match(stderr, /line \d+ of --output .* is not what this run gives for text \d+/);
        assert.equal(readFileSync(output, "utf8"), kept);
      }
      // What changes no text is no other run.
      const same = [...argv, ...json, "--resume", "--batch-size", "5", "--workers", "2"];
      assert.deepEqual(relata(same), { status: 0, stdout: "", stderr: "" });
      writeFileSync(output, "");
    }
  });
});

test("samples are compared where their seed is given", async () => {
  await withRun((argv, output, at) => {
    writeFileSync(join(at, "in.txt"), texts.slice(0, 12).join("\n"));
    const sampled = [...argv, "--json", "--do-sample", "--temperature", "2"];
    for (const [first, then, status] of [
      [[], [], 0],
      [["--seed", "3"], ["--seed", "3"], 0],
      [["--seed", "3"], ["--seed", "4"], 2],
    ]) {
      assert.equal(relata([...sampled, ...first]).status, 0);
      assert.equal(relata([...sampled, ...then, "--resume"]).status, status);
      writeFileSync(output, "");
    }
  });
});

test("what has failed is done again, and what fails again stays and is told", async () => {
  await withFolder({}, (at) => {
    const [input, output] = [join(at, "in.jsonl"), join(at, "out.jsonl")];
    const record = (i) => JSON.stringify({ text: texts[i] });
    const argv = [...run, ...flags, "--json", "--input", input, "--output", output];
    writeFileSync(input, [record(0), "{", "{}", record(3), "[]"].join("\n"));
    assert.equal(relata(argv).status, 1);
    assert.deepEqual(
      recordsIn(output).map(({ error }) => error?.code),
      [undefined, "input_invalid", "input_invalid", undefined, "input_invalid"],
    );
    writeFileSync(`${output}.part`, "precious");
    // As private as it was, it stays.
    chmodSync(output, 0o600);
    const { mode } = statSync(output);
    // One of them is mended meanwhile, two are not, and one more text has come.
    writeFileSync(input, [record(0), record(1), "{}", record(3), "[]", record(5)].join("\n"));
    const { status, stdout, stderr } = relata([...argv, "--resume"]);
    assert.deepEqual([status, stdout], [1, ""]);
    assert.match(stderr, /^relata: text 3: .*\nrelata: text 5: .*\n$/);
    const found = recordsIn(output);
    assert.deepEqual(
      found.map(({ line, text, error }) => [line, text ?? error.code]),
      [0, 1, 2, 3, 4, 5].map((i) => [
        i + 1,
        i % 5 === 2 || i === 4 ? "input_invalid" : results[i].text,
      ]),
    );
    assert.deepEqual(readdirSync(at).sort(), ["in.jsonl", "out.jsonl", "out.jsonl.part"]);
    assert.equal(readFileSync(`${output}.part`, "utf8"), "precious");
    assert.equal(statSync(output).mode, mode);
    // Once all is well there is nothing left to do.
    writeFileSync(input, [0, 1, 2, 3, 4, 5].map(record).join("\n"));
    assert.equal(relata([...argv, "--resume"]).status, 0);
    const whole = readFileSync(output, "utf8");
    assert.deepEqual(
      recordsIn(output).map(({ text }) => text),
      results.slice(0, 6).map(({ text }) => text),
    );
    assert.equal(relata([...argv, "--resume"]).status, 0);
    assert.equal(readFileSync(output, "utf8"), whole);
  });
});

test("in plain text, too, what fails again is told", async () => {
  await withFolder({ "in.jsonl": `${JSON.stringify({ text: texts[0] })}\n{}\n` }, (at) => {
    const output = join(at, "out.txt");
    const argv = [...run, ...flags, "--input", join(at, "in.jsonl"), "--output", output];
    const failed = { status: 1, stdout: "", stderr: relata(argv).stderr };
    assert.match(failed.stderr, /^relata: text 2: /);
    assert.deepEqual(relata([...argv, "--resume"]), failed);
    assert.equal(readFileSync(output, "utf8"), `${results[0].text}\n\n`);
  });
});

test("a file of JSON in which a number is missing is none of a run", async () => {
  await withFolder({ "in.txt": texts.join("\n") }, (at) => {
    const output = join(at, "out.jsonl");
    const argv = [...run, ...flags, "--json", "--input", join(at, "in.txt"), "--output", output];
    const content = '{"line":1,"text":"a"}\n{"line":3,"text":"b"}\n';
    writeFileSync(output, content);
    const { status, stderr } = relata([...argv, "--resume"]);
    assert.equal(status, 2);
    assert.match(stderr, /line 2 of --output .* is none that a run with --json writes/);
    assert.equal(readFileSync(output, "utf8"), content);
  });
});
