// After the first visit the page works without a network, whether or not its host allows threads.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { serve } from "../../tools/serve.mjs";
import { drawn, kPatience, launch, pageUrl } from "./browser.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** Holds against the page's words that it works with as many threads as it may. */
async function checkThreads(page, isIsolated) {
  const cores = await page.evaluate(() => navigator.hardwareConcurrency);
  const expected = isIsolated ? Math.min(cores, 4) : 1;
  assert.match(await page.locator(".stats").textContent(), new RegExp(`, ${expected} threads?$`));
}

/** Waits for the first translation, and until page and model are kept. */
async function settled(page) {
  await page.locator("#map-picture").waitFor();
  await page.waitForFunction(async () => {
    const models = await (await caches.open("relata-models")).keys();
    return navigator.serviceWorker.controller !== null && models.length === 4;
  });
}

async function newVisitor() {
  const context = await browser.newContext({ locale: "en-US" });
  context.setDefaultTimeout(kPatience);
  return { context, page: await context.newPage() };
}

/** A visit without a network: page, model, translation. */
async function visitOffline(page, isIsolated) {
  await page.context().setOffline(true);
  await page.reload();
  await page.locator("#map-picture").waitFor();
  assert.equal(await page.evaluate(() => crossOriginIsolated), isIsolated);
  await page.locator("#source").fill("Two dogs are playing in the snow.");
  await page.locator("#source").press("Enter");
  await drawn(page);
  await page.locator("#output-slot", { hasText: "Hunde" }).waitFor();
  await page.locator("#run", { hasText: "Translate" }).waitFor();
  await checkThreads(page, isIsolated);
}

/** The names of the kept builds of the core. */
function keptBuilds(page) {
  return page.evaluate(async () => {
    const [name] = (await caches.keys()).filter((each) => each.startsWith("relata-page-"));
    const requests = await (await caches.open(name)).keys();
    return requests
      .map(({ url }) => url.split("/").at(-1))
      .filter((file) => /^relata.*wasm$/.test(file));
  });
}

for (const isIsolated of [false, true]) {
  const name = isIsolated ? "isolated" : "not isolated";
  test(`${name}: the second visit needs no network: page, model, translation, saved picture`, async () => {
    const server = await serve(0, undefined, { isolated: isIsolated });
    const { context, page } = await newVisitor();
    await page.goto(server.url);
    await settled(page);
    // For relaxed SIMD and without: no more, no less.
    assert.equal((await keptBuilds(page)).length, 2);
    await server.stop();
    await visitOffline(page, isIsolated);
    // A part that is loaded when it is wanted is there as well.
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.locator("#map-svg").click(),
    ]);
    assert.match(download.suggestedFilename(), /\.svg$/);
    await context.close();
  });
}

test("a host that begins to isolate the page, and ceases to, is followed", async () => {
  let server = await serve();
  const port = Number(new URL(server.url).port);
  const { context, page } = await newVisitor();
  await page.goto(server.url);
  await settled(page);
  const plain = await keptBuilds(page);
  for (const isIsolated of [true, false]) {
    await server.stop();
    server = await serve(port, undefined, { isolated: isIsolated });
    await context.setOffline(false);
    await page.reload();
    await page.locator("#map-picture").waitFor();
    await checkThreads(page, isIsolated);
    const kept = await keptBuilds(page);
    assert.equal(kept.length, 2);
    const cores = await page.evaluate(() => navigator.hardwareConcurrency);
    if (cores > 1) assert.equal(plain.includes(kept[0]), !isIsolated);
    await visitOffline(page, isIsolated);
  }
  await server.stop();
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
