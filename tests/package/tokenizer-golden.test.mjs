// Ids and texts of every kind of tokenizer against the libraries they come from, on two thousand hard lines.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import {
  jsonTokenizer,
  pieceModel,
  readGolden,
  readGoldenJson,
  textModule,
} from "./tokenizer-fixtures.mjs";

const { PieceTokenizer, ListTokenizer, t5Conventions, marianConventions } =
  await textModule("piece-tokenizers");
const { ByteTokenizer } = await textModule("byte-tokenizer");

const lines = readGoldenJson("corpus.json");
const { kinds, variants } = readGoldenJson("expected.json");

const fromPieces = (name) => () => new PieceTokenizer(pieceModel(name));
const t5FromPieces = (legacy) => () => {
  const model = pieceModel("unigram");
  return new PieceTokenizer(model, t5Conventions(model, { legacy }));
};
const makers = {
  unigram: fromPieces("unigram"),
  bpe: fromPieces("bpe"),
  "unigram-bytes": fromPieces("unigram-bytes"),
  "bpe-suffix": fromPieces("bpe-suffix"),
  "t5-model-legacy": t5FromPieces(true),
  "t5-model-new": t5FromPieces(false),
  byt5: () => new ByteTokenizer(),
  marian: () =>
    new ListTokenizer(
      pieceModel("unigram"),
      pieceModel("bpe"),
      marianConventions(readGolden("marian-vocab.json"), "vocab.json"),
    ),
};

const made = new Map();
function tokenizerOf(kind) {
  if (!made.has(kind)) made.set(kind, makers[kind]?.() ?? jsonTokenizer(kind, variants[kind]));
  return made.get(kind);
}

/** Marian was asked with a language code before every other line, and without the names of special tokens. */
const asked = {
  marian: (line) =>
    ([...line].length % 2 === 1 ? ">>fr<< " : "") + line.replace(/<\/s>|<unk>|<pad>/g, ""),
};

const hash = (text) => createHash("sha256").update(text).digest("hex").slice(0, 4);
const hashes = (text) => text.match(/.{4}/g);

test("there are goldens of every kind, and nothing was left out", () => {
  assert.equal(lines.length, 2000);
  const files = ["t5", "byte-level", "metaspace-bpe", ...Object.keys(variants)];
  assert.deepEqual(Object.keys(kinds).sort(), [...Object.keys(makers), ...files].sort());
  assert.ok(Object.keys(kinds).length >= 20);
});

for (const [kind, expected] of Object.entries(kinds)) {
  test(`${kind}: ids of ${lines.length} lines, and their texts`, () => {
    const tokenizer = tokenizerOf(kind);
    const all = lines.map((line) => tokenizer.encode(asked[kind]?.(line) ?? line));
    for (const ids of all)
      assert.ok(ids.every((id) => Number.isInteger(id) && id >= 0 && id < tokenizer.size));
    if (expected.ids !== undefined) {
      assert.equal(expected.ids.length, lines.length);
      expected.ids.forEach((ids, i) => {
        assert.deepEqual(all[i], ids, `line ${i}: ${JSON.stringify(lines[i])}`);
      });
    } else {
      const digitsOf = hashes(expected.hashes);
      assert.equal(digitsOf.length, lines.length);
      digitsOf.forEach((digits, i) => {
        assert.equal(hash(all[i].join(" ")), digits, `line ${i}: ${JSON.stringify(lines[i])}`);
      });
    }
    const texts = all.filter((_, i) => i % 4 === 0).map((ids) => tokenizer.decode(ids));
    expected.decoded?.forEach((text, i) => {
      assert.equal(texts[i], text ?? lines[4 * i], `line ${4 * i}`);
    });
    if (expected.decodedHashes !== undefined)
      assert.deepEqual(texts.map(hash), hashes(expected.decodedHashes));
  });
}

test("streamed text, joined, is the decoded whole, and no piece of it is half a character", () => {
  for (const kind of Object.keys(kinds)) {
    const tokenizer = tokenizerOf(kind);
    for (const line of lines.filter((_, i) => i % 10 === 0)) {
      const ids = tokenizer.encode(asked[kind]?.(line) ?? line);
      const whole = tokenizer.decode(ids);
      const stream = tokenizer.streamDecoder();
      const pieces = [...ids.map((id) => stream.push(id)), stream.end()];
      assert.equal(pieces.join(""), whole, kind);
      const broken = pieces.filter((piece) => piece.includes("\u{FFFD}")).length;
      if (!whole.includes("\u{FFFD}")) assert.equal(broken, 0, kind);
      // A surrogate pair is never divided.
      assert.ok(
        pieces.every((piece) => !/\p{Surrogate}/u.test(piece)),
        kind,
      );
    }
  }
});
