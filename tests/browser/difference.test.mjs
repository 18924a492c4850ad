// What a changed relation does to one head, cell by cell: the page's numbers are those of model.attend.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Model } from "relata";
import { choose, drawn, launch, modelFolder, newPage, open } from "./browser.mjs";
import { importModules } from "./modules.mjs";

const kSentence = "A man is riding a bicycle down the street.";
/** What the table and the readout round to, and what another build may round differently. */
const kSlack = 0.5e-3 + 1e-4;

let browser;
let model;
let modules;
let page;
let complaints;
let target;
before(async () => {
  [browser, model, modules] = await Promise.all([
    launch(),
    Model.load(modelFolder),
    importModules(),
  ]);
  target = (await model.run(kSentence)).tokens.map(({ id }) => id);
  ({ page, complaints } = await newPage(browser));
  await open(page);
});
after(async () => {
  model?.dispose();
  await browser?.close();
});

/** One head as model.attend gives it, as trained and changed. */
async function attended(kind, layer, head, relation) {
  const trace = { kinds: [kind], layers: [layer], heads: [head] };
  const of = async (more) => (await model.attend(kSentence, target, { trace, ...more })).trace[0];
  return [await of({}), await of({ relation })];
}

const numberIn = (text) => Number(text.trim().replace("\u2212", "-").replace("+", ""));

async function shownTable() {
  if ((await page.locator("#difference-table-slot table").count()) === 0)
    await page.locator("#difference-table-button").click();
  await page.locator("#difference-table-slot table").waitFor();
  const rows = page.locator("#difference-table-slot tbody tr");
  return rows.evaluateAll((all) =>
    all.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent)),
  );
}

for (const [kind, layer, head, name, scope, relation] of [
  ["encoder_self", 1, 2, "off", "everywhere", { switch: "off" }],
  ["decoder_self", 1, 0, "mirrored", "everywhere", { switch: "mirrored" }],
  ["cross", 2, 3, "keys", "everywhere", { switch: "keys" }],
  ["encoder_self", 0, 1, "clip", "head", { switch: { clip: 2 }, layers: [0], heads: [1] }],
]) {
  test(`${name} (${scope}), ${kind} ${layer}/${head}: every cell is attend's`, async () => {
    await choose(page, "kind", kind);
    await choose(page, "layer", layer);
    await choose(page, "head", head);
    await choose(page, "change", name);
    await choose(page, "scope", scope);
    await page.locator('#altered-slot [aria-busy="false"]').waitFor();
    await page.locator("#difference-picture").waitFor();
    const [before, after] = await attended(kind, layer, head, relation);
    const table = await shownTable();
    const columns = before.keyTokens.length;
    assert.equal(table.length, before.queryTokens.length);
    let largest = 0;
    table.forEach((cells, query) => {
      cells.forEach((cell, key) => {
        const isThere = kind !== "decoder_self" || key <= query;
        assert.equal(cell !== "", isThere, `${query}, ${key}`);
        if (!isThere) return;
        const at = query * columns + key;
        const expected = after.weights[at] - before.weights[at];
        largest = Math.max(largest, Math.abs(expected));
        assert.ok(Math.abs(numberIn(cell) - expected) < kSlack, `${query}, ${key}: ${cell}`);
      });
    });
    assert.ok(largest > 0.01, "the change changes something");
  });
}

test("a cell tells its numbers, by pointer and by keyboard, and has its colour", async () => {
  await choose(page, "kind", "encoder_self");
  await choose(page, "layer", 0);
  await choose(page, "head", 1);
  await choose(page, "change", "off");
  await choose(page, "scope", "everywhere");
  await page.locator('#altered-slot [aria-busy="false"]').waitFor();
  await page.locator("#difference-picture").waitFor();
  const [before, after] = await attended("encoder_self", 0, 1, { switch: "off" });
  const size = before.keyTokens.length;
  const differences = before.weights.map((weight, at) => after.weights[at] - weight);
  const picked = differences.indexOf(differences.reduce((a, b) => Math.max(a, b)));
  const [query, key] = [Math.floor(picked / size), picked % size];
  const canvas = page.locator("#difference-picture canvas");
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  const place = { x: ((key + 0.5) * box.width) / size, y: ((query + 0.5) * box.height) / size };
  await canvas.hover({ position: place, force: true });
  await page.locator("#difference-marks-slot .cursor").waitFor({ state: "attached" });
  const facts = () => page.locator("#difference-readout dd").allTextContents();
  const expected = [before.weights[picked], after.weights[picked], differences[picked]];
  (await facts()).slice(3).forEach((text, at) => {
    assert.ok(Math.abs(numberIn(text) - expected[at]) < kSlack, `${text}, not ${expected[at]}`);
  });
  // The same cell is lit in the map of the weights: the two belong together.
  assert.equal(await page.locator("#map-marks-slot .cursor").count(), 1);
  const color = await canvas.evaluate(
    (element, [x, y]) => [
      ...element
        .getContext("2d")
        .getImageData(
          Math.floor((element.width * (x + 0.5)) / y[1]),
          Math.floor((element.height * (y[0] + 0.5)) / y[1]),
          1,
          1,
        ).data,
    ],
    [key, [query, size]],
  );
  const reach = differences.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const ramp = modules.differenceRamp("light");
  const wanted = modules.rampColor(ramp, 0.5 + differences[picked] / (2 * reach));
  wanted.forEach((part, at) => {
    assert.ok(Math.abs(part - color[at]) <= 2, `${color}, not ${wanted}`);
  });
  await page.locator("#difference-picture").focus();
  await page.locator("#difference-picture").press(key > 0 ? "ArrowLeft" : "ArrowRight");
  await drawn(page);
  const moved = numberIn((await facts())[5]);
  const next = differences[picked + (key > 0 ? -1 : 1)];
  assert.ok(Math.abs(moved - next) < kSlack, `${moved}, not ${next}`);
});

test("by distance: each bar is the mean along a diagonal", async () => {
  const [before, after] = await attended("encoder_self", 0, 1, { switch: "off" });
  const size = before.keyTokens.length;
  await page.locator("#shift-table-button").click();
  await page.locator("#shift-table-slot tbody tr").first().waitFor();
  const rows = await page
    .locator("#shift-table-slot tbody tr")
    .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
  assert.equal(rows.length, 2 * size - 1);
  for (const [distance, count, ...numbers] of rows) {
    const by = numberIn(distance);
    const cells = Array.from({ length: size }, (_, query) => query)
      .filter((query) => query + by >= 0 && query + by < size)
      .map((query) => query * size + query + by);
    assert.equal(Number(count), cells.length);
    const mean = (weights) => cells.reduce((sum, at) => sum + weights[at], 0) / cells.length;
    const [was, is] = [mean(before.weights), mean(after.weights)];
    [was, is, is - was].forEach((value, at) => {
      assert.ok(Math.abs(numberIn(numbers[at]) - value) < 1.5e-4, `${distance}: ${numbers}`);
    });
  }
  assert.equal(await page.locator("#shift-picture .bar").count(), 2 * size - 1);
});

async function saved(button) {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator(`#${button}`).click(),
  ]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

test("it can be taken away: SVG, PNG and its own CSV, and it is in the HTML file", async () => {
  const [before, after] = await attended("encoder_self", 0, 1, { switch: "off" });
  const csv = await saved("difference-csv");
  assert.equal(csv.name, "relata-difference-encoder_self-layer0-head1.csv");
  const lines = csv.bytes.toString().trim().split("\r\n");
  assert.match(lines[0], /weight_before,weight_after,difference$/);
  assert.equal(lines.length, 1 + before.weights.length);
  lines.slice(1).forEach((line, at) => {
    const [was, is, difference] = line.split(",").slice(-3).map(Number);
    for (const [shown, value] of [
      [was, before.weights[at]],
      [is, after.weights[at]],
      [difference, after.weights[at] - before.weights[at]],
    ])
      assert.ok(Math.abs(shown - value) < 1e-4, line);
  });
  for (const figure of ["difference", "shift"]) {
    const svg = (await saved(`${figure}-svg`)).bytes.toString();
    assert.match(svg.replace(/<[^>]*>/g, " ").replace(/\s+/g, " "), /relation changed \(Off, Ev/);
    const png = (await saved(`${figure}-png`)).bytes;
    assert.equal(png.toString("latin1", 1, 4), "PNG");
  }
  const html = (await saved("save-html")).bytes.toString();
  assert.equal(html.match(/<figure>/g).length, 5);
  await choose(page, "change", "trained");
  assert.ok(await page.locator("#difference").isHidden());
  assert.deepEqual(complaints, []);
});

test("tokens that differ have no difference", () => {
  const tokens = [1, 2].map((id) => ({ id, piece: `t${id}` }));
  const trace = (queryTokens, weights) => ({
    ...{ kind: "encoder_self", layer: 0, head: 0, queryTokens, keyTokens: tokens },
    ...{ weights: Float32Array.from(weights), contentScores: weights, relationScores: null },
  });
  const before = trace(tokens, [0.5, 0.5, 0.25, 0.75]);
  const found = modules.weightDifference(before, trace(tokens, [1, 0, 0.25, 0.75]));
  assert.deepEqual([...found.values], [0.5, -0.5, 0, 0]);
  assert.equal(found.largest, 0.5);
  assert.equal(found.moved, 0.25);
  const others = [tokens[1], tokens[0]];
  assert.equal(modules.weightDifference(before, trace(others, [1, 0, 0, 1])), null);
});
