import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { serve } from "../../tools/serve.mjs";

let folder;
let server;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "relata-serve-"));
  for (const name of ["page", "models/tiny"]) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, "page/index.html"), "<p>page</p>");
  writeFileSync(join(folder, "page/core.wasm"), Uint8Array.of(0, 97, 115, 109));
  writeFileSync(join(folder, "page/empty.json"), "");
  writeFileSync(join(folder, "models/tiny/model.safetensors"), "0123456789");
  writeFileSync(join(folder, "secret.txt"), "secret");
  symlinkSync(join(folder, "secret.txt"), join(folder, "page/link.txt"));
  server = await serve(0, { "/models/": join(folder, "models"), "/": join(folder, "page") });
});

after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** Sends a path exactly as written, which `fetch` would tidy up. */
function ask(path, { method = "GET", headers = {} } = {}) {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server.url);
    request({ hostname, port, path, method, headers }, (response) => {
      let body = "";
      response.setEncoding("latin1").on("data", (text) => {
        body += text;
      });
      response.on("end", () =>
        resolve({ status: response.statusCode, headers: response.headers, body }),
      );
    })
      .on("error", reject)
      .end();
  });
}

test("a folder is its index.html", async () => {
  const { status, headers, body } = await ask("/?model=tiny");
  assert.equal(status, 200);
  assert.equal(headers["content-type"], "text/html; charset=utf-8");
  assert.equal(body, "<p>page</p>");
});

test("WebAssembly has the type that streaming compilation needs", async () => {
  const { headers, body } = await ask("/core.wasm");
  assert.equal(headers["content-type"], "application/wasm");
  assert.equal(body, "\0asm");
});

test("HEAD tells the size and sends nothing", async () => {
  const { status, headers, body } = await ask("/models/tiny/model.safetensors", { method: "HEAD" });
  assert.deepEqual([status, headers["content-length"], body], [200, "10", ""]);
});

for (const [range, part, stated] of [
  ["bytes=0-3", "0123", "bytes 0-3/10"],
  ["bytes=7-", "789", "bytes 7-9/10"],
  ["bytes=-2", "89", "bytes 8-9/10"],
  ["bytes=8-99", "89", "bytes 8-9/10"],
]) {
  test(`the range ${range}`, async () => {
    const { status, headers, body } = await ask("/models/tiny/model.safetensors", {
      headers: { range },
    });
    assert.deepEqual([status, body, headers["content-range"]], [206, part, stated]);
  });
}

test("a range beyond the end cannot be satisfied", async () => {
  const headers = { range: "bytes=10-" };
  const answer = await ask("/models/tiny/model.safetensors", { headers });
  assert.deepEqual([answer.status, answer.headers["content-range"]], [416, "bytes */10"]);
});

test("an empty file", async () => {
  const { status, body } = await ask("/empty.json");
  assert.deepEqual([status, body], [200, ""]);
});

for (const path of [
  "/../secret.txt",
  "/%2e%2e/secret.txt",
  "/models/../../secret.txt",
  "/models/%2e%2e%2fsecret.txt",
  "/link.txt",
  "/%00",
  "/%ff",
  "/models",
  "/models/",
  "/absent.js",
]) {
  test(`nothing lies at ${path}`, async () => {
    const { status, body } = await ask(path);
    assert.deepEqual([status, body], [404, ""]);
  });
}

test("other methods are refused", async () => {
  assert.equal((await ask("/", { method: "POST" })).status, 405);
});

test("a taken port gives way to a free one", async () => {
  const taken = Number(new URL(server.url).port);
  const second = await serve(taken, { "/": join(folder, "page") });
  assert.notEqual(Number(new URL(second.url).port), taken);
  await second.stop();
});

test("an isolated server says so with everything, others with nothing", async () => {
  const isolated = await serve(0, { "/": join(folder, "page") }, { isolated: true });
  const named = ({ headers }) =>
    ["cross-origin-opener-policy", "cross-origin-embedder-policy"].map((name) => headers.get(name));
  for (const path of ["", "core.wasm"]) {
    assert.deepEqual(named(await fetch(new URL(path, isolated.url))), [
      "same-origin",
      "require-corp",
    ]);
    assert.deepEqual(named(await fetch(new URL(path, server.url))), [null, null]);
  }
  await isolated.stop();
});
