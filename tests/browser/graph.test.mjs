// Models whose relation is by labels: a graph over the tokens, edited by hand.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Model } from "relata";
import { drawn, launch, newPage, open } from "./browser.mjs";
import { importModules } from "./modules.mjs";

process.env.RELATA_ROOT ??= fileURLToPath(new URL("../..", import.meta.url));
const { letterFilesOf, lettersOf } = await import("../package/fixtures.mjs");

const kNumLabels = 5;
const kText = lettersOf([5, 15, 9, 39, 4]);
const files = letterFilesOf("labels-vectors");

let browser;
let model;
let modules;
before(async () => {
  [browser, model, modules] = await Promise.all([launch(), Model.load(files), importModules()]);
});
after(async () => {
  model?.dispose();
  await browser?.close();
});

test("edges as text, as a matrix, and one label up", () => {
  const parsed = modules.parseGraph("0 1 2\n\n3 -> 0: 4\n 1,2,1", kNumLabels);
  assert.deepEqual(parsed, {
    edges: [
      { from: 0, to: 1, label: 2 },
      { from: 3, to: 0, label: 4 },
      { from: 1, to: 2, label: 1 },
    ],
    wrongLine: null,
  });
  assert.equal(modules.parseGraph("0 1 2\n0 1", kNumLabels).wrongLine, 2);
  assert.equal(modules.parseGraph("0 1 5", kNumLabels).wrongLine, 1);
  const matrix = modules.labelMatrix(parsed.edges, 3);
  assert.deepEqual([...matrix], [0, 2, 0, 0, 0, 1, 0, 0, 0]);
  assert.equal(modules.withNextLabel("", 0, 1, kNumLabels), "0 1 1");
  assert.equal(modules.withNextLabel("0 1 4\n2 0 1", 0, 1, kNumLabels), "2 0 1");
});

/** Where the page says what the relation is, it says labels, in both languages, and of distance only that it is none. */
async function speaksOfLabels(page) {
  await page.locator("#quantity-relationScores").check({ force: true });
  const { numRelations } = model.info.relation.encoder_self;
  const says = {
    "map-words-slot": { en: /^What the label of the edge/, zh: /边的标签/ },
    "profile-words-slot": { en: /The line is what the labels add/, zh: /线是标签对得分的贡献/ },
    "relation-note-slot": {
      en: RegExp(`knows ${numRelations} labels`),
      zh: RegExp(` ${numRelations} 种标签`),
    },
    "change-intro-slot": { en: /what the model knows about the edges/, zh: /模型对边的了解/ },
  };
  for (const language of ["zh", "en"]) {
    await page.locator(`#language-${language}`).click();
    await drawn(page);
    for (const [slot, { [language]: expected }] of Object.entries(says))
      assert.match(await page.locator(`#${slot}`).textContent(), expected, slot);
  }
  await page.locator("#guide-button").click();
  await page.locator("#step-5").waitFor();
  assert.match(await page.locator("#step-1 .switched-off").textContent(), /nothing of the edges/);
  assert.match(await page.locator("#step-5 .switched-off").textContent(), /its sense of the edges/);
  await page.locator("#guide-button").click();
}

test("the page reads a text with the edges drawn: the package's result for those labels", async () => {
  const { page, complaints } = await newPage(browser);
  await open(page);
  assert.equal(await page.locator("#graph").isVisible(), false);
  await page.locator("#bring").click();
  await page.locator("#model-files").setInputFiles(
    Object.entries(files).map(([name, buffer]) => ({
      name,
      buffer: Buffer.from(buffer),
      mimeType: "",
    })),
  );
  await page.locator("#figures").waitFor({ state: "hidden" });
  await page.locator("#run:not([disabled])", { hasText: "Translate" }).waitFor();
  await page.locator("#source").fill(kText);
  await page.locator("#source").press("Enter");
  await page.locator("#node-4").waitFor();
  const expected = async (edges) => {
    const labels = modules.labelMatrix(edges, 5);
    const trace = { kinds: ["encoder_self"], layers: [0], heads: [0] };
    return model.run(kText, { relation: { labels }, trace });
  };
  const shown = async () => (await page.locator("#output-slot .output").textContent()).trim();
  const plain = await expected([]);
  assert.equal(await shown(), plain.text);
  await speaksOfLabels(page);
  // Two clicks make an edge, two more change its label.
  const edge = { from: 0, to: 3, label: 2 };
  for (let times = 0; times < 2; times += 1) {
    await page.locator("#node-0").click();
    await drawn(page);
    await page.locator("#node-3").click();
    await drawn(page);
    await page.locator("#run:not([disabled])", { hasText: "Translate" }).waitFor();
  }
  assert.equal(await page.locator("#graph-text").inputValue(), "0 3 2");
  const linked = await expected([edge]);
  assert.equal(await shown(), linked.text);
  await page.locator('.edge[data-from="0"][data-to="3"]').waitFor({ state: "attached" });
  const width = await page.locator(".edge").getAttribute("stroke-width");
  assert.ok(Math.abs(Number(width) - 1 - 14 * linked.trace[0].weights[3]) < 1e-4, width);
  // As text.
  await page.locator("#graph-text").fill("0 3 2\n4 1 3\nnonsense");
  await page.locator("#graph-text").press("Tab");
  await page.locator("#graph-hint.failure").waitFor();
  await page.locator("#run:not([disabled])", { hasText: "Translate" }).waitFor();
  await drawn(page);
  const both = await expected([edge, { from: 4, to: 1, label: 3 }]);
  assert.equal(await shown(), both.text);
  assert.deepEqual(complaints, []);
  if (process.env.RELATA_SCREENSHOTS)
    await page
      .locator("#graph")
      .screenshot({ path: `${process.env.RELATA_SCREENSHOTS}/graph.png` });
  await page.context().close();
});
