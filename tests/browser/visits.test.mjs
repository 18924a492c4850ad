// Visits of their own: while the model loads, when it cannot, on a narrow screen, in another scheme.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { choose, launch, mapPixel, newPage, open, pageUrl } from "./browser.mjs";

const kLong = Array(12).fill("two dogs are playing with a man in the snow and").join(" ");

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

test("loading tells its bytes, and nothing already on the page moves", async () => {
  const visit = await newPage(browser);
  await visit.page.addInitScript(() => {
    window.shifts = 0;
    window.loads = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.shifts += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
    document.addEventListener("DOMContentLoaded", () => {
      new MutationObserver(() => {
        const line = document.querySelector("#model-slot .load span")?.textContent;
        if (line) window.loads.push(line);
      }).observe(document.getElementById("model-slot"), { childList: true });
    });
  });
  await open(visit.page);
  const { shifts, loads } = await visit.page.evaluate(() => ({ shifts, loads }));
  const told = loads.filter((line) => /^\d+\.\d of \d+\.\d\u2009MB$/.test(line));
  assert.ok(told.length > 0, `${loads}`);
  assert.equal(new Set(told.map((line) => line.split(" of ")[1])).size, 1);
  assert.ok(shifts < 0.01, `layout shifted by ${shifts}`);
  await visit.page.context().close();
});

test("a long translation streams in without moving what is below it", async () => {
  const visit = await newPage(browser, { width: 390, height: 2000 });
  await open(visit.page);
  // Many frames long, however fast the machine.
  await visit.page.locator("#source").fill(kLong);
  const heights = await visit.page.evaluate(async () => {
    const field = document.getElementById("source");
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const seen = [];
    const words = new Set();
    await frame();
    do {
      await frame();
      words.add(document.querySelector("#output-slot .output").textContent);
      seen.push(document.getElementById("run").getBoundingClientRect().top);
    } while (document.querySelector("#output-slot .running"));
    return { seen, states: words.size };
  });
  assert.ok(heights.states > 2, `the text was drawn ${heights.states} times`);
  assert.equal(new Set(heights.seen).size, 1, `${heights.seen}`);
  await visit.page.context().close();
});

for (const [name, spoil, words] of [
  [
    "damaged",
    (body) => body.subarray(0, body.length - 100),
    /damaged \(.*model\.safetensors.*Try again/,
  ],
  ["missing", null, /not there \(.*model\.safetensors.*Try again/],
]) {
  test(`a ${name} model is told in words, and can be tried again`, async () => {
    const visit = await newPage(browser);
    const address = "**/model.safetensors";
    await visit.page.route(address, async (route) => {
      if (spoil === null) return route.fulfill({ status: 404, body: "" });
      const response = await route.fetch();
      return route.fulfill({ status: 200, body: spoil(await response.body()) });
    });
    await visit.page.goto(pageUrl);
    await visit.page.locator("#model-slot [role=alert]").waitFor();
    assert.match(await visit.page.locator("#model-slot [role=alert]").textContent(), words);
    assert.equal(await visit.page.locator("#figures").isVisible(), false);
    await visit.page.unroute(address);
    await visit.page.locator("#retry").click();
    await visit.page.locator("#map-picture").waitFor();
    await visit.page.context().close();
  });
}

test("a browser that may not compile WebAssembly is told so", async () => {
  const visit = await newPage(browser, { policy: "script-src 'self'" });
  await visit.page.goto(pageUrl);
  const alert = visit.page.locator("#model-slot [role=alert]");
  await alert.waitFor();
  assert.match(await alert.textContent(), /WebAssembly/);
  await visit.page.context().close();
});

test("the map is painted for the scheme in use, and follows it", async () => {
  const visit = await newPage(browser, { scheme: "dark" });
  await open(visit.page);
  await choose(visit.page, "kind", "decoder_self");
  // The start token can only look at itself: the strongest colour there is.
  const count = await visit.page.locator("#map-picture text.key").count();
  const corner = () => mapPixel(visit.page, 0.5 / count, 0.5 / count);
  const dark = await corner();
  await visit.page.emulateMedia({ colorScheme: "light" });
  await visit.page.waitForFunction(
    ([x, before]) => {
      const canvas = document.querySelector("#map-picture canvas");
      const at = Math.floor(canvas.width * x);
      return canvas.getContext("2d").getImageData(at, at, 1, 1).data[1] !== before;
    },
    [0.5 / count, dark[1]],
  );
  assert.ok(dark[1] > (await corner())[1] + 60);
  await visit.page.context().close();
});
