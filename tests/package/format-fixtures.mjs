// Models in other files than Hugging Face's folders: golden ones, the files beside them, and archives of them.

import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { crc32, deflateRawSync, gunzipSync } from "node:zlib";
import { golden, goldenJson } from "./fixtures.mjs";
import { characterMap, textModule } from "./tokenizer-fixtures.mjs";

const { kPieceModelDefaults, writePieceModel } = await textModule("piece-model");

const bytesOf = (text) => new TextEncoder().encode(text);

/** A sentencepiece model of these pieces, the first of which is the unknown one; nothing is put before a text. */
export const pieceFile = (pieces) =>
  writePieceModel({
    ...kPieceModelDefaults,
    place: "pieces",
    pieces,
    scores: pieces.map(() => -1),
    types: pieces.map((_, id) => (id === 0 ? 2 : 1)),
    addDummyPrefix: false,
  });

/** The golden GGUF file, its character map in the place of the zeros that stand for it in the repository. */
export const gguf = (() => {
  const bytes = gunzipSync(readFileSync(join(golden("files"), "t5.gguf.gz")));
  const key = "tokenizer.ggml.precompiled_charsmap";
  const at = bytes.indexOf(key) + key.length + 4 + 4; // behind the value's type and its elements'
  if (Number(bytes.readBigUInt64LE(at)) !== characterMap.length)
    throw new Error(`t5.gguf.gz has no room for unigram.model's character map`);
  bytes.set(characterMap, at + 8);
  return new Uint8Array(bytes);
})();
export const ggufCases = goldenJson("files").cases;

export const ctranslate2Names = readdirSync(golden("ctranslate2")).filter(
  (name) => readdirSync(golden("ctranslate2")).includes(name) && !name.includes("."),
);

/**
 * A golden CTranslate2 folder with sentencepiece models beside it, as { files, cases }: each case has a text, its ids and those
 * that are generated greedily.
 */
export function ctranslate2(name) {
  const folder = join(golden("ctranslate2"), name);
  const wanted = readdirSync(folder).filter((file) => !/^(expected|blocks)\./.test(file));
  const files = Object.fromEntries(
    wanted.map((file) => [file, new Uint8Array(readFileSync(join(folder, file)))]),
  );
  const letters = "source_vocabulary.txt" in files ? ["s", "t"] : ["w"];
  const pieces = (letter) => [
    "<unk>",
    ...Array.from({ length: 40 }, (_, number) => `${letter}${number}`),
  ];
  const names = letters.length === 2 ? ["source.spm", "target.spm"] : ["sentencepiece.model"];
  names.forEach((file, i) => {
    files[file] = pieceFile(pieces(letters[i]));
  });
  const { cases } = JSON.parse(readFileSync(join(folder, "expected.json"), "utf8"));
  return {
    files,
    cases: cases.map(({ source_ids, greedy_ids }) => ({
      text: source_ids
        .slice(0, -1)
        .map((id) => `${letters[0]}${id - 3}`)
        .join(""),
      source_ids,
      greedy_ids,
    })),
  };
}

/** A folder of Argos: model.bin and its texts in model/, the rest above them. */
export function argosFiles({ files }) {
  const below = ["model.bin", "config.json"];
  return {
    ...Object.fromEntries(
      Object.entries(files).map(([file, bytes]) => [
        below.includes(file) || /vocabulary/.test(file) ? `model/${file}` : file,
        bytes,
      ]),
    ),
    "metadata.json": bytesOf('{"package_version": "1.0", "from_code": "en", "to_code": "de"}'),
    "README.md": bytesOf("A package\n"),
  };
}

/**
 * A zip archive. method: 0 stores, 8 deflates. change: gets each entry's fields { name, method, crc, packed, size, offset, data } and may
 * alter what the directory says; end: the same for the directory's end.
 */
export function zip(
  files,
  { method = 8, change = (entry) => entry, end = (fields) => fields } = {},
) {
  const parts = [];
  const directory = [];
  let offset = 0;
  const add = (list, bytes) => {
    list.push(bytes);
    return bytes.length;
  };
  for (const [name, bytes] of Object.entries(files)) {
    const data = method === 8 ? deflateRawSync(bytes) : bytes;
    const honest = {
      ...{ name, method, flags: 0, crc: crc32(bytes), packed: data.length, size: bytes.length },
      ...{ offset, data },
    };
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(method, 8);
    local.writeUInt32LE(honest.crc, 14);
    const told = change({ ...honest });
    local.writeUInt32LE(told.packed, 18);
    local.writeUInt32LE(told.size, 22);
    local.writeUInt16LE(Buffer.byteLength(name), 26);
    offset += add(parts, local) + add(parts, Buffer.from(name)) + add(parts, told.data);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(told.flags, 8);
    entry.writeUInt16LE(told.method, 10);
    entry.writeUInt32LE(told.crc, 16);
    entry.writeUInt32LE(told.packed, 20);
    entry.writeUInt32LE(told.size, 24);
    entry.writeUInt16LE(Buffer.byteLength(told.name), 28);
    entry.writeUInt32LE(told.offset, 42);
    directory.push(entry, Buffer.from(told.name));
  }
  const length = directory.reduce((sum, { length: bytes }) => sum + bytes, 0);
  const fields = end({ count: Object.keys(files).length, length, offset });
  const last = Buffer.alloc(22);
  last.writeUInt32LE(0x06054b50, 0);
  last.writeUInt16LE(fields.count, 8);
  last.writeUInt16LE(fields.count, 10);
  last.writeUInt32LE(fields.length, 12);
  last.writeUInt32LE(fields.offset, 16);
  return new Uint8Array(Buffer.concat([...parts, ...directory, last]));
}

/**
 * Serves files by their path; use gets the address and a list of what was asked for, as { path, range, bytes }, bytes being those
 * that were sent. ranges: whether the server knows them.
 */
export async function withFiles(files, use, { ranges = true, tag = () => undefined } = {}) {
  const asked = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url.slice(1));
    const bytes = Object.hasOwn(files, path) ? files[path] : undefined;
    const range = request.headers.range ?? null;
    asked.push({ path, range });
    if (bytes === undefined) return response.writeHead(404).end("not here");
    const headers = { etag: tag(asked.length) ?? '"one"' };
    if (range === null || !ranges)
      return response.writeHead(200, { ...headers, "content-length": bytes.length }).end(bytes);
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(range);
    const end = to === "" ? bytes.length : Number(to) + 1;
    const part = bytes.subarray(Number(from), end);
    const place = `bytes ${from}-${end - 1}/${bytes.length}`;
    response.writeHead(206, {
      ...headers,
      "content-length": part.length,
      "content-range": place,
    });
    return response.end(part);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await use(`http://127.0.0.1:${server.address().port}`, asked);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

export const idsOf = (tokens) => tokens.map(({ id }) => id);

/** The greedy ids up to the end token. */
export function untilEnd(ids, end) {
  const at = ids.indexOf(end);
  return at < 0 ? ids : ids.slice(0, at + 1);
}
