// Models from elsewhere, the browser's cache, and the options of a search.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Model } from "relata";
import { choose, drawn, launch, modelFolder, newPage, open, pageUrl } from "./browser.mjs";

const kSentence = "Two dogs are playing in the snow.";

let browser;
let model;
before(async () => {
  browser = await launch();
  model = await Model.load(modelFolder);
});
after(async () => {
  model?.dispose();
  await browser?.close();
});

const names = ["config.json", "tokenizer.json", "model.safetensors", "generation_config.json"];
const output = (page) => page.locator("#output-slot .output").textContent();

async function translate(page, text) {
  await page.locator("#source").fill(text);
  await page.locator("#source").press("Enter");
  await drawn(page);
  await page.locator("#run", { hasText: "Translate" }).waitFor();
}

test("a model comes from the cache the second time, until the server has another", async () => {
  const { page, complaints } = await newPage(browser);
  const methods = [];
  page.on("request", (request) => {
    if (request.url().endsWith("model.safetensors")) methods.push(request.method());
  });
  await open(page);
  assert.deepEqual(methods, ["GET"]);
  await page.waitForFunction(async () => {
    const cache = await caches.open("relata-models");
    return (await cache.keys()).length === 4;
  });
  await page.reload();
  await page.locator("#map-picture").waitFor();
  assert.deepEqual(methods, ["GET", "HEAD"]);
  assert.match(await output(page), /Mann/);
  // Another version: the server tells another date.
  await page.route("**/model.safetensors", async (route) => {
    const response = await route.fetch();
    const headers = { ...response.headers(), "last-modified": "Mon, 01 Jan 2024 00:00:00 GMT" };
    await route.fulfill({ response, headers });
  });
  await page.reload();
  await page.locator("#map-picture").waitFor();
  assert.deepEqual(methods, ["GET", "HEAD", "HEAD", "GET"]);
  assert.deepEqual(complaints, []);
  await page.locator("#bring").click();
  await page.locator("#forget").click();
  await page.waitForFunction(async () => !(await caches.has("relata-models")));
  await page.context().close();
});

test("a load can be cancelled, and started again", async () => {
  const { page, complaints } = await newPage(browser);
  let release;
  const held = new Promise((resolve) => {
    release = resolve;
  });
  await page.route("**/model.safetensors", async (route) => {
    await held;
    await route.continue().catch(() => {});
  });
  await page.goto(pageUrl);
  await page.locator("#cancel-load").click();
  await page.locator("#model-slot .load", { hasText: "cancelled" }).waitFor();
  release();
  await page.unroute("**/model.safetensors");
  await page.locator("#retry").click();
  await page.locator("#map-picture").waitFor();
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test("files from the disk, and files dropped on the page", async () => {
  const { page, complaints } = await newPage(browser);
  await open(page);
  await page.locator("#bring").click();
  await page.locator("#model-files").setInputFiles(names.map((name) => join(modelFolder, name)));
  await page.locator("#model-slot select", { hasText: "model" }).waitFor();
  await page.locator("#run:not([disabled])", { hasText: "Translate" }).waitFor();
  await translate(page, kSentence);
  assert.match(await output(page), /Hunde/);
  assert.equal(await page.locator("#model").inputValue(), "model");
  const bytes = Object.fromEntries(
    names.map((name) => [name, readFileSync(join(modelFolder, name)).toString("base64")]),
  );
  await page.evaluate((given) => {
    const data = new DataTransfer();
    for (const [name, text] of Object.entries(given)) {
      const raw = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      data.items.add(new File([raw], name));
    }
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
  }, bytes);
  await page.locator("#figures").waitFor({ state: "hidden" });
  await page.locator("#map-picture").waitFor();
  assert.match(await output(page), /Hunde/);
  // Something else than a model is told in words.
  await page.locator("#bring").click();
  await page.locator("#model-files").setInputFiles({
    name: "notes.txt",
    mimeType: "text/plain",
    buffer: Buffer.from("no model"),
  });
  await page.locator("#model-slot [role=alert]").waitFor();
  assert.match(
    await page.locator("#model-slot [role=alert]").textContent(),
    /notes\.txt|config\.json/,
  );
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test("a model at an address", async () => {
  const { page, complaints } = await newPage(browser);
  await open(page);
  await page.locator("#bring").click();
  await page.locator("#model-address").fill("models/captions-en-de");
  await page.locator("#model-address").press("Enter");
  await page.locator("#figures").waitFor({ state: "hidden" });
  await page.locator("#map-picture").waitFor();
  assert.match(await output(page), /Mann/);
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test("options: beams and their scores, samples by seed, all as the package gives them", async () => {
  const { page, complaints } = await newPage(browser);
  await open(page);
  await page.locator("summary").click();
  assert.ok(await page.locator("#method-greedy").isChecked());
  assert.equal(
    await page.locator("#search-maxNewTokens").inputValue(),
    `${model.info.search.maxNewTokens}`,
  );
  const shown = () =>
    page
      .locator(".sequences li")
      .evaluateAll((items) => items.map((item) => [...item.children].map((c) => c.textContent)));
  const expected = async (options) => {
    const { sequences } = await model.run(kSentence, options);
    return sequences.map(({ score, text }) => [
      score.toFixed(2).replace("-", "\u2212"),
      text.trim(),
    ]);
  };
  await choose(page, "method", "beams");
  await page.locator("#search-numBeams").fill("5");
  await page.locator("#search-numBeams").press("Tab");
  await drawn(page);
  await page.locator("#search-numReturnSequences").fill("3");
  await page.locator("#search-numReturnSequences").press("Tab");
  await drawn(page);
  await translate(page, kSentence);
  assert.deepEqual(await shown(), await expected({ numBeams: 5, numReturnSequences: 3 }));
  await choose(page, "method", "sampling");
  await page.locator("#search-seed").fill("7");
  await page.locator("#search-seed").press("Tab");
  await drawn(page);
  await page.locator("#search-temperature").fill("1.5");
  await page.locator("#search-temperature").press("Tab");
  await drawn(page);
  await translate(page, kSentence);
  // Browser and Node may round differently, and a draw on the edge falls otherwise: so the page against itself.
  const drawnOnce = await shown();
  assert.equal(drawnOnce.length, 3);
  await page.locator("#search-seed").fill("8");
  await page.locator("#search-seed").press("Tab");
  await drawn(page);
  await translate(page, kSentence);
  assert.notDeepEqual(await shown(), drawnOnce);
  await page.locator("#search-seed").fill("7");
  await page.locator("#search-seed").press("Tab");
  await drawn(page);
  await translate(page, kSentence);
  assert.deepEqual(await shown(), drawnOnce);
  await choose(page, "method", "greedy");
  await page.locator("#search-maxNewTokens").fill("2");
  await page.locator("#search-maxNewTokens").press("Tab");
  await drawn(page);
  await translate(page, kSentence);
  assert.match(await page.locator(".stats").textContent(), /^2 tokens.*cut at the length limit$/);
  assert.deepEqual(await shown(), []);
  assert.deepEqual(complaints, []);
  await page.context().close();
});
