// Pictures of the page to look at, narrow and wide, light and dark; and that it fits each of them.

import assert from "node:assert/strict";
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { choose, launch, newPage, open, screenshotFolder } from "./browser.mjs";

let browser;
let folder;
before(async () => {
  [browser, folder] = await Promise.all([launch(), screenshotFolder()]);
  mkdirSync(folder, { recursive: true });
});
after(() => browser?.close());

const kViews = [
  { width: 1280, scheme: "light", kind: "encoder_self", layer: 0, head: 0, point: "distance" },
  { width: 1280, scheme: "dark", kind: "decoder_self", layer: 1, head: 2, point: "cell" },
  { width: 390, scheme: "light", kind: "cross", layer: 2, head: 3, point: "cell" },
  { width: 390, scheme: "dark", kind: "encoder_self", layer: 3, head: 1, point: "distance" },
  { width: 1920, scheme: "light", kind: "cross", layer: 3, head: 1, point: null },
];

for (const { width, scheme, kind, layer, head, point } of kViews) {
  test(`${width} pixels, ${scheme}, ${kind}`, async () => {
    const { page } = await newPage(browser, { width, height: width < 600 ? 5000 : 3000, scheme });
    await open(page);
    await choose(page, "kind", kind);
    await choose(page, "layer", layer);
    await choose(page, "head", head);
    if (point === "distance") await page.locator('.bar[data-distance="1"]').hover({ force: true });
    if (point === "cell") {
      const box = await page.locator("#map-picture canvas").boundingBox();
      await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.6);
    }
    if (point) await page.locator("#map-marks-slot .lit").first().waitFor({ state: "attached" });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${overflow} pixels too wide`);
    const path = join(folder, `page-${width}-${scheme}-${kind}.png`);
    await page.screenshot({ path, fullPage: true });
    assert.ok(statSync(path).size > 20_000);
    await page.context().close();
  });
}

test("a long text fits a narrow screen", async () => {
  const { page } = await newPage(browser, { width: 390, height: 5000 });
  await open(page);
  const text =
    "A young woman in a bright yellow raincoat is walking two small brown dogs along the beach while an old man with a white beard is watching them from a wooden bench.";
  await page.locator("#source").fill(text);
  await page.locator("#source").press("Enter");
  // Too narrow for labels: they appear for what is pointed at.
  await page.locator('#map-picture[aria-label^="Attention of 3"]').waitFor();
  await page.locator("#map-picture canvas").hover();
  assert.equal(await page.locator("#map-marks-slot text").count(), 2);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `${overflow} pixels too wide`);
  await page.screenshot({ path: join(folder, "page-390-long.png"), fullPage: true });
  await page.context().close();
});
