// Worked cases, plain constructors, damaged files, and time.

import assert from "node:assert/strict";
import { test } from "node:test";
import { moduleOf } from "./fixtures.mjs";
import {
  fromJson,
  jsonFile,
  jsonTokenizer,
  pieceModel,
  readGolden,
  readGoldenJson,
  textModule,
} from "./tokenizer-fixtures.mjs";

const { RelataError } = await moduleOf("errors.js");
const { PieceTokenizer, ListTokenizer, listConventions, t5Conventions } =
  await textModule("piece-tokenizers");
const { kPieceModelDefaults, readPieceModel } = await textModule("piece-model");
const { ByteTokenizer } = await textModule("byte-tokenizer");
const { JsonTokenizer } = await textModule("tokenizer-json");

const lines = readGoldenJson("corpus.json");

function invalid(make, pattern, place = "tokenizer.json") {
  assert.throws(make, (error) => {
    assert.ok(error instanceof RelataError, String(error?.stack));
    assert.equal(error.code, "tokenizer_invalid");
    assert.equal(error.where, place);
    assert.match(error.message, pattern);
    return true;
  });
}

test("a unigram file without unk id and with Metaspace's old keys", () => {
  // Ids by the tokenizers library 0.23: "test" is 2 3, and "text" is refused for its x.
  const metaspace = { type: "Metaspace", replacement: "▁", add_prefix_space: true, str_rep: "▁" };
  const vocab = [
    ["▁", -3],
    ["t", -3],
    ["▁te", -2],
    ["st", -2],
    ["e", -3],
    ["s", -3],
  ];
  const file = { model: { type: "Unigram", vocab }, pre_tokenizer: metaspace };
  assert.deepEqual(fromJson(file).encode("test"), [2, 3]);
  assert.deepEqual(fromJson({ ...file, model: { vocab } }).encode("test"), [2, 3]);
  invalid(() => fromJson(file).encode("text"), /model\.unk_id/);
  const { add_prefix_space, ...rest } = metaspace;
  assert.deepEqual(fromJson({ ...file, pre_tokenizer: rest }).encode("test"), [2, 3]);
  const bare = { ...rest, add_prefix_space: false };
  assert.deepEqual(fromJson({ ...file, pre_tokenizer: bare }).encode("tt"), [1, 1]);
  invalid(
    () => fromJson({ ...file, pre_tokenizer: { ...bare, prepend_scheme: "always" } }),
    /add_prefix_space is false/,
  );
  assert.equal(add_prefix_space, true);
});

test("ByT5 takes bytes", () => {
  const byt5 = new ByteTokenizer();
  assert.deepEqual(byt5.encode("a"), [100, 1]);
  assert.deepEqual(byt5.encode("é"), [198, 172, 1]);
  assert.deepEqual(byt5.encode("日"), [233, 154, 168, 1]);
  assert.deepEqual(byt5.encode("😀"), [243, 162, 155, 131, 1]);
  assert.deepEqual(byt5.encode("<extra_id_0>a</s>"), [259, 100, 1]);
  assert.deepEqual(byt5.encode("", { addSpecialTokens: false }), []);
  assert.equal(byt5.size, 384);
});

test("an emoji streams with its last byte, and a byte that belongs to none is left out", () => {
  const stream = new ByteTokenizer().streamDecoder();
  const pieces = [243, 162, 155, 131, 100].map((id) => stream.push(id));
  assert.deepEqual([...pieces, stream.end()], ["", "", "", "😀", "a", ""]);
  assert.equal(new ByteTokenizer().decode([243, 162, 100, 131, 100]), "aa");
});

test("stray bytes of other kinds become U+FFFD, and what follows them stays", () => {
  const bpe = new PieceTokenizer(pieceModel("bpe"));
  const byte = (value) => bpe.encode("\u{10fffd}")[1] - 0xf4 + value;
  assert.equal(bpe.piece(byte(0xf0)), "<0xF0>");
  // sentencepiece: one for each byte that belongs to no character.
  assert.equal(bpe.decode([byte(0xc3), byte(0xa9), byte(0xf0), byte(0x9f)]), "é\u{FFFD}\u{FFFD}");
  assert.equal(bpe.decode([byte(0xe2), byte(0x41)]), "\u{FFFD}A");
});

test("plain lists make the same tokenizer as the file they come from", () => {
  const model = pieceModel("unigram");
  const { pieces, types, charsMap } = model;
  const scores = Array.from(model.scores);
  const plain = { ...kPieceModelDefaults, place: "vocabulary", pieces, scores, types, charsMap };
  const [one, other] = [model, plain].map((from) => new PieceTokenizer(from));
  for (const line of lines) assert.deepEqual(other.encode(line), one.encode(line));
});

test("a vocabulary list numbers the pieces of a sentencepiece model", () => {
  const model = pieceModel("unigram");
  const tokens = ["<unk>", "<s>", "</s>", ...model.pieces.filter((_, id) => id % 3 !== 0)];
  const around = { before: ["<s>"], after: ["</s>"] };
  const list = new ListTokenizer(
    model,
    model,
    listConventions("vocabulary.txt", tokens, tokens, around),
  );
  const pieces = new PieceTokenizer(model);
  for (const line of lines.filter((_, i) => i % 20 === 0)) {
    // The unknown token's name stands for an unknown piece, whose own text no list has.
    const names = pieces.encode(line).map((id) => pieces.piece(id));
    const ids = names.map((name) => Math.max(0, tokens.indexOf(name)));
    assert.deepEqual(list.encode(line), [1, ...ids, 2]);
  }
  // The list has no "▁the".
  assert.equal(list.decode(list.encode("the dog")), "dog");
  invalid(() => new ListTokenizer(model, model, listConventions("v.txt", ["a"])), /<unk>/, "v.txt");
});

test("T5's sentinels lie above the pieces, the first one highest", () => {
  const model = pieceModel("unigram");
  const t5 = new PieceTokenizer(model, t5Conventions(model));
  const size = model.pieces.length;
  assert.deepEqual(t5.encode("<extra_id_0> <extra_id_99>"), [size + 99, size, 1]);
  assert.equal(t5.piece(size + 99), "<extra_id_0>");
  assert.equal(t5.decode(t5.encode("the <extra_id_0> dog")), "the dog");
});

test("damaged files are refused with the place, whatever is damaged", () => {
  const good = jsonFile("t5");
  const damage = (path, value) => {
    const file = structuredClone({ ...good, normalizer: null });
    const keys = path.split(".");
    const last = keys.pop();
    let at = file;
    for (const key of keys) at = at[key];
    at[last] = value;
    return () => fromJson(file);
  };
  invalid(damage("model.vocab", {}), /model\.vocab: expected a list/);
  invalid(damage("model.vocab.7", ["a", "b"]), /model\.vocab: entry 7/);
  invalid(damage("model.unk_id", 4000), /model\.unk_id: is 4000/);
  invalid(damage("model.unk_id", -1), /model\.unk_id: expected an id/);
  invalid(damage("model.type", "WordPiece"), /model: type WordPiece is not supported/);
  invalid(damage("added_tokens.5.content", 5), /added_tokens\[5\]\.content/);
  invalid(damage("added_tokens.5.id", 1.5), /added_tokens\[5\]\.id/);
  invalid(damage("added_tokens.5.lstrip", "yes"), /added_tokens\[5\]\.lstrip/);
  invalid(damage("pre_tokenizer.pretokenizers.1.replacement", ""), /pretokenizers\[1\]/);
  invalid(damage("pre_tokenizer", { type: "BertPreTokenizer" }), /BertPreTokenizer/);
  invalid(damage("decoder.type", "toString"), /decoder: type toString/);
  invalid(damage("post_processor.special_tokens", {}), /special_tokens\.<\/s>: is missing/);
  invalid(damage("normalizer", { type: "Precompiled" }), /precompiled_charsmap/);
  invalid(damage("normalizer", { type: "Precompiled", precompiled_charsmap: "%" }), /base64/);
  invalid(damage("normalizer", { type: "Precompiled", precompiled_charsmap: "AAE=" }), /trie/);
  const split = (Regex) =>
    damage("pre_tokenizer", { type: "Split", pattern: { Regex }, behavior: "Isolated" });
  for (const regex of ["(?i:a)", "a++", "(?>a)", "[a[b]]", "\\G", "\\h", "[\\W]", "[]", "(", "\\"])
    invalid(split(regex), /pre_tokenizer\.pattern\.Regex/);

  const bpe = jsonFile("byte-level");
  const merges = (merge) => () => fromJson({ ...bpe, model: { ...bpe.model, merges: [merge] } });
  invalid(merges("a"), /model\.merges: entry 0 is no pair/);
  invalid(merges(["a", "never seen"]), /model\.merges: entry 0 merges/);
  invalid(() => fromJson({ ...bpe, model: { ...bpe.model, dropout: 0.1 } }), /dropout/);
});

test("a map that points outside of itself is refused where a text leads there", () => {
  const file = jsonFile("t5");
  const map = Buffer.from(file.normalizer.precompiled_charsmap, "base64");
  let refused = 0;
  for (let seed = 1; seed <= 10; seed++) {
    const broken = Buffer.from(map);
    for (let i = 0; i < 4000; i++)
      broken[4 + ((i * 7919 * seed) % 60000)] ^= 1 + ((i * seed) % 255);
    const normalizer = { type: "Precompiled", precompiled_charsmap: broken.toString("base64") };
    const tokenizer = fromJson({ ...file, normalizer });
    for (const line of lines.slice(0, 60)) {
      try {
        const ids = tokenizer.encode(line);
        assert.ok(ids.every(Number.isInteger));
      } catch (error) {
        assert.equal(error.code, "tokenizer_invalid", String(error.stack));
        assert.match(error.message, /precompiled_charsmap/);
        refused++;
      }
    }
  }
  assert.ok(refused > 0);
});

test("a cut or changed sentencepiece model is refused, or still gives ids of its own", () => {
  const bytes = readGolden("unigram-bytes.model");
  const place = "spiece.model";
  const attempt = (broken) => {
    try {
      const tokenizer = new PieceTokenizer(readPieceModel(broken, place));
      for (const line of lines.slice(4, 12)) {
        const ids = tokenizer.encode(line);
        assert.ok(ids.every((id) => Number.isInteger(id) && id >= 0 && id < tokenizer.size));
      }
      return "accepted";
    } catch (error) {
      assert.ok(error instanceof RelataError, String(error.stack));
      assert.deepEqual([error.code, error.where], ["tokenizer_invalid", place]);
      return "refused";
    }
  };
  const outcomes = { accepted: 0, refused: 0 };
  for (let length = 0; length < bytes.length; length += 97)
    outcomes[attempt(bytes.subarray(0, length))]++;
  assert.equal(outcomes.accepted, 0);
  for (let at = 0; at < bytes.length; at += 61) {
    const broken = Uint8Array.from(bytes);
    broken[at] ^= 0xff;
    outcomes[attempt(broken)]++;
  }
  assert.ok(outcomes.refused > 200 && outcomes.accepted > 0, JSON.stringify(outcomes));
  assert.equal(attempt(bytes), "accepted");
});

test("a megabyte in one line does not hang", () => {
  const repeated = (text, size) => text.repeat(Math.ceil(size / text.length)).slice(0, size);
  const [t5, pieces] = [jsonTokenizer("t5"), new PieceTokenizer(pieceModel("unigram"))];
  const bpe = [jsonTokenizer("byte-level"), new PieceTokenizer(pieceModel("bpe"))];
  const tries = [
    [new ByteTokenizer(), repeated("日a", 1e6)],
    [t5, repeated("the dog ", 1e6)],
    [pieces, repeated("ab", 1e6)],
    ...bpe.map((tokenizer) => [tokenizer, repeated("the日", 1e5)]),
    ...["ทำน้ำ", "a\u0301\u200d", " \t\n", "<extra_id_0>"].map((text) => [t5, repeated(text, 1e5)]),
  ];
  for (const [tokenizer, text] of tries) {
    const { user } = process.cpuUsage();
    const ids = tokenizer.encode(text);
    tokenizer.decode(ids);
    const seconds = (process.cpuUsage().user - user) / 1e6;
    // Quadratic work takes minutes; this is no measure of speed.
    assert.ok(seconds < 30, `${text.slice(0, 9)}: ${seconds} s`);
  }
});

test("half a surrogate pair is U+FFFD", () => {
  for (const tokenizer of [jsonTokenizer("t5"), new ByteTokenizer()])
    assert.deepEqual(tokenizer.encode("a\ud83d b"), tokenizer.encode("a\ufffd b"));
  invalid(() => new JsonTokenizer(Uint8Array.of(0xff), "tokenizer.json"), /not JSON/);
});
