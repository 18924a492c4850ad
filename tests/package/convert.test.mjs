// `relata convert`: folders that load again and give the same ids, in every type, from every format; and `relata inspect` of them.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Model } from "relata";
import {
  errorOf,
  filesOf,
  golden,
  goldenJson,
  lettersOf,
  letterTokenizer,
  readTensors,
  relata,
  withFolder,
} from "./fixtures.mjs";
import {
  argosFiles,
  ctranslate2,
  gguf,
  ggufCases,
  idsOf,
  untilEnd,
  zip,
} from "./format-fixtures.mjs";

function converts(source, out, ...argv) {
  const { status, stdout, stderr } = relata(["convert", source, out, ...argv]);
  assert.deepEqual([status, stderr], [0, ""]);
  assert.match(stdout, /tensors written/);
}

async function idsWith(source, cases) {
  const model = await Model.load(source);
  const ids = [];
  for (const { text, greedy_ids } of cases)
    ids.push(idsOf((await model.run(text, { maxNewTokens: greedy_ids.length })).tokens));
  model.dispose();
  return ids;
}

const dtypesIn = (folder) => {
  const bytes = readFileSync(join(folder, "model.safetensors"));
  const header = JSON.parse(bytes.toString("utf8", 8, 8 + Number(bytes.readBigUInt64LE(0))));
  return new Set(Object.values(header).flatMap(({ dtype }) => dtype ?? []));
};

test("a GGUF file as a folder: the ids of Hugging Face, also from its written sentencepiece model", async () => {
  const cases = ggufCases.filter(({ greedy_gap }) => greedy_gap > 1e-3);
  const expected = cases.map(({ greedy_ids }) => untilEnd(greedy_ids, 1));
  await withFolder({ "t5.gguf": gguf }, async (folder) => {
    const out = join(folder, "out");
    converts(join(folder, "t5.gguf"), out);
    assert.deepEqual(readdirSync(out).sort(), [
      "config.json",
      "generation_config.json",
      "model.safetensors",
      "spiece.model",
      "tokenizer_config.json",
    ]);
    assert.deepEqual([...dtypesIn(out)], ["F32"]);
    assert.deepEqual(await idsWith(out, cases), expected);
    // Blocks of 8 bits with half-precision scales fit into 16 bits well enough for these ids.
    converts(join(folder, "t5.gguf"), join(folder, "half"), "--dtype", "f16");
    assert.deepEqual([...dtypesIn(join(folder, "half"))].sort(), ["F16", "F32"]);
    const half = await idsWith(join(folder, "half"), cases);
    assert.equal(half.length, cases.length);
    converts(join(folder, "t5.gguf"), join(folder, "int8"), "--dtype", "int8");
    assert.deepEqual([...dtypesIn(join(folder, "int8"))].sort(), ["F32", "I8"]);
    assert.equal((await idsWith(join(folder, "int8"), cases)).length, cases.length);
  });
});

test("CTranslate2 and Argos as folders", async () => {
  for (const name of ["shaw-one-table-int8", "shaw-float16", "encodings-int16"]) {
    const { files, cases } = ctranslate2(name);
    const texts = cases.filter(({ text }) => text !== "");
    await withFolder(files, async (folder) => {
      const out = join(folder, "out");
      converts(folder, out);
      assert.deepEqual(
        await idsWith(out, texts),
        texts.map(({ greedy_ids }) => untilEnd(greedy_ids, 2)),
        name,
      );
    });
  }
  const model = ctranslate2("sinusoidal");
  const texts = model.cases.filter(({ text }) => text !== "");
  await withFolder({ "en_de.argosmodel": zip(argosFiles(model)) }, async (folder) => {
    const out = join(folder, "out");
    converts(join(folder, "en_de.argosmodel"), out);
    assert.deepEqual(
      await idsWith(out, texts),
      texts.map(({ greedy_ids }) => untilEnd(greedy_ids, 2)),
    );
  });
});

test("the values are those of the file, whatever it stored", async () => {
  const source = readTensors(join(golden("flan-t5-int8"), "model.safetensors"));
  await withFolder({ "tokenizer.json": letterTokenizer() }, async (folder) => {
    const from = join(folder, "from");
    spawnSync("cp", ["-r", golden("flan-t5-int8"), from]);
    writeFileSync(join(from, "tokenizer.json"), letterTokenizer());
    converts(from, join(folder, "out"));
    const written = readTensors(join(folder, "out", "model.safetensors"));
    let scaled = 0;
    for (const [name, { shape, data }] of Object.entries(written)) {
      const factors = source[`${name}_scale`]?.data;
      if (factors !== undefined) scaled++;
      const cols = shape.at(-1);
      const expected = source[name].data.map((value, i) =>
        Math.fround(value * (factors?.[Math.floor(i / cols)] ?? 1)),
      );
      assert.deepEqual(data, expected, name);
    }
    assert.ok(scaled > 10);
    assert.equal(
      JSON.parse(readFileSync(join(folder, "out/config.json"), "utf8")).quantization_config,
      undefined,
    );
  });
});

test("Hugging Face folders in 16 and 8 bits, and from shards", async () => {
  for (const name of ["t5-gated-untied", "shaw", "mt5-sharded"]) {
    const sharded = name === "mt5-sharded";
    await withFolder({}, async (folder) => {
      const from = join(folder, "from");
      spawnSync("cp", ["-r", golden(name), from]);
      if (sharded) writeFileSync(join(from, "tokenizer.json"), letterTokenizer());
      const { cases } = goldenJson(sharded ? "mt5" : name);
      const texts = sharded
        ? cases.map(({ source_ids, greedy_ids }) => ({ text: lettersOf(source_ids), greedy_ids }))
        : goldenJson(name).texts.map(({ text }) => ({ text, greedy_ids: Array(8) }));
      const before = await idsWith(from, texts);
      converts(from, join(folder, "f32"));
      assert.deepEqual(await idsWith(join(folder, "f32"), texts), before);
      for (const dtype of ["f16", "int8"]) {
        converts(from, join(folder, dtype), "--dtype", dtype);
        assert.equal((await idsWith(join(folder, dtype), texts)).length, before.length);
      }
    });
  }
});

test("a negative factor is an error with its place, as in a load", async () => {
  const files = { "tokenizer.json": letterTokenizer() };
  for (const file of ["config.json", "generation_config.json", "model.safetensors"])
    files[file] = readFileSync(join(golden("flan-t5-int8"), file));
  const bytes = new Uint8Array(files["model.safetensors"]);
  const view = new DataView(bytes.buffer);
  const start = 8 + Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  const [name, { dtype, data_offsets }] = Object.entries(header).find(([key]) =>
    key.endsWith("_scale"),
  );
  // The sign is the last bit of every type of floats.
  const width = dtype === "F32" ? 4 : 2;
  bytes[start + data_offsets[0] + 2 * width - 1] |= 0x80;
  const damaged = { ...files, "model.safetensors": bytes };
  const { code, where } = await errorOf(Model.load(damaged));
  assert.deepEqual([code, where], ["tensor_invalid", `model.safetensors: ${name}`]);
  await withFolder(damaged, (folder) => {
    for (const type of ["f32", "int8"]) {
      const { status, stderr } = relata(["convert", folder, join(folder, "out"), "--dtype", type]);
      assert.equal(status, 1);
      assert.ok(stderr.includes(`${name} [1]: is negative`), stderr);
      assert.match(stderr, /\[tensor_invalid\]/);
      rmSync(join(folder, "out"), { recursive: true });
    }
  });
});

test("what does not fit into 16 bits is an error with its place, and leaves no file behind", async () => {
  const files = filesOf("shaw");
  const bytes = files["model.safetensors"].slice();
  const start = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  const [name, { data_offsets }] = Object.entries(header).find(
    ([, { shape }]) => shape?.length === 2,
  );
  new DataView(bytes.buffer).setFloat32(start + data_offsets[0], 1e6, true);
  await withFolder({ ...files, "model.safetensors": bytes }, async (folder) => {
    const { status, stderr } = relata(["convert", folder, join(folder, "out"), "--dtype", "f16"]);
    assert.equal(status, 1);
    assert.ok(stderr.includes(`${name} [0, 0]`), stderr);
    assert.match(stderr, /does not fit.*\[tensor_invalid\]/);
    assert.ok(!readdirSync(join(folder, "out")).some((file) => file.startsWith("model.")));
  });
});

test("wrong calls", async () => {
  await withFolder({ "t5.gguf": gguf }, async (folder) => {
    const file = join(folder, "t5.gguf");
    assert.match(relata(["convert", file]).stderr, /two names/);
    assert.match(
      relata(["convert", file, join(folder, "o"), "--dtype", "f61"]).stderr,
      /--dtype f61 is unknown.*f32, f16, int8/,
    );
    const full = relata(["convert", file, folder]);
    assert.match(full.stderr, /not empty: .* \[option_invalid\]/);
    assert.equal(full.status, 1);
    const before = readFileSync(file);
    for (const out of [file, join(file, "below")]) {
      const { status, stderr } = relata(["convert", file, out]);
      assert.equal(status, 1);
      assert.match(
        stderr,
        /^relata: OUT: .* is no folder to write into: ENOTDIR.*\[option_invalid\]\n$/,
      );
      assert.ok(stderr.includes(out));
    }
    const unusable = relata(["convert", file, join(folder, "x".repeat(300))]);
    assert.match(
      unusable.stderr,
      /^relata: OUT: .* is no folder to write into: ENAMETOOLONG.*\[option_invalid\]\n$/,
    );
    assert.deepEqual(readFileSync(file), before);
    assert.deepEqual(readdirSync(folder), ["t5.gguf"]);
  });
});

test("inspect explains every format", async () => {
  const ct2 = ctranslate2("shaw-one-table-int8");
  await withFolder({ "t5.gguf": gguf, "x.argosmodel": zip(argosFiles(ct2)) }, (folder) => {
    for (const [source, patterns] of [
      [join(folder, "t5.gguf"), [/^format: GGUF 3$/m, /sentencepiece, unigram, 1000/, / Q8_0 /]],
      [
        join(folder, "x.argosmodel"),
        [/^format: CTranslate2 6$/m, /^encoder_self: clipped_distance x vectors/m, / I8 /],
      ],
      [golden("shaw"), [/^format: safetensors$/m, /^tokenizer: tokenizer\.json/m]],
    ]) {
      const { status, stdout, stderr } = relata(["inspect", source]);
      assert.equal(status, 0, stderr);
      for (const pattern of patterns) assert.match(stdout, pattern);
    }
    writeFileSync(join(folder, "image.gguf"), Uint8Array.of(0x89, 0x50, 0x4e, 0x47));
    const { status, stderr } = relata(["inspect", join(folder, "image.gguf")]);
    assert.equal(status, 1);
    assert.match(stderr, /is a PNG image.*\[unsupported\]/);
  });
});
