// The command line as a user runs it.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Model } from "relata";
import { cli, golden, goldenJson, packageFolder, relata, withFolder } from "./fixtures.mjs";

const manifest = JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8"));
const folder = golden("shaw");
const [{ text, ids, generated_ids, generated_text }] = goldenJson("shaw").texts;

test("run prints the text, from an argument or from standard input", () => {
  const expected = { status: 0, stdout: `${generated_text}\n`, stderr: "" };
  assert.deepEqual(relata(["run", "--model", folder, text]), expected);
  assert.deepEqual(relata(["run", `--model=${folder}`], `${text}\n`), expected);
  assert.deepEqual(relata(["run", "--model", folder, ""]), { status: 0, stdout: "\n", stderr: "" });
});

test("the installed name runs it", () => {
  const name = join(packageFolder, "../.bin/relata");
  const { status, stdout } = spawnSync(name, ["run", "--model", folder, text], {
    encoding: "utf8",
  });
  assert.deepEqual([status, stdout], [0, `${generated_text}\n`]);
});

test("run --json prints tokens and times", () => {
  const { status, stdout } = relata(["run", "--model", folder, "--json", text]);
  assert.equal(status, 0);
  const result = JSON.parse(stdout);
  assert.equal(result.text, generated_text);
  assert.deepEqual(
    result.tokens.map(({ id }) => id),
    generated_ids,
  );
  assert.equal(result.stats.encoderRuns, 1);
  assert.equal(result.trace, undefined);
  const { stdout: short } = relata([
    "run",
    "--model",
    folder,
    "--json",
    "--max-new-tokens",
    "2",
    text,
  ]);
  assert.deepEqual(
    JSON.parse(short).tokens.map(({ id }) => id),
    generated_ids.slice(0, 2),
  );
});

test("run --trace writes every attention", async () => {
  await withFolder({}, (temporary) => {
    const file = join(temporary, "trace.json");
    assert.equal(relata(["run", "--model", folder, "--trace", file, text]).status, 0);
    const { trace, text: written } = JSON.parse(readFileSync(file, "utf8"));
    assert.equal(written, generated_text);
    assert.deepEqual(
      [...new Set(trace.map(({ kind }) => kind))],
      ["encoder_self", "decoder_self", "cross"],
    );
    for (const { weights, queryTokens, keyTokens, kind, relationScores } of trace) {
      assert.equal(weights.length, queryTokens.length * keyTokens.length);
      assert.equal(relationScores === null, kind === "cross");
      const row = weights.slice(0, keyTokens.length).reduce((sum, weight) => sum + weight, 0);
      assert.ok(Math.abs(row - 1) < 1e-5);
    }
    const [first] = trace;
    assert.deepEqual(
      first.queryTokens.map(({ id }) => id),
      ids,
    );
    const nowhere = relata([
      "run",
      "--model",
      folder,
      "--trace",
      join(temporary, "no/such/file"),
      text,
    ]);
    const { status, stdout, stderr } = nowhere;
    assert.deepEqual([status, stdout], [1, ""], "refused before anything is generated");
    assert.match(stderr, /^relata: .*no\/such\/file cannot be written: ENOENT.*\n$/);
  });
});

test("a reader that goes away is no failure, and the trace is still written", async () => {
  await withFolder({}, async (temporary) => {
    const file = join(temporary, "trace.json");
    const child = spawn(process.execPath, [cli, "run", "--model", folder, "--trace", file, text]);
    child.stdout.destroy();
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (some) => {
      errors += some;
    });
    const [status] = await once(child, "close");
    assert.deepEqual([status, errors], [0, ""]);
    assert.equal(JSON.parse(readFileSync(file, "utf8")).text, generated_text);
  });
});

test("standard output that takes nothing: status 1 and one line", (context) => {
  if (!existsSync("/dev/full")) return context.skip("there is no /dev/full here");
  const full = openSync("/dev/full", "w");
  for (const argv of [["run", "--model", folder, text], ["inspect", folder], ["--help"]]) {
    const { status, stderr } = spawnSync(process.execPath, [cli, ...argv], {
      encoding: "utf8",
      stdio: ["ignore", full, "pipe"],
    });
    assert.equal(status, 1);
    assert.match(stderr, /^relata: standard output cannot be written: ENOSPC.*\n$/);
  }
  return closeSync(full);
});

test("after -- everything is text", async () => {
  const model = await Model.load(folder);
  for (const given of ["--help", "--json"]) {
    const expected = { status: 0, stdout: `${(await model.run(given)).text}\n`, stderr: "" };
    assert.deepEqual(relata(["run", "--model", folder, "--", given]), expected);
  }
  model.dispose();
});

test("inspect prints configuration, relations, tensors and sizes", () => {
  for (const argv of [
    ["inspect", folder],
    ["inspect", "--model", folder],
  ]) {
    const { status, stdout } = relata(argv);
    assert.equal(status, 0);
    assert.match(stdout, /^modelType: relata$/m);
    assert.match(stdout, /^dModel: 16$/m);
    assert.match(
      stdout,
      /^encoder_self: clipped_distance x vectors, 9 relations, keys and values, distances -4 to 4$/m,
    );
    assert.match(stdout, /^\d+ tensors, \d+ bytes in the file, \d+ bytes in memory$/m);
    assert.match(stdout, /F32 +\[40, 16\] +2560$/m);
  }
  const info = JSON.parse(relata(["inspect", "--json", folder]).stdout);
  assert.equal(info.relation.encoder_self.numRelations, 9);
  assert.deepEqual(info.relation.encoder_self.ids, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

test("help and version", () => {
  for (const argv of [["--help"], ["run", "--help"], ["inspect", "--help"]]) {
    const { status, stdout } = relata(argv);
    assert.equal(status, 0);
    assert.match(stdout, /relata run --model FOLDER/);
  }
  assert.deepEqual(relata(["--version"]), {
    status: 0,
    stdout: `${manifest.version}\n`,
    stderr: "",
  });
});

test("what is not understood: status 2, one line, nothing on standard output", () => {
  const cases = [
    [[], /command is missing/],
    [["runn"], /nearest is run/],
    [["run", text], /--model FOLDER is missing/],
    [["run", "--modle", folder, text], /nearest option is --model/],
    [["run", "--model"], /^relata: --model FOLDER: FOLDER is missing\n/],
    [["run", "--model", folder, "--trace"], /^relata: --trace FILE: FILE is missing\n/],
    [["run", "--model", folder, "--trace", "--json"], /^relata: --trace FILE: FILE is missing\n/],
    [["run", "--model", folder, "--json=yes", text], /^relata: --json takes no value\n/],
    [["run", "--quantum", text], /unknown to run; its options are --model, --json, --trace/],
    [["run", "-q", text], /-q is unknown to run; its options are/],
    [["translate"], /"translate" is no command; the commands are run, inspect, convert/],
    [["run", "--model", folder, "--max_new_tokens", "3", text], /--max-new-tokens/],
    [
      ["run", "--model", folder, "--max-new-tokens", "0", text],
      /^relata: --max-new-tokens: expected an integer from 1 to 1048576, got 0\n/,
    ],
    [["run", "--model", folder, "--max-new-tokens", "-3", text], /1 to 1048576, got -3/],
    [["run", "--model", folder, "--max-new-tokens", "1048577", text], /got 1048577/],
    [["run", "--model", folder, "--max-new-tokens", "x", text], /not x/],
    [["run", "--model", folder, "two", "texts"], /one TEXT/],
    [["inspect"], /--model FOLDER is missing/],
    [["inspect", "--trace", "x", folder], /unknown to inspect/],
  ];
  for (const [argv, words] of cases) {
    const { status, stdout, stderr } = relata(argv);
    assert.deepEqual([status, stdout], [2, ""], argv.join(" "));
    assert.match(stderr, words);
  }
});

test("what fails: status 1 and the error's code", async () => {
  const { status, stdout, stderr } = relata(["run", "--model", join(folder, "nowhere"), text]);
  assert.deepEqual([status, stdout], [1, ""]);
  assert.match(stderr, /^relata: .*nowhere.*\[file_missing\]\n$/);
});
