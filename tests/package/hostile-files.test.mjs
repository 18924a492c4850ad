// Files that are not what they say, or no models at all: a typed error with the place, and never anything else.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { Model, RelataError } from "relata";
import { damaged, errorOf, filesOf, withFolder } from "./fixtures.mjs";
import {
  argosFiles,
  ctranslate2,
  ctranslate2Names,
  gguf,
  withFiles,
  zip,
} from "./format-fixtures.mjs";

const text8 = (text) => new TextEncoder().encode(text);
const bytes8 = (...parts) =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? [...text8(part)] : part)));
const model = ctranslate2("sinusoidal");
const argos = argosFiles(model);

async function refused(source, options) {
  const error = await errorOf(Model.load(source, options));
  assert.ok(error instanceof RelataError, String(error?.stack ?? error));
  assert.notEqual(error.code, "internal", error.message);
  assert.notEqual(error.where, "");
  return error;
}

/** A GGUF header with one key. */
function llama() {
  const key = (name, value) => bytes8(sized(name), u32(8), sized(value));
  const parts = [bytes8("GGUF", u32(3), u64(0), u64(1)), key("general.architecture", "llama")];
  return bytes8(...parts.map((part) => [...part]));
}
const u32 = (value) => [...new Uint8Array(Uint32Array.of(value).buffer)];
const u64 = (value) => [...u32(value), ...u32(0)];
const sized = (text) => [...u64(text.length), ...text8(text)];

test("what is no model is told what it is", async () => {
  const foreign = [
    [bytes8([0x89], "PNG\r\n", [0x1a], "\n"), /PNG image/],
    [bytes8([0xff, 0xd8, 0xff, 0xe0]), /JPEG/],
    [bytes8([8, 9, 0x12, 7], "pytorch"), /ONNX graph/],
    [bytes8("%PDF-1.7"), /PDF/],
    [bytes8([0x1f, 0x8b, 8, 0]), /gzip/],
    [bytes8([0x80, 2], "}q"), /pickle/],
    [bytes8("\x89HDF\r\n".slice(1)), /no kind known|of no kind/],
    [bytes8("version https://git-lfs.github.com/spec/v1\n"), /git lfs pull/],
    [bytes8("<!doctype html><p>"), /web page/],
    [bytes8('{"a": 1}'), /JSON/],
    [bytes8([0, 0, 0, 0], "TFL3"), /TensorFlow Lite/],
    [new Uint8Array(0), /empty/],
    [bytes8("nothing in particular"), /no kind known here/],
  ];
  for (const [bytes, pattern] of foreign) {
    const error = await refused(bytes);
    assert.equal(error.code, "unsupported");
    assert.match(error.message, pattern);
    if (bytes.length === 0 || /no kind/.test(String(pattern))) continue;
    // The same where a model's weights should be.
    const files = { ...filesOf("shaw"), "model.safetensors": bytes };
    const inFolder = await refused(files);
    assert.deepEqual([inFolder.code, inFolder.where], ["unsupported", "model.safetensors"]);
    assert.match(inFolder.message, pattern);
    const binary = await refused({ ...model.files, "model.bin": bytes });
    assert.deepEqual([binary.code, binary.where], ["unsupported", "model.bin"]);
  }
  const other = await refused(llama());
  assert.equal(other.code, "unsupported");
  assert.match(other.message, /architecture "llama"/);
});

test("weights alone, and an ONNX folder", async () => {
  const { "model.safetensors": weights } = filesOf("shaw");
  for (const bytes of [weights, model.files["model.bin"]])
    assert.match((await refused(bytes)).message, /open its folder/);
  const onnx = await refused({
    "config.json": filesOf("shaw")["config.json"],
    "encoder_model.onnx": bytes8([8, 9, 0x12, 7], "pytorch"),
  });
  assert.deepEqual([onnx.code, onnx.where], ["file_missing", "model.safetensors"]);
  assert.match(onnx.message, /encoder_model\.onnx is an ONNX graph/);
});

test("pickled weights are refused with the way to convert them", async () => {
  const config = filesOf("shaw")["config.json"];
  const pickle = zip({ "archive/data.pkl": bytes8([0x80, 2]), "archive/data/0": bytes8("x") });
  const files = { "config.json": config, "pytorch_model.bin": pickle };
  for (const source of [files, pickle]) {
    const error = await refused(source);
    assert.equal(error.code, "unsupported");
    assert.match(error.message, /save_pretrained/);
  }
  await withFolder(files, async (folder) => {
    const error = await refused(folder);
    assert.ok(error.message.includes(`from_pretrained('${folder}/')`), error.message);
  });
  await withFiles(files, async (address) =>
    assert.match((await refused(`${address}/`)).message, /save_pretrained/),
  );
});

test("cut and changed GGUF files", async () => {
  for (const length of [4, 20, 24, 100, 5000, gguf.length - 64]) {
    const error = await refused(gguf.subarray(0, length));
    assert.match(error.code, /file_damaged|unsupported/);
  }
  const error = await refused({ "t5.gguf": damaged(gguf, 8, [0xff, 0xff, 0xff, 0xff]) });
  assert.deepEqual([error.code, error.where.startsWith("t5.gguf")], ["file_damaged", true]);
});

const without = (files, missing) =>
  Object.fromEntries(Object.entries(files).filter(([name]) => name !== missing));

test("the file that a CTranslate2 folder lacks is the one that is named, wherever the folder is", async () => {
  // Of vocabularies that may end in .json or in .txt, one is named and the other mentioned.
  const stem = (name) => name.replace(/(_vocabulary)\.(json|txt)$/, "$1");
  let tried = 0;
  for (const name of ctranslate2Names) {
    const one = ctranslate2(name);
    for (const missing of Object.keys(one.files)) {
      const files = without(one.files, missing);
      const errors = [await refused(files)];
      await withFolder(files, async (folder) => {
        errors.push(await refused(folder));
      });
      await withFiles(files, async (address) => {
        errors.push(await refused(`${address}/`));
      });
      for (const { code, where, message } of errors) {
        assert.equal(code, "file_missing", `${name} without ${missing}: ${message}`);
        assert.equal(stem(where.split("/").at(-1)), stem(missing), message);
        assert.ok(message.includes(missing), message);
      }
      tried += 1;
    }
  }
  assert.equal(tried, 20);
  const argos = argosFiles(model);
  for (const missing of Object.keys(argos).filter((name) => !/README|metadata/.test(name))) {
    const files = without(argos, missing);
    for (const source of [files, zip(files)]) {
      const { code, where, message } = await refused(source);
      assert.equal(code, "file_missing", message);
      assert.ok(where.endsWith(missing), message);
    }
  }
});

test("CTranslate2 folders that are damaged, and what was looked for", async () => {
  const looked = await refused(without(model.files, "sentencepiece.model"));
  for (const name of ["source.spm", "spiece.model"]) assert.ok(looked.message.includes(name));
  const cut = { ...model.files, "model.bin": model.files["model.bin"].slice(0, -1) };
  assert.equal((await refused(cut)).code, "file_damaged");
  const longer = { ...model.files, "shared_vocabulary.json": text8('["<unk>", "<s>", "</s>"]') };
  const short = await refused(longer);
  assert.deepEqual([short.code, short.where], ["file_damaged", "shared_vocabulary.json"]);
});

test("hostile archives: overlaps, wrong sizes, bombs, wrong checksums, cut directories", async () => {
  const binary = "model/model.bin";
  const only = (field, value) => ({
    change: (entry) => (entry.name === binary ? { ...entry, [field]: value(entry) } : entry),
  });
  const hostile = [
    [only("offset", () => 0), /overlap/],
    [only("offset", () => 0xfffffff), /beyond the archive's end/],
    [only("packed", ({ packed }) => packed - 1), /otherwise|cannot be unpacked|announces/],
    [only("size", ({ size }) => size + 1), /announces/],
    [only("size", ({ size }) => size - 1), /announces|ends within|file ends/],
    [only("size", () => 0xfffffff0), /packed as/],
    [only("crc", ({ crc }) => (crc ^ 1) >>> 0), /checksum/],
    [only("method", () => 12), /method 12|otherwise/],
    [only("flags", () => 1), /encrypted/],
    [only("name", () => "README.md"), /twice|broken/],
    [only("data", ({ data }) => data.map((byte, i) => (i > 20 ? byte ^ 0x55 : byte))), /./],
    [{ end: (fields) => ({ ...fields, count: fields.count + 1 }) }, /broken/],
    [{ end: (fields) => ({ ...fields, count: fields.count - 1 }) }, /another length/],
    [{ end: (fields) => ({ ...fields, length: fields.length + 99 }) }, /longer/],
    [{ end: (fields) => ({ ...fields, offset: fields.offset + 1 }) }, /longer|broken/],
    [{ end: (fields) => ({ ...fields, count: 0xffff }) }, /4 GB/],
  ];
  for (const [options, pattern] of hostile) {
    const error = await refused(zip(argos, options));
    assert.match(error.code, /file_damaged|unsupported/, String(pattern));
    assert.match(error.message, pattern);
  }
  const archive = zip(argos);
  for (const length of [4, 100, archive.length - 30, archive.length - 1])
    assert.equal((await refused(archive.subarray(0, length))).code, "file_damaged");
  // A stored entry with another size than its data, and one with a wrong checksum.
  for (const field of ["size", "crc"]) {
    const change = (entry) =>
      entry.name === "sentencepiece.model"
        ? { ...entry, [field]: (entry[field] ^ 1) >>> 0 }
        : entry;
    assert.equal((await refused(zip(argos, { method: 0, change }))).code, "file_damaged");
  }
});

test("an archive that unpacks to far more than it says is left after what it says", async () => {
  const bomb = deflateRawSync(new Uint8Array(64 << 20));
  const change = (entry) =>
    entry.name === "model/model.bin"
      ? { ...entry, data: bomb, packed: bomb.length, size: 1000, crc: 0 }
      : entry;
  const error = await refused(zip(argos, { change }));
  assert.match(error.code, /file_damaged|unsupported/);
});

test("every byte of an archive's directory changed: refused, or the model as it is", async () => {
  const archive = zip(argos);
  const start = new DataView(archive.buffer).getUint32(archive.length - 6, true);
  let opened = 0;
  for (let at = start; at < archive.length; at += 7) {
    try {
      (await Model.load(damaged(archive, at, [archive[at] ^ 0xff]))).dispose();
      opened++;
    } catch (error) {
      assert.ok(error instanceof RelataError, String(error?.stack));
      assert.notEqual(error.code, "internal", error.message);
    }
  }
  assert.ok(opened > 0);
});

test("archives without a model, and with two", async () => {
  assert.equal((await refused(zip({ "a.txt": text8("a") }))).code, "file_missing");
  assert.equal((await refused(zip({}))).code, "file_missing");
  const two = Object.fromEntries(
    ["one", "two"].flatMap((name) =>
      Object.entries(argos).map(([file, bytes]) => [`${name}/${file}`, bytes]),
    ),
  );
  assert.match((await refused(zip(two))).message, /several models/);
});

test("a file that changes on its server, or answers with too little, is not used", async () => {
  // So long that the server is asked for parts of it.
  const filler = new Uint8Array(3 << 20);
  const files = { "en_de.argosmodel": zip({ filler, ...argos }, { method: 0 }) };
  const tag = (count) => `"${count}"`;
  await withFiles(
    files,
    async (address) => {
      const error = await refused(`${address}/en_de.argosmodel`);
      assert.equal(error.code, "network");
      assert.match(error.message, /changed/);
    },
    { tag },
  );
});
