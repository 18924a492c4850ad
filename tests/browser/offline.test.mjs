// After the first visit the page works without a network.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { drawn, kPatience, launch, pageUrl } from "./browser.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

test("the second visit needs no network: page, model, translation, saved picture", async () => {
  const context = await browser.newContext({ locale: "en-US" });
  context.setDefaultTimeout(kPatience);
  const page = await context.newPage();
  await page.goto(pageUrl);
  await page.locator("#map-picture").waitFor();
  await page.waitForFunction(async () => {
    const models = await (await caches.open("relata-models")).keys();
    return navigator.serviceWorker.controller !== null && models.length === 4;
  });
  await context.setOffline(true);
  await page.reload();
  await page.locator("#map-picture").waitFor();
  await page.locator("#source").fill("Two dogs are playing in the snow.");
  await page.locator("#source").press("Enter");
  await drawn(page);
  await page.locator("#output-slot", { hasText: "Hunde" }).waitFor();
  // A part that is loaded when it is wanted is there as well.
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator("#map-svg").click(),
  ]);
  assert.match(download.suggestedFilename(), /\.svg$/);
  await context.close();
});

test("the page can be installed", async () => {
  const response = await fetch(new URL("manifest.webmanifest", pageUrl));
  const manifest = await response.json();
  assert.equal(manifest.display, "standalone");
  assert.equal(manifest.start_url, "./");
  const icon = await fetch(new URL(manifest.icons[0].src, pageUrl));
  assert.equal(icon.status, 200);
});
