// Tiny models with known answers, and small helpers, for the tests of the packed package.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { RelataError } from "relata";

const root = process.env.RELATA_ROOT;
if (root === undefined)
  throw new Error("RELATA_ROOT has to name the repository: the golden files lie there");

/** The repository. */
export const repository = root;
/** The installed package. */
export const packageFolder = dirname(createRequire(import.meta.url).resolve("relata/package.json"));

const manifest = JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8"));
/** The command line's script. */
export const cli = join(packageFolder, manifest.bin.relata);

/** Runs the command line to its end. */
export function relata(argv, input = "") {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...argv], {
    encoding: "utf8",
    input,
  });
  return { status, stdout, stderr };
}

/** A module of the package as it is before it is put into the package's few files, for tests of its own. */
export const moduleOf = (path) => import(pathToFileURL(join(root, "build/js", path)).href);

export const golden = (name) => join(root, "tests/golden", name);
export const goldenJson = (name, file = "expected.json") =>
  JSON.parse(readFileSync(join(golden(name), file), "utf8"));

/** Every golden model's folder name. */
export const goldenNames = readdirSync(join(root, "tests/golden")).filter((name) => {
  const files = readdirSync(join(root, "tests/golden")).includes(name)
    ? safeList(golden(name))
    : [];
  return files.includes("model.safetensors") && files.includes("expected.json");
});

function safeList(path) {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** A golden model's files as bytes by name. */
export function filesOf(name) {
  const wanted = ["config.json", "generation_config.json", "tokenizer.json", "model.safetensors"];
  const there = safeList(golden(name)).filter((file) => wanted.includes(file));
  return Object.fromEntries(
    there.map((file) => [file, new Uint8Array(readFileSync(join(golden(name), file)))]),
  );
}

const kFirstLetter = 0x4e00;
/** Token ids as text for `letterTokenizer`: one letter is one id. */
export const lettersOf = (ids) => String.fromCharCode(...ids.map((id) => kFirstLetter + id));

/** A tokenizer.json in which any sequence of ids can be written. */
export function letterTokenizer(vocabSize = 40) {
  const vocab = Object.fromEntries(
    Array.from({ length: vocabSize }, (_, id) => [lettersOf([id]), id]),
  );
  return new TextEncoder().encode(
    JSON.stringify({
      added_tokens: [],
      normalizer: null,
      pre_tokenizer: null,
      post_processor: null,
      decoder: { type: "Fuse" },
      model: {
        type: "BPE",
        vocab,
        merges: [],
        unk_token: null,
        fuse_unk: false,
        byte_fallback: false,
      },
    }),
  );
}

/** A golden model's files, to be spoken to in letters. */
export const letterFilesOf = (name) => ({
  ...filesOf(name),
  "tokenizer.json": letterTokenizer(),
});

/** The value of 16 bits of IEEE 754. */
function fromHalf(bits) {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return (
    sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15))
  );
}

/** The value of the upper 16 bits of an f32. */
const fromBrainFloat = (bits) => new Float32Array(new Uint32Array([bits << 16]).buffer)[0];

/** The tensors of a safetensors file by name, as { shape, data }. */
export function readTensors(file) {
  const bytes = readFileSync(file);
  const end = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString("utf8", 8, end));
  const arrays = {
    I8: Int8Array,
    U8: Uint8Array,
    F32: Float32Array,
    I32: Int32Array,
    I64: BigInt64Array,
    F64: Float64Array,
  };
  return Object.fromEntries(
    Object.entries(header)
      .filter(([name]) => name !== "__metadata__")
      .map(
        ([
          name,
          {
            dtype,
            shape,
            data_offsets: [from, to],
          },
        ]) => {
          const copy = new Uint8Array(bytes.subarray(end + from, end + to));
          const half = { F16: fromHalf, BF16: fromBrainFloat }[dtype];
          const data =
            half === undefined
              ? Array.from(new arrays[dtype](copy.buffer), Number)
              : Array.from(new Uint16Array(copy.buffer), half);
          return [name, { shape, data }];
        },
      ),
  );
}

/** A copy of bytes with some of them replaced from `at` on. */
export function damaged(bytes, at, replacement) {
  const copy = bytes.slice();
  copy.set(replacement, at);
  return copy;
}

/** Runs `use` with an empty folder, and removes it. */
export async function withFolder(files, use) {
  const folder = mkdtempSync(join(tmpdir(), "relata-test-"));
  try {
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs `use` with the address of a server that answers by `answer(name, response)`. */
export async function withServer(answer, use) {
  const server = createServer((request, response) =>
    answer(request.url.split("/").at(-1), response, request),
  );
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await use(`http://127.0.0.1:${server.address().port}/model`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** A server's answer with these files; 404 for the rest. */
export const serveFiles = (files) => (name, response) => {
  const bytes = files[name];
  if (bytes === undefined) response.writeHead(404).end("not here");
  else response.writeHead(200, { "content-length": bytes.length }).end(bytes);
};

/** What a promise or a function throws. */
export async function errorOf(action) {
  try {
    await (typeof action === "function" ? action() : action);
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

/** The code of the RelataError that a promise or a function throws. */
export async function codeOf(action) {
  const error = await errorOf(action);
  if (error instanceof RelataError) return error.code;
  throw new Error("no RelataError was thrown", { cause: error });
}

/** The largest absolute difference of two lists of one length. */
export function largestDifference(actual, expected) {
  if (actual.length !== expected.length) return Number.POSITIVE_INFINITY;
  let most = 0;
  // A NaN must not slip through a comparison.
  for (let i = 0; i < actual.length; i++)
    most = Math.max(
      most,
      Math.abs(actual[i] - expected[i]) || 0,
      Number.isNaN(actual[i]) ? Infinity : 0,
    );
  return most;
}
