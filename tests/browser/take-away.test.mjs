// What is taken away: pictures with captions, the package's numbers, one file that opens offline, a link that restores.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { Model } from "relata";
import { choose, drawn, launch, modelFolder, newPage, open, pageUrl } from "./browser.mjs";

const kSentence = "A man is riding a bicycle down the street.";

let browser;
let page;
let complaints;
let expected;
before(async () => {
  browser = await launch();
  const model = await Model.load(modelFolder);
  expected = await model.run(kSentence, {
    trace: { kinds: ["decoder_self"], layers: [1], heads: [2] },
  });
  model.dispose();
  ({ page, complaints } = await newPage(browser));
  await open(page);
  await choose(page, "kind", "decoder_self");
  await choose(page, "layer", 1);
  await choose(page, "head", 2);
});
after(() => browser?.close());

function near(actual, expected) {
  assert.ok(Math.abs(actual - expected) < 1e-4, `${actual}, not ${expected}`);
}

async function saved(button) {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator(`#${button}`).click(),
  ]);
  const path = await download.path();
  return { name: download.suggestedFilename(), bytes: readFileSync(path) };
}

/** Draws a saved picture in an empty page, and tells its size and how many colours it has. */
async function look(type, bytes) {
  const empty = await browser.newPage();
  const found = await empty.evaluate(
    async ([mime, data]) => {
      const image = new Image();
      image.src = `data:${mime};base64,${data}`;
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      const { data: pixels } = context.getImageData(0, 0, canvas.width, canvas.height);
      const colors = new Set();
      for (let at = 0; at < pixels.length; at += 4)
        colors.add((pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2]);
      return { width: canvas.width, height: canvas.height, colors: colors.size };
    },
    [type, bytes.toString("base64")],
  );
  await empty.close();
  return found;
}

for (const [figure, needles] of [
  ["overview", [/<path/g, /Layer 3</]],
  ["map", [/<image/g, />fährt</]],
  ["profile", [/<path/g, />Mean weight</]],
]) {
  test(`${figure}: SVG and PNG with a caption`, async () => {
    const svg = await saved(`${figure}-svg`);
    assert.equal(svg.name, `relata-${figure}-decoder_self-layer1-head2.svg`);
    const text = svg.bytes.toString();
    for (const needle of needles) assert.match(text, needle);
    assert.match(text, /Decoder attention/);
    assert.match(text.replace(/<[^>]*>/g, " ").replace(/\s+/g, " "), /riding a bicycle/);
    // Nothing in it needs the page's styles or another file.
    assert.doesNotMatch(text, /class=|var\(|href="(?!data:)/);
    const drawing = await look("image/svg+xml", svg.bytes);
    assert.ok(drawing.colors > 20, `${drawing.colors} colours`);
    const png = await saved(`${figure}-png`);
    const pixels = await look("image/png", png.bytes);
    assert.equal(pixels.width, 2 * drawing.width);
    assert.equal(pixels.height, 2 * drawing.height);
    assert.ok(pixels.colors > 20, `${pixels.colors} colours`);
  });
}

test("CSV and JSON hold the package's numbers", async () => {
  const [head] = expected.trace;
  const csv = (await saved("save-csv")).bytes.toString().trim().split("\r\n").slice(1);
  const size = head.keyTokens.length;
  assert.equal(csv.length, (size * (size + 1)) / 2);
  for (const line of csv) {
    const cells = line.split(",");
    const [query, key] = cells.map(Number);
    const at = query * size + key;
    const [distance, weight, content, relation] = cells.slice(-4).map(Number);
    assert.equal(distance, key - query);
    // The browser's build may round the last digits differently.
    near(weight, head.weights[at]);
    near(content, head.contentScores[at]);
    near(relation, head.relationScores[at]);
  }
  const json = JSON.parse((await saved("save-json")).bytes.toString());
  assert.equal(json.sequences[0].text, expected.text);
  assert.equal(json.trace.weights.length, head.weights.length);
  json.trace.weights.forEach((weight, at) => {
    near(weight, head.weights[at]);
  });
});

test("one HTML file opens offline with no request, and holds pictures, tables and numbers", async () => {
  const { bytes, name } = await saved("save-html");
  assert.equal(name, "relata.html");
  const context = await browser.newContext({ offline: true });
  const offline = await context.newPage();
  const requests = [];
  context.on("request", (request) => requests.push(request.url()));
  const errors = [];
  offline.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  const folder = mkdtempSync(join(tmpdir(), "relata-view-"));
  writeFileSync(join(folder, name), bytes);
  const address = pathToFileURL(join(folder, name)).href;
  await offline.goto(address);
  assert.deepEqual(
    requests.filter((url) => url !== address && !url.startsWith("data:")),
    [],
  );
  assert.deepEqual(errors, []);
  assert.equal(await offline.locator("figure svg").count(), 3);
  assert.match(await offline.locator(".texts").textContent(), /bicycle.*Fahrrad/);
  assert.equal(await offline.locator("table").count(), 2);
  const json = JSON.parse(await offline.locator("#numbers").textContent());
  assert.equal(json.trace.head, 2);
  await offline.screenshot({
    path: process.env.RELATA_SCREENSHOTS && `${process.env.RELATA_SCREENSHOTS}/standalone.png`,
    fullPage: true,
  });
  await context.close();
  rmSync(folder, { recursive: true });
});

test("the link restores text, options, view and language", async () => {
  await page.locator("summary").click();
  await choose(page, "method", "beams");
  await page.locator("#search-numBeams").fill("3");
  await page.locator("#source").fill("Two dogs are playing in the snow.");
  await page.locator("#source").press("Enter");
  await page.locator(".sequences").waitFor();
  await choose(page, "order", "direction");
  await choose(page, "quantity", "relationScores");
  await choose(page, "change", "clip");
  await page.locator("#clip-distance").fill("3");
  await page.locator("#clip-distance").press("Enter");
  await page.locator("#language-zh").click();
  await drawn(page);
  const link = await page.locator("#view-link").evaluate((anchor) => anchor.href);
  assert.equal(page.url(), link);
  const other = await newPage(browser);
  await other.page.goto(link);
  await other.page.locator("#map-picture").waitFor();
  assert.equal(
    await other.page.locator("#source").inputValue(),
    "Two dogs are playing in the snow.",
  );
  for (const id of ["kind-decoder_self", "layer-1", "head-2", "method-beams", "order-direction"])
    assert.ok(await other.page.locator(`#${id}`).isChecked(), id);
  assert.ok(await other.page.locator("#quantity-relationScores").isChecked());
  assert.equal(await other.page.locator("#search-numBeams").inputValue(), "3");
  assert.ok(await other.page.locator("#change-clip").isChecked());
  assert.equal(await other.page.locator("#clip-distance").inputValue(), "3");
  assert.match(await other.page.locator("h1").textContent(), /翻译/);
  assert.equal(await other.page.locator(".sequences li").count(), 3);
  assert.deepEqual(other.complaints, []);
  await other.page.context().close();
});

test("a link of nonsense opens the page as ever, and fetches nothing from elsewhere", async () => {
  const visit = await newPage(browser);
  const hash =
    "#model=none&address=https%3A%2F%2Felsewhere.test%2F&kind=x&layer=999&head=-1&numBeams=a&search=beams&text=A%20man.";
  await visit.page.goto(`${pageUrl}${hash}`);
  await visit.page.locator("#map-picture").waitFor();
  assert.ok(await visit.page.locator("#layer-3").isChecked());
  assert.equal(await visit.page.locator("#source").inputValue(), "A man.");
  assert.deepEqual(visit.complaints, []);
  await visit.page.context().close();
});

test("nothing was said on the console", () => {
  assert.deepEqual(complaints, []);
});
