// Where a model can come from, progress, and aborting a load.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { Model } from "relata";
import {
  errorOf,
  filesOf,
  golden,
  goldenJson,
  packageFolder,
  serveFiles,
  withServer,
} from "./fixtures.mjs";

const files = filesOf("shaw");
const [{ text, generated_text }] = goldenJson("shaw").texts;

async function works(source, options) {
  const model = await Model.load(source, options);
  assert.equal((await model.run(text)).text, generated_text);
  model.dispose();
}

test("a folder's path, its URL, and both without a last slash", async () => {
  await works(golden("shaw"));
  await works(`${golden("shaw")}/`);
  await works(pathToFileURL(golden("shaw")));
  await works(pathToFileURL(golden("shaw")).href);
});

test("bytes by name, as Uint8Array and as ArrayBuffer", async () => {
  await works(files);
  await works(
    Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, bytes.slice().buffer])),
  );
});

test("File objects", async () => {
  const { File } = globalThis.File ? globalThis : await import("node:buffer");
  await works(Object.entries(files).map(([name, bytes]) => new File([bytes], name)));
});

test("a server, with and without known lengths, compressed, and one byte at a time", async () => {
  await withServer(serveFiles(files), (address) => works(`${address}`));
  await withServer(serveFiles(files), (address) => works(new URL(`${address}/`)));
  const unknown = (name, response) =>
    files[name] ? response.end(files[name]) : response.writeHead(404).end();
  await withServer((name, response) => {
    response.setHeader("transfer-encoding", "chunked");
    unknown(name, response);
  }, works);
  await withServer((name, response) => {
    if (!files[name]) return response.writeHead(404).end();
    const packed = gzipSync(files[name]);
    return response
      .writeHead(200, { "content-encoding": "gzip", "content-length": packed.length })
      .end(packed);
  }, works);
  await withServer(async (name, response) => {
    if (!files[name]) return response.writeHead(404).end();
    response.writeHead(200, { "content-length": files[name].length });
    for (const part of [1, 6, 7, 300, 301, files[name].length]) {
      response.write(files[name].subarray(response.sent ?? 0, part));
      response.sent = part;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return response.end();
  }, works);
});

test("a folder without generation_config.json loads; a page in its place counts as none", async () => {
  const { "generation_config.json": _none, ...rest } = files;
  // The longest text is then 64 tokens.
  const longer = async (source) => {
    const model = await Model.load(source);
    const result = await model.run(text);
    assert.ok(result.text.startsWith(generated_text));
    assert.deepEqual([result.stats.newTokens, result.finishReason], [64, "length"]);
    model.dispose();
  };
  await longer(rest);
  const page = (name, response) => {
    if (rest[name]) serveFiles(rest)(name, response);
    else
      response
        .writeHead(200, { "content-type": "text/html; charset=utf-8" })
        .end("<!doctype html>");
  };
  await withServer(page, longer);
});

test("the compiled core can be given as bytes, as a module and as an address", async () => {
  const file = join(packageFolder, "dist/package/wasm/relata.wasm");
  const bytes = new Uint8Array(readFileSync(file));
  await works(files, { wasm: bytes });
  await works(files, { wasm: bytes.slice().buffer });
  await works(files, { wasm: new WebAssembly.Module(bytes) });
  await works(files, { wasm: pathToFileURL(file) });
  await works(files, { wasm: file });
  await withServer(serveFiles({ model: bytes }), (address) => works(files, { wasm: address }));
});

test("progress grows to a total that stays the same", async () => {
  const seen = async (source) => {
    const calls = [];
    const model = await Model.load(source, { onProgress: (progress) => calls.push(progress) });
    model.dispose();
    return calls;
  };
  const size = Object.values(files).reduce((sum, bytes) => sum + bytes.length, 0);
  for (const calls of [
    await seen(golden("shaw")),
    await seen(files),
    await withServer(serveFiles(files), seen),
  ]) {
    assert.ok(calls.length >= 3);
    assert.ok(calls.every(({ total, file }) => total === size && file === "model.safetensors"));
    assert.ok(calls.every(({ loaded }, i) => i === 0 || loaded >= calls[i - 1].loaded));
    assert.equal(calls.at(-1).loaded, size);
  }
});

test("aborting a load: before, during and by timeout", async () => {
  const reason = new Error("enough");
  assert.equal(await errorOf(Model.load(files, { signal: AbortSignal.abort(reason) })), reason);
  const plain = await errorOf(Model.load(files, { signal: AbortSignal.abort() }));
  assert.equal(plain.name, "AbortError");

  for (const source of [golden("shaw"), files]) {
    const controller = new AbortController();
    let calls = 0;
    const onProgress = () => {
      calls += 1;
      if (calls === 2) controller.abort(reason);
    };
    assert.equal(
      await errorOf(Model.load(source, { signal: controller.signal, onProgress })),
      reason,
    );
    assert.equal(calls, 2);
  }

  // A server that stops in the middle of the weights.
  const stuck = (name, response) => {
    if (name !== "model.safetensors") return serveFiles(files)(name, response);
    response.writeHead(200, { "content-length": files[name].length });
    return response.write(files[name].subarray(0, 2000));
  };
  await withServer(stuck, async (address) => {
    const error = await errorOf(Model.load(address, { signal: AbortSignal.timeout(150) }));
    assert.equal(error.name, "TimeoutError");
  });
  await works(files);
});

test("what onProgress throws ends the load", async () => {
  const problem = new Error("mine");
  const onProgress = () => {
    throw problem;
  };
  assert.equal(await errorOf(Model.load(files, { onProgress })), problem);
});
