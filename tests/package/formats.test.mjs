// Every kind of file through the one loader: the ids the references give, from wherever the file comes.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Model } from "relata";
import { errorOf, filesOf, golden, goldenJson, withFolder } from "./fixtures.mjs";
import {
  argosFiles,
  ctranslate2,
  ctranslate2Names,
  gguf,
  ggufCases,
  idsOf,
  pieceFile,
  untilEnd,
  withFiles,
  zip,
} from "./format-fixtures.mjs";

const { File } = globalThis.File ? globalThis : await import("node:buffer");
const text8 = (text) => new TextEncoder().encode(text);
const tooClose = 1e-3;

async function givesCases(source, cases, end, options) {
  const model = await Model.load(source, options);
  try {
    for (const { text, source_ids, greedy_ids } of cases) {
      if (text === "") continue;
      const { source: read } = await model.attend(text, "", { trace: { kinds: ["cross"] } });
      assert.deepEqual(idsOf(read), source_ids, text);
      const { tokens } = await model.run(text, { maxNewTokens: greedy_ids.length });
      assert.deepEqual(idsOf(tokens), untilEnd(greedy_ids, end), text);
    }
    return model.info;
  } finally {
    model.dispose();
  }
}

const t5 = (source, options) => {
  const cases = ggufCases.filter(({ greedy_gap }) => greedy_gap > tooClose);
  assert.ok(cases.length >= 4);
  return givesCases(source, cases, 1, options);
};

/** Writes files below a folder. */
function spread(folder, files) {
  for (const [name, bytes] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), bytes);
  }
}

test("a GGUF file: bytes, File, path, URL and folder, whatever its name", async () => {
  const info = await t5(gguf);
  assert.equal(info.format, "GGUF 3");
  assert.equal(info.modelType, "t5");
  assert.match(info.tokenizer, /sentencepiece, unigram, 1000 pieces/);
  await t5(gguf.slice().buffer);
  await t5(new File([gguf], "weights"));
  await t5([new File([gguf], "weights.bin")]);
  await t5({ "model.safetensors": gguf, "config.json": text8("{}") });
  await withFolder({ "any.name": gguf, "notes.txt": text8("mine") }, async (folder) => {
    await t5(join(folder, "any.name"));
    await t5(pathToFileURL(join(folder, "any.name")));
    await t5(folder);
  });
  await withFiles({ "t5.gguf": gguf, plain: gguf }, async (address, asked) => {
    await t5(`${address}/t5.gguf`);
    assert.deepEqual(asked, [{ path: "t5.gguf", range: null }], "one request, front to back");
    await t5(`${address}/plain`);
  });
});

test("a GGUF file in int8 gives a quarter of the memory", async () => {
  const model = await Model.load(gguf, { dtype: "int8" });
  const whole = await Model.load(gguf);
  assert.ok(model.info.weightBytes < whole.info.weightBytes / 2);
  model.dispose();
  whole.dispose();
});

for (const name of ctranslate2Names) {
  test(`CTranslate2, ${name}: bytes, folder, server`, async () => {
    const { files, cases } = ctranslate2(name);
    const info = await givesCases(files, cases, 2);
    assert.match(info.format, /^CTranslate2 [456]$/);
    await withFolder(files, (folder) => givesCases(folder, cases, 2));
    await withFiles(files, async (address, asked) => {
      await givesCases(`${address}/`, cases, 2);
      assert.equal(asked.filter(({ path }) => path === "model.bin").length, 1);
    });
    await withFiles(files, (address) => givesCases(`${address}/`, cases, 2), { ranges: false });
  });
}

test("a folder of Argos, and its archive: stored, deflated, within a folder, from everywhere", async () => {
  const model = ctranslate2("sinusoidal");
  const files = argosFiles(model);
  const works = (source) => givesCases(source, model.cases, 2);
  await works(files);
  await works(Object.entries(files).map(([name, bytes]) => relativeFile(name, bytes)));
  await withFolder({}, async (folder) => {
    spread(folder, files);
    await works(folder);
  });
  const inside = Object.fromEntries(
    Object.entries(files).map(([name, bytes]) => [`translate-en_de-1_0/${name}`, bytes]),
  );
  inside["__MACOSX/translate-en_de-1_0/._README.md"] = text8("junk");
  for (const method of [0, 8]) {
    for (const content of [files, inside]) {
      const archive = zip(content, { method });
      await works(archive);
      await works(new File([archive], "en_de.argosmodel"));
      await works({ "some.zip": archive });
      await withFolder({ "en_de.argosmodel": archive }, (folder) =>
        works(join(folder, "en_de.argosmodel")),
      );
      for (const ranges of [true, false]) {
        await withFiles(
          { "en_de.argosmodel": archive },
          (address) => works(`${address}/en_de.argosmodel`),
          { ranges },
        );
      }
    }
  }
});

/** As a browser gives the files of a chosen folder. */
function relativeFile(name, bytes) {
  const file = new File([bytes], name.split("/").at(-1));
  Object.defineProperty(file, "webkitRelativePath", { value: `chosen/${name}` });
  return file;
}

test("a Hugging Face folder in an archive", async () => {
  const files = filesOf("shaw");
  const [{ text, generated_text }] = goldenJson("shaw").texts;
  const model = await Model.load(zip(files));
  assert.equal((await model.run(text)).text, generated_text);
  model.dispose();
});

test("Marian: source.spm, target.spm and vocab.json", async () => {
  const folder = golden("marian/shared");
  const { cases } = goldenJson("marian/shared");
  const generated = goldenJson("marian/shared", "generated.json");
  const letter = (id) => String.fromCharCode(0x4e00 + id);
  const pieces = ["<unk>", ...Array.from({ length: 28 }, (_, i) => letter(i + 1))];
  const vocab = { "</s>": 0, "<unk>": 28, "<pad>": 29 };
  for (let id = 1; id < 28; id++) vocab[letter(id)] = id;
  const files = {
    ...filesOf("marian/shared"),
    "source.spm": pieceFile(pieces),
    "target.spm": pieceFile(pieces),
    "vocab.json": text8(JSON.stringify(vocab)),
  };
  const usable = cases.filter(({ source_ids }) => source_ids.every((id) => id < 28));
  assert.ok(usable.length > 1);
  const model = await Model.load(files);
  assert.match(model.info.tokenizer, /Marian/);
  for (const { name, source_ids } of usable) {
    const text = source_ids.slice(0, -1).map(letter).join("");
    if (text === "") continue;
    const { tokens } = await model.run(text, { maxNewTokens: generated[name].length });
    assert.deepEqual(idsOf(tokens), untilEnd(generated[name], 0), folder);
  }
  model.dispose();
});

test("which tokenizer: tokenizer.json, sentencepiece, ByT5 by name, else an error that says what was looked for", async () => {
  const { "tokenizer.json": json, ...files } = filesOf("t5-gated-untied");
  const kind = async (more) => {
    const model = await Model.load({ ...files, ...more });
    model.dispose();
    return model.info.tokenizer;
  };
  const pieces = pieceFile(["<unk>", "<pad>", "</s>", "a", "b"]);
  assert.equal(await kind({ "tokenizer.json": json, "spiece.model": pieces }), "tokenizer.json");
  for (const name of ["spiece.model", "sentencepiece.bpe.model"])
    assert.ok((await kind({ [name]: pieces })).startsWith(`${name} (sentencepiece, unigram`));
  const byt5 = { "tokenizer_config.json": text8('{"tokenizer_class": "ByT5Tokenizer"}') };
  assert.match(await kind(byt5), /ByT5/);
  const config = JSON.parse(new TextDecoder().decode(files["config.json"]));
  const named = { ...config, tokenizer_class: "ByT5Tokenizer" };
  assert.match(await kind({ "config.json": text8(JSON.stringify(named)) }), /ByT5/);
  const error = await errorOf(Model.load(files));
  assert.deepEqual([error.code, error.where], ["file_missing", "tokenizer.json"]);
  for (const name of ["spiece.model", "source.spm", "ByT5Tokenizer"])
    assert.ok(error.message.includes(name), error.message);
});

test("T5's sentencepiece model with the options of tokenizer_config.json", async () => {
  const { "tokenizer.json": _json, ...files } = filesOf("t5-gated-untied");
  const pieces = pieceFile(["<unk>", "<pad>", "</s>", "a", "b"]);
  const idsWith = async (options, text) => {
    const more =
      options === null ? {} : { "tokenizer_config.json": text8(JSON.stringify(options)) };
    const model = await Model.load({ ...files, "spiece.model": pieces, ...more });
    const { source } = await model.attend(text, "a", { trace: { kinds: ["cross"] } });
    model.dispose();
    return idsOf(source);
  };
  assert.deepEqual(await idsWith(null, "ab"), [3, 4, 2]);
  assert.deepEqual(await idsWith({ extra_ids: 2 }, "a<extra_id_0>"), [3, 6, 2]);
  const tokens = { 9: { content: "<tag>", special: true } };
  assert.deepEqual(await idsWith({ added_tokens_decoder: tokens }, "<tag>b"), [9, 4, 2]);
  assert.deepEqual(await idsWith({ add_eos_token: false }, "ab"), [3, 4]);
});

test("progress and abort, for every kind", async () => {
  const model = ctranslate2("sinusoidal");
  const archive = zip(argosFiles(model));
  const sources = [
    [gguf, false],
    [model.files, false],
    [archive, true],
  ];
  for (const [source, twice] of sources) {
    const calls = [];
    (await Model.load(source, { onProgress: (progress) => calls.push(progress) })).dispose();
    assert.ok(calls.length >= 3);
    assert.ok(calls.every(({ loaded }, i) => i === 0 || loaded >= calls[i - 1].loaded));
    assert.equal(new Set(calls.map(({ total }) => total)).size, 1);
    assert.equal(calls.at(-1).loaded, calls[0].total);
    const weights = source === gguf ? gguf.length : model.files["model.bin"].length;
    assert.ok(calls[0].total >= (twice ? 2 : 1) * weights);
    const reason = new Error("enough");
    const controller = new AbortController();
    let count = 0;
    const onProgress = () => {
      count += 1;
      if (count === 2) controller.abort(reason);
    };
    const { signal } = controller;
    assert.equal(await errorOf(Model.load(source, { signal, onProgress })), reason);
    assert.equal(count, 2);
  }
});
