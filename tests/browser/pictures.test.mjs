// One head's pictures: the map zoomed and panned, the arcs of one token.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { choose, drawn, launch, newPage, open } from "./browser.mjs";
import { openViews, storedTraces } from "./views-page.mjs";

let browser;
let views;
before(async () => {
  browser = await launch();
  views = await openViews(browser);
});
after(() => browser?.close());

const trace = storedTraces.find(({ kind }) => kind === "encoder_self");
const size = trace.keyTokens.length;

test("a view keeps to the map, and zooming keeps its place under the pointer", async () => {
  const seen = await views.evaluate(() => {
    const { encoder_self: head } = traces;
    const whole = views.wholeMap;
    const corner = views.zoomed(head, whole, 2, 1, 1);
    return {
      corner,
      middle: views.zoomed(head, whole, 2),
      back: views.zoomed(head, corner, 0),
      tooFar: views.zoomed(head, whole, 1000).zoom,
      beyond: views.panned(head, corner, 100, -100),
      shown: views.viewShowing(head, { zoom: 2, query: 0, key: 0 }, { query: 8, key: 2 }),
    };
  });
  assert.deepEqual(seen.corner, { zoom: 2, query: size / 2, key: size / 2 });
  assert.deepEqual(seen.middle, { zoom: 2, query: size / 4, key: size / 4 });
  assert.deepEqual(seen.back, { zoom: 1, query: 0, key: 0 });
  assert.equal(seen.tooFar, size / 4);
  assert.deepEqual(seen.beyond, { zoom: 2, query: size / 2, key: 0 });
  assert.deepEqual(seen.shown, { zoom: 2, query: 9 - size / 2, key: 0 });
});

test("an enlarged map shows a part of the same cells, at the same size of picture", async () => {
  const { whole, part } = await views.evaluate(() => {
    const { encoder_self: head } = traces;
    const draw = (view) => {
      const map = showMap(head, { view });
      const canvas = map.querySelector("canvas");
      const context = canvas.getContext("2d");
      const at = (query, key) => {
        const count = head.keyTokens.length / view.zoom;
        const x = Math.floor((canvas.width * (key + 0.5 - view.key)) / count);
        const y = Math.floor((canvas.height * (query + 0.5 - view.query)) / count);
        return [...context.getImageData(x, y, 1, 1).data];
      };
      return {
        cells: [3, 4, 5].flatMap((query) => [3, 4, 5].map((key) => at(query, key))),
        labels: map.querySelectorAll("text.key").length,
        size: [canvas.width, canvas.height],
      };
    };
    return { whole: draw(views.wholeMap), part: draw({ zoom: 2, query: 2.5, key: 2.25 }) };
  });
  assert.deepEqual(part.cells, whole.cells);
  assert.deepEqual(part.size, whole.size);
  assert.equal(whole.labels, size);
  // 4.5 columns from 2.25 on: the middles of 2 to 6 are in view.
  assert.equal(part.labels, 5);
});

test("arcs: as thick as the weights, told with their numbers, none for keys that do not exist", async () => {
  const seen = await views.evaluate(() => {
    const draw = (kind, token) => {
      const data = { trace: traces[kind], token, numHeads: 4, scheme: "light", width: 480, words };
      const arcs = show(views.attentionArcs({ ...data, onToken: (...by) => calls.push(...by) }));
      return [...arcs.querySelectorAll(".arc")].map((arc) => [
        Number(arc.dataset.key),
        Number(arc.getAttribute("stroke-width")),
      ]);
    };
    calls.length = 0;
    const encoder = draw("encoder_self", 3);
    const labels = [...document.querySelectorAll(".share")].map((share) => share.textContent);
    return { encoder, labels, decoder: draw("decoder_self", 2) };
  });
  const weights = trace.weights.slice(3 * size, 4 * size);
  for (const [key, thickness] of seen.encoder)
    assert.ok(Math.abs(thickness - Math.max(0.75, 16 * weights[key])) < 1e-5, `key ${key}`);
  weights.forEach((weight, key) => {
    assert.equal(seen.labels[key], weight >= 0.005 ? weight.toFixed(2) : "");
  });
  assert.ok(seen.decoder.length > 0 && seen.decoder.every(([key]) => key <= 2));
  await views.locator('.target[data-query="1"]').click();
  await views.locator("#arcs-picture").press("ArrowDown");
  assert.deepEqual(await views.evaluate(() => calls), [1, 3]);
});

test("the page: zoom by button and key, pan by drag, the cursor takes the view along", async () => {
  const { page, complaints } = await newPage(browser);
  await open(page);
  const labels = () => page.locator("#map-picture text.key").allTextContents();
  const all = await labels();
  await page.locator("#zoom-in").click();
  await page.locator("#zoom-in").click();
  await drawn(page);
  const middle = await labels();
  assert.ok(middle.length < all.length && middle[0] !== all[0], `${middle}`);
  const box = await page.locator("#map-picture canvas").boundingBox();
  const at = (across, down) => [box.x + box.width * across, box.y + box.height * down];
  await page.mouse.move(...at(0.2, 0.2));
  await page.mouse.down();
  await page.mouse.move(...at(0.5, 0.5));
  await drawn(page);
  await page.mouse.move(...at(0.9, 0.9));
  await page.mouse.up();
  await drawn(page);
  assert.equal((await labels())[0], all[0]);
  // From the first cell to the last column by the keyboard.
  await page.locator("#map-picture").focus();
  await page.mouse.move(2, 2);
  await drawn(page);
  for (let presses = 0; presses < all.length; presses += 1) {
    await page.keyboard.press("ArrowRight");
    await drawn(page);
  }
  assert.equal((await labels()).at(-1), all.at(-1));
  await page.keyboard.press("Shift+ArrowLeft");
  await drawn(page);
  assert.notEqual((await labels()).at(-1), all.at(-1));
  await page.keyboard.press("0");
  await drawn(page);
  assert.deepEqual(await labels(), all);
  await page.mouse.move(...at(0.5, 0.5));
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -200);
  await page.keyboard.up("Control");
  await drawn(page);
  assert.ok((await labels()).length < all.length);
  await page.locator("#zoom-reset").click();
  await choose(page, "picture", "arcs");
  assert.equal(await page.locator("#quantity-slot").isVisible(), false);
  await page.locator('.target[data-query="2"]').click();
  await drawn(page);
  const chosen = await page.locator(".arcs .chosen").textContent();
  assert.equal(chosen, all[2]);
  await choose(page, "picture", "map");
  assert.equal(await page.locator("#map-picture").count(), 1);
  assert.deepEqual(complaints, []);
  await page.context().close();
});
