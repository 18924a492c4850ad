// Where a model can come from, progress, aborting a load, and what a damaged or missing file is called.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { Model, RelataError } from "relata";
import {
  damaged,
  errorOf,
  filesOf,
  golden,
  goldenJson,
  packageFolder,
  serveFiles,
  withFolder,
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

/** The code and place of the error a source is refused with. */
async function refused(source, options) {
  const error = await errorOf(Model.load(source, options));
  assert.ok(error instanceof RelataError, String(error));
  assert.equal(error.name, "RelataError");
  assert.ok(error.message.length > error.where.length / 2);
  return { code: error.code, where: error.where, message: error.message };
}

const without = (name) => Object.fromEntries(Object.entries(files).filter(([key]) => key !== name));
const text8 = (text) => new TextEncoder().encode(text);
const config = JSON.parse(new TextDecoder().decode(files["config.json"]));
const withConfig = (change) => ({
  ...files,
  "config.json": text8(JSON.stringify({ ...config, ...change })),
});

test("missing files are named", async () => {
  for (const name of ["config.json", "tokenizer.json", "model.safetensors"]) {
    assert.deepEqual((({ code, where }) => ({ code, where }))(await refused(without(name))), {
      code: "file_missing",
      where: name,
    });
    await withFolder(without(name), async (folder) => {
      const { code, where } = await refused(folder);
      assert.deepEqual({ code, where }, { code: "file_missing", where: join(folder, name) });
    });
    await withServer(serveFiles(without(name)), async (address) => {
      const { code, where } = await refused(address);
      assert.deepEqual({ code, where }, { code: "file_missing", where: `${address}/${name}` });
    });
  }
  assert.equal((await refused(join(golden("shaw"), "nowhere"))).code, "file_missing");
});

test("damaged files", async () => {
  const weights = files["model.safetensors"];
  const model = (bytes) => ({ ...files, "model.safetensors": bytes });
  assert.equal((await refused(model(weights.subarray(0, 5)))).code, "file_damaged");
  assert.equal((await refused(model(new Uint8Array(0)))).code, "file_damaged");
  assert.equal(
    (await refused(model(weights.subarray(0, weights.length - 1)))).code,
    "file_damaged",
  );
  assert.equal(
    (await refused(model(damaged(weights, 0, [0xff, 0xff, 0xff, 0xff])))).code,
    "file_damaged",
  );
  assert.equal((await refused(model(damaged(weights, 8, [0x5b])))).code, "file_damaged");
  // The last four bytes of the last tensor, not a number.
  assert.equal(
    (await refused(model(damaged(weights, weights.length - 4, [0, 0, 0xc0, 0x7f])))).code,
    "tensor_invalid",
  );
});

test("a configuration that is no JSON, lacks a field or asks for what is not there", async () => {
  const broken = await refused({ ...files, "config.json": text8("{") });
  assert.ok(["config_invalid", "file_damaged"].includes(broken.code), broken.code);
  assert.match(broken.where, /config\.json/);
  const none = await refused(withConfig({ d_model: undefined }));
  assert.equal(none.code, "config_invalid");
  assert.match(`${none.where} ${none.message}`, /d_model/);
  assert.equal((await refused(withConfig({ model_type: "mamba" }))).code, "unsupported");
  assert.equal(
    (await refused(withConfig({ num_encoder_layers: config.num_encoder_layers + 1 }))).code,
    "tensor_missing",
  );
  assert.equal((await refused(withConfig({ d_ff: config.d_ff + 1 }))).code, "tensor_invalid");
});

test("a tokenizer that is no JSON, no tokenizer, or of another model", async () => {
  const tokenizer = (json) => ({ ...files, "tokenizer.json": text8(json) });
  for (const json of ["", "{", "[]", "null", "{}", '{"model": {"type": "Sorcery"}}']) {
    const { code, where } = await refused(tokenizer(json));
    assert.deepEqual({ code, where }, { code: "tokenizer_invalid", where: "tokenizer.json" }, json);
  }
  const empty = await refused(
    tokenizer('{"model": {"type": "BPE", "vocab": {}, "merges": []}, "added_tokens": []}'),
  );
  assert.deepEqual([empty.code, empty.where], ["tokenizer_invalid", "tokenizer.json"]);
  assert.match(empty.message, /empty vocabulary/);
  // Ids past the vocabulary are found when a text needs them.
  const other = JSON.parse(new TextDecoder().decode(files["tokenizer.json"]));
  other.model.vocab["▁dog"] = 4711;
  const model = await Model.load({ ...files, "tokenizer.json": text8(JSON.stringify(other)) });
  const error = await errorOf(model.run("a dog"));
  assert.equal(error.code, "tokenizer_invalid");
  assert.match(error.message, /4711/);
  model.dispose();
});

test("a network that fails", async () => {
  await withServer(
    (_name, response) => response.writeHead(500).end(),
    async (address) => {
      const { code, where, message } = await refused(address);
      assert.deepEqual({ code, where }, { code: "network", where: `${address}/config.json` });
      assert.match(message, /500/);
    },
  );
  assert.equal((await refused("http://127.0.0.1:1/model")).code, "network");
  const cut = (name, response) => {
    if (name !== "model.safetensors") return serveFiles(files)(name, response);
    response.writeHead(200, { "content-length": files[name].length });
    return response.write(files[name].subarray(0, 2000), () =>
      setTimeout(() => response.destroy(), 50),
    );
  };
  await withServer(cut, async (address) => assert.equal((await refused(address)).code, "network"));
});

test("addresses that name no folder", async () => {
  const unsupported = ["data:text/plain,x", "mailto:x", new URL("about:blank"), "ftp://host/x"];
  for (const source of ["", "http://", "http://[", "file://host/x", ...unsupported]) {
    const { code, where, message } = await refused(source);
    assert.deepEqual({ code, where }, { code: "option_invalid", where: "source" }, message);
    if (!unsupported.includes(source)) continue;
    assert.ok(message.includes(`${new URL(source).protocol} addresses`), message);
    for (const scheme of ["http:", "https:", "file:"]) assert.ok(message.includes(scheme), message);
  }
  for (const wasm of ["", "http://["]) {
    const { code, where } = await refused(files, { wasm });
    assert.deepEqual({ code, where }, { code: "option_invalid", where: "wasm" });
  }
  // The same in the browser's entry.
  const { Model: BrowserModel } = await import(
    pathToFileURL(join(packageFolder, "dist/package/index.js")).href
  );
  for (const source of ["", "http://[", "data:text/plain,x", "about:blank"]) {
    const error = await errorOf(BrowserModel.load(source));
    assert.deepEqual([error.code, error.where], ["option_invalid", "source"], error.message);
  }
});

test("a valid module that is not relata.wasm is refused", async () => {
  const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
  for (const wasm of [empty, new WebAssembly.Module(empty)]) {
    const { code, where, message } = await refused(files, { wasm });
    assert.deepEqual([code, where], ["wasm_unavailable", "relata.wasm"]);
    assert.match(message, /^relata\.wasm cannot be started/);
  }
});

test("sources and load options of the wrong kind", async () => {
  assert.equal((await refused(42)).code, "option_invalid");
  assert.equal((await refused(null)).code, "option_invalid");
  assert.equal((await refused([{}])).code, "option_invalid");
  assert.equal((await refused({ "config.json": "text" })).code, "option_invalid");
  assert.equal((await refused(files, { worker: true })).where, "worker");
  assert.equal((await refused(files, { worker: "yes" })).where, "worker");
  assert.equal((await refused(files, { wasm: 7 })).where, "wasm");
  assert.equal((await refused(files, { signal: 7 })).where, "signal");
  assert.equal((await refused(files, { onProgress: 7 })).where, "onProgress");
  const unknown = await refused(files, { on_progress: () => {} });
  assert.deepEqual([unknown.code, unknown.where], ["option_invalid", "on_progress"]);
  assert.match(unknown.message, /"onProgress"/);
  assert.equal(
    (await refused(files, { wasm: new Uint8Array([1, 2, 3]) })).code,
    "wasm_unavailable",
  );
  assert.equal((await refused(files, { wasm: "/nowhere/relata.wasm" })).code, "wasm_unavailable");
});
