// Files a user chooses, in a real browser: GGUF, CTranslate2 and Argos packages, in the page's thread and in the worker.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { serve } from "../../tools/serve.mjs";
import { launch } from "./browser.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
process.env.RELATA_ROOT ??= root;
const { argosFiles, ctranslate2, gguf, ggufCases, untilEnd, zip } = await import(
  "../package/format-fixtures.mjs"
);

const kPage = `<!doctype html><meta charset="utf-8"><title>files</title>
<input type="file" id="files" multiple><script type="module" src="page.js"></script>`;
const kScript = `import { Model } from "/package/index.js";
window.generate = async (source, worker, cases) => {
  const input = document.querySelector("#files");
  const calls = [];
  const model = await Model.load(source ?? [...input.files], { worker, onProgress: (call) => calls.push(call) });
  try {
    const ids = [];
    for (const { text, count } of cases) {
      const { tokens } = await model.run(text, { maxNewTokens: count });
      ids.push(tokens.map(({ id }) => id));
    }
    const grows = calls.every(({ loaded, total }, i) => i === 0 || (loaded >= calls[i - 1].loaded && total === calls[0].total));
    return { ids, format: model.info.format, grows, whole: calls.at(-1).loaded === calls[0].total };
  } finally {
    model.dispose();
  }
};
window.errorOf = async () => {
  const input = document.querySelector("#files");
  const error = await Model.load([...input.files]).then(() => null, (reason) => reason);
  return { code: error?.code, message: error?.message };
};
document.documentElement.dataset.ready = "";`;

const model = ctranslate2("sinusoidal");
const archive = zip(argosFiles(model));
const folder = mkdtempSync(join(tmpdir(), "relata-files-"));
let browser;
let page;
let server;
const complaints = [];

before(async () => {
  const files = {
    "index.html": kPage,
    "page.js": kScript,
    "t5.gguf": gguf,
    "en_de.argosmodel": archive,
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  server = await serve(0, { "/package/": join(root, "dist/package"), "/": folder });
  browser = await launch();
  page = await browser.newPage();
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(server.url);
  await page.locator("html[data-ready]").waitFor();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true });
});

const chosen = (files) =>
  page.setInputFiles(
    "#files",
    Object.entries(files).map(([name, bytes]) => ({
      name,
      mimeType: "application/octet-stream",
      buffer: Buffer.from(bytes),
    })),
  );

async function generates(source, cases, end, format) {
  const asked = cases
    .filter(({ text, greedy_gap }) => text !== "" && (greedy_gap ?? 1) > 1e-3)
    .map(({ text, greedy_ids }) => ({ text, count: greedy_ids.length, greedy_ids }));
  assert.ok(asked.length > 1);
  for (const worker of [false, true]) {
    const found = await page.evaluate(
      ([from, inWorker, texts]) => window.generate(from, inWorker, texts),
      [source, worker, asked.map(({ text, count }) => ({ text, count }))],
    );
    assert.deepEqual(
      found.ids,
      asked.map(({ greedy_ids }) => untilEnd(greedy_ids, end)),
    );
    assert.match(found.format, format);
    assert.deepEqual([found.grows, found.whole], [true, true]);
  }
}

test("a GGUF file: chosen, and from an address", async () => {
  await chosen({ "weights.bin": gguf });
  await generates(null, ggufCases, 1, /^GGUF 3$/);
  await generates(`${server.url}t5.gguf`, ggufCases, 1, /^GGUF 3$/);
});

test("the files of a CTranslate2 folder", async () => {
  await chosen(model.files);
  await generates(null, model.cases, 2, /^CTranslate2 6$/);
});

test("an .argosmodel package: chosen, and from an address", async () => {
  await chosen({ "en_de.argosmodel": archive });
  await generates(null, model.cases, 2, /^CTranslate2 6$/);
  await generates(`${server.url}en_de.argosmodel`, model.cases, 2, /^CTranslate2 6$/);
});

test("an image is told to be one", async () => {
  await chosen({ "model.gguf": Uint8Array.of(0x89, 0x50, 0x4e, 0x47) });
  const { code, message } = await page.evaluate(() => window.errorOf());
  assert.equal(code, "unsupported");
  assert.match(message, /PNG image/);
  assert.deepEqual(complaints, []);
});
