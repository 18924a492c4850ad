// What is shipped: no code from strings, no Node module in the browser's entry, types that pass the strictest check.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";
import { golden, goldenJson, packageFolder, repository } from "./fixtures.mjs";

const manifest = JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8"));
const shipped = readdirSync(packageFolder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
  .filter((file) => !relative(packageFolder, file).startsWith("node_modules"));
const scripts = shipped.filter((file) => file.endsWith(".js"));
const entry = (condition) => join(packageFolder, manifest.exports["."][condition]);

/** Every import of a script, static or dynamic. */
function importsOf(file) {
  const code = readFileSync(file, "utf8");
  const found = [...code.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)(["'])([\w@./:-]+)\1/g)].map(
    ([, , name]) => name,
  );
  const workers = [...code.matchAll(/new URL\("(\.[^"]+\.js)",\s*import\.meta\.url\)/g)].map(
    ([, name]) => name,
  );
  return [...found, ...workers];
}

/** The files an entry reaches, and the packages it names. */
function reach(file, seen = { files: new Set(), packages: new Set() }) {
  if (seen.files.has(file)) return seen;
  seen.files.add(file);
  for (const name of importsOf(file)) {
    if (name.startsWith(".")) reach(resolve(dirname(file), name), seen);
    else seen.packages.add(name);
  }
  return seen;
}

test("the manifest's files are there", () => {
  for (const condition of ["types", "node", "default"])
    assert.ok(existsSync(entry(condition)), condition);
  assert.ok(existsSync(join(packageFolder, manifest.bin.relata)));
  assert.ok(existsSync(join(packageFolder, "dist/package/wasm/relata.wasm")));
  // dist is not kept: whoever packs a fresh copy has to build it first.
  assert.equal(manifest.scripts.prepack, "node tools/build.mjs package");
});

test("no shipped script makes code from strings", () => {
  assert.ok(scripts.length > 10);
  for (const file of scripts) {
    const code = readFileSync(file, "utf8");
    for (const form of [
      /\beval\s*\(/,
      /\bnew\s+Function\b/,
      /(?<![\w.$])Function\s*\(\s*["'`]/,
      /set(?:Timeout|Interval)\s*\(\s*["'`]/,
    ]) {
      assert.ok(!form.test(code), `${relative(packageFolder, file)} matches ${form}`);
    }
  }
  // The scan finds what it looks for.
  assert.match('new Function("return 1")', /\bnew\s+Function\b/);
});

test("it loads and generates where code from strings is forbidden", () => {
  const [{ text, generated_text }] = goldenJson("shaw").texts;
  const code = `
    import { Model } from "relata";
    let forbidden = false;
    try { new Function("return 1")(); } catch { forbidden = true; }
    const model = await Model.load(${JSON.stringify(golden("shaw"))});
    const { text } = await model.run(${JSON.stringify(text)});
    console.log(JSON.stringify({ forbidden, text }));`;
  const flags = ["--disallow-code-generation-from-strings", "--input-type=module", "--eval", code];
  const { stdout, stderr, status } = spawnSync(process.execPath, flags, {
    encoding: "utf8",
    cwd: dirname(import.meta.dirname ?? new URL(".", import.meta.url).pathname),
  });
  assert.equal(status, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), { forbidden: true, text: generated_text });
});

test("the browser's entry and its worker reach no Node module", () => {
  const { files, packages } = reach(entry("default"));
  const names = [...files].map((file) => relative(join(packageFolder, "dist/package"), file));
  for (const expected of [
    ...["index.js", "model.js", "worker.js", "engine.js", "zip.js"],
    ...["relata.js", "readers.js"].map((name) => join("wasm", name)),
  ]) {
    assert.ok(names.includes(expected), `${expected} among ${names}`);
  }
  assert.deepEqual([...packages], []);
  assert.ok(!names.includes("node.js") && !names.includes("cli.js"));
  // The scan finds Node's modules where they are.
  const node = reach(entry("node")).packages;
  assert.ok([...node].some((name) => builtinModules.includes(name.replace(/^node:/, ""))));
});

test("nothing of this repository's machinery is shipped", () => {
  const names = shipped.map((file) => relative(packageFolder, file));
  for (const name of names) assert.match(name, /^(dist\/package\/|package\.json$|README|LICENSE)/);
  for (const file of shipped)
    assert.ok(!readFileSync(file).includes(repository), `${file} names the repository's folder`);
});

test("types: an example passes the strictest check, and wrong calls do not", () => {
  const here = join(dirname(packageFolder), "..", "types-test");
  rmSync(here, { recursive: true, force: true });
  mkdirSync(here);
  const example = `
import { Model, perplexity, RelataError, type AttentionTrace, type RunResult, type Step } from "relata";
const model: Model = await Model.load("models/x", { onProgress: ({ loaded, total }) => void (loaded / total) });
for await (const step of model.generate("a", { maxNewTokens: 3 })) { const text: string = step.text; void text; }
const steps: AsyncGenerator<Step, RunResult, undefined> = model.generate("a");
void steps;
const { trace } = await model.run("a", { trace: { kinds: ["cross"], heads: [0] } });
const head: AttentionTrace | undefined = trace[0];
const weights: Float32Array | undefined = head?.weights;
void weights;
const many: readonly RunResult[] = await model.run(["a", "b"], { numBeams: 2, earlyStopping: "never" });
const scores: number[] = many.flatMap(({ sequences, error }) => (error === null ? sequences.map(({ score }) => score) : []));
void scores;
for await (const { item } of model.generate(["a"], { allowedTokens: async (ids, i) => [...ids, i] })) { const which: number = item; void which; }
const stream: ReadableStream<string> = model.stream("a", { targetPrefix: [3] });
void stream;
const measure: number = perplexity(await model.score(["a"], [[3, 4]]));
void measure;
try { await model.attend("a", "b"); } catch (error) { if (error instanceof RelataError && error.code === "disposed") throw error; }
{ using other = await Model.load({ "config.json": new Uint8Array() }); void other.info; }
// @ts-expect-error an unknown option
model.run("a", { maxTokens: 3 });
// @ts-expect-error a number
model.run("a", { numBeams: "4" });
// @ts-expect-error an unknown kind
model.run("a", { trace: { kinds: ["encoder"] } });
// @ts-expect-error models are loaded, not made
new Model();
`;
  const options = {
    compilerOptions: {
      strict: true,
      noEmit: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      target: "ES2022",
      module: "NodeNext",
      lib: ["ES2022", "DOM", "ESNext.Disposable"],
      types: [],
      skipLibCheck: false,
    },
    files: ["example.mts"],
  };
  writeFileSync(join(here, "example.mts"), example);
  writeFileSync(join(here, "tsconfig.json"), JSON.stringify(options));
  symlinkSync(join(here, "..", "node_modules"), join(here, "node_modules"));
  const tsc = join(repository, "node_modules/typescript/bin/tsc");
  const { status, stdout, stderr } = spawnSync(process.execPath, [tsc, "-p", here], {
    encoding: "utf8",
  });
  rmSync(here, { recursive: true });
  assert.equal(status, 0, stdout + stderr);
});
