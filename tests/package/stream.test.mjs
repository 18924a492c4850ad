// Streamed text: never half a character, and joined it is the decoded whole.

import assert from "node:assert/strict";
import { test } from "node:test";
import { moduleOf } from "./fixtures.mjs";

const { TextStream, TextTokenizer } = await moduleOf("tokenizer.js");

const json = (tokenizer) => new TextEncoder().encode(JSON.stringify(tokenizer));
const hex = (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;

/** Byte b is id b + 3, as in ByT5; 0 to 2 are special. */
const bytes = new TextTokenizer(
  json({
    added_tokens: ["<pad>", "</s>", "<unk>"].map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: { type: "Sequence", decoders: [{ type: "ByteFallback" }, { type: "Fuse" }] },
    model: {
      type: "BPE",
      vocab: {
        "<pad>": 0,
        "</s>": 1,
        "<unk>": 2,
        ...Object.fromEntries(Array.from({ length: 256 }, (_, byte) => [hex(byte), byte + 3])),
      },
      merges: [],
      unk_token: "<unk>",
      fuse_unk: false,
      byte_fallback: true,
    },
  }),
  "tokenizer.json",
  384,
);

function stream(tokenizer, ids) {
  const open = new TextStream(tokenizer);
  const pieces = ids.map((id) => open.push(id));
  const last = open.end();
  assert.equal(pieces.join("") + last, tokenizer.decode(ids));
  assert.equal(open.text, tokenizer.decode(ids));
  return { pieces, last };
}

const idsOf = (text) => Array.from(new TextEncoder().encode(text), (byte) => byte + 3);

test("an emoji comes with its last byte (ids 243 162 155 131, then 100)", () => {
  assert.deepEqual(stream(bytes, [243, 162, 155, 131, 100]), {
    pieces: ["", "", "", "😀", "a"],
    last: "",
  });
});

test("letters of one to four bytes, no piece with a replacement character", () => {
  const text = "aé日😀ß–Straße 𝔘! naïve 你好";
  const { pieces } = stream(bytes, idsOf(text));
  assert.equal(pieces.join(""), text);
  assert.ok(pieces.every((piece) => !piece.includes("\u{FFFD}")));
  assert.equal(pieces.filter((piece) => piece !== "").length, [...text].length);
});

test("special tokens are silent, also between the bytes of a character", () => {
  const [first, second] = idsOf("é");
  assert.deepEqual(stream(bytes, [0, first, 0, second, 1]).pieces, ["", "", "", "é", ""]);
});

test("bytes that never become a character come at the end, as the decoder has them", () => {
  const [first] = idsOf("é");
  const { pieces, last } = stream(bytes, [100, first]);
  assert.deepEqual(pieces, ["a", ""]);
  assert.equal(last, "\u{FFFD}");
  // In the middle of a text they are known to be wrong as soon as the next letter comes.
  stream(bytes, [100, first, 100, 100]);
  stream(bytes, []);
});
