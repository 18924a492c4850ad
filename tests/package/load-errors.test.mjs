// Models that do not load: what a damaged or missing file, a network that fails, and a wrong option are called.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Model, RelataError } from "relata";
import {
  damaged,
  errorOf,
  filesOf,
  golden,
  packageFolder,
  serveFiles,
  withFolder,
  withServer,
} from "./fixtures.mjs";

const files = filesOf("shaw");

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
