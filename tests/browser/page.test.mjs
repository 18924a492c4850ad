// The page as a visitor has it: the real model, in a real browser, under a strict policy.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Model } from "relata";
import { choose, drawn, launch, modelFolder, newPage, open } from "./browser.mjs";

const kSentence = "A man is riding a bicycle down the street.";
const kLong = Array(12).fill("two dogs are playing with a man in the snow and").join(" ");

let browser;
let page;
let complaints;
/** What the package says in this process, for comparison. */
let expected;
before(async () => {
  browser = await launch();
  const model = await Model.load(modelFolder);
  expected = await model.run(kSentence, {
    trace: { kinds: ["encoder_self", "decoder_self", "cross"] },
  });
  model.dispose();
  ({ page, complaints } = await newPage(browser));
  await open(page);
});
after(() => browser?.close());

const output = () => page.locator("#output-slot .output").textContent();

async function translate(text) {
  await page.locator("#source").fill(text);
  await page.locator("#source").press("Enter");
  // Before that the button is still the one of the translation before.
  await drawn(page);
  await page.locator("#run", { hasText: "Translate" }).waitFor();
}

const plain = (text) => text.replace("\u2212", "-").replace("+", "");

const facts = (slot) => page.locator(`#${slot} dd`).allTextContents();

function expectedTrace(kind, layer, head) {
  const found = expected.trace.find(
    (trace) => trace.kind === kind && trace.layer === layer && trace.head === head,
  );
  assert.ok(found, `${kind} ${layer} ${head}`);
  return found;
}

test("the first example is translated as soon as the model is there", async () => {
  assert.equal(await page.locator("#source").inputValue(), kSentence);
  assert.match(await output(), /Mann/);
  assert.match(await output(), /Fahrrad/);
  assert.match(await output(), /Straße/);
  assert.equal((await output()).trim(), expected.text);
  assert.match(
    await page.locator(".stats").textContent(),
    new RegExp(`^${expected.stats.newTokens} tokens, \\d+ per second, 1 thread$`),
  );
});

test("an example is one click away, and what is typed is translated by Enter", async () => {
  await page.locator("#examples button").nth(1).click();
  await page.locator("#output-slot", { hasText: "Hunde" }).waitFor();
  assert.match(await output(), /Schnee/);
  await translate(kSentence);
  assert.equal((await output()).trim(), expected.text);
});

test("kind, layer and head change the picture, which is never empty", async () => {
  const pictures = new Set();
  const picture = () =>
    page.evaluate(() => {
      const canvas = document.querySelector("#map-picture canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const colors = new Set();
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] === 255) colors.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
      }
      return { colors: colors.size, image: canvas.toDataURL() };
    });
  for (const [kind, layer, head] of [
    ["encoder_self", 0, 0],
    ["encoder_self", 0, 1],
    ["encoder_self", 2, 1],
    ["decoder_self", 2, 1],
    ["cross", 3, 3],
  ]) {
    await choose(page, "kind", kind);
    await choose(page, "layer", layer);
    await choose(page, "head", head);
    const { colors, image } = await picture();
    assert.ok(colors > 12, `${kind} ${layer} ${head} has ${colors} colours`);
    pictures.add(image);
  }
  assert.equal(pictures.size, 5);
});

test("the numbers of every figure are the package's own", async () => {
  await choose(page, "kind", "decoder_self");
  await choose(page, "layer", 1);
  await choose(page, "head", 2);
  await page.locator("#map-table-button").click();
  await page.locator("#profile-table-button").click();
  await drawn(page);
  const rows = (slot) =>
    page
      .locator(`#${slot} tbody tr`)
      .evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const trace = expectedTrace("decoder_self", 1, 2);
  const size = trace.keyTokens.length;
  const cells = await rows("map-table-slot");
  assert.equal(cells.length, trace.queryTokens.length);
  cells.forEach(([, ...row], query) => {
    row.forEach((text, key) => {
      assert.equal(text, key <= query ? trace.weights[query * size + key].toFixed(3) : "");
    });
  });
  for (const [distance, pairs, weight, relation] of await rows("profile-table-slot")) {
    const back = -Number(plain(distance));
    let [weights, relations] = [0, 0];
    for (let query = back; query < size; query += 1) {
      weights += trace.weights[query * size + query - back];
      relations += trace.relationScores[query * size + query - back];
    }
    assert.equal(Number(pairs), size - back);
    assert.equal(Number(weight), Number((weights / (size - back)).toFixed(4)));
    assert.equal(Number(plain(relation)), Number((relations / (size - back)).toFixed(4)));
  }
  await page.locator("#map-table-button").click();
  await page.locator("#profile-table-button").click();
  await drawn(page);
  assert.equal(await page.locator("table").count(), 0);
});

test("pointing at a cell tells its numbers and lights its distance", async () => {
  await choose(page, "kind", "cross");
  await choose(page, "layer", 2);
  await choose(page, "head", 0);
  const trace = expectedTrace("cross", 2, 0);
  const box = await page.locator("#map-picture canvas").boundingBox();
  const cell = box.width / trace.keyTokens.length;
  await page.mouse.move(box.x + cell * 4.5, box.y + cell * 2.5);
  await page.locator("#map-marks-slot .cursor").waitFor({ state: "attached" });
  const [, , distance, weight, content, relation] = await facts("map-readout");
  const at = 2 * trace.keyTokens.length + 4;
  assert.equal(distance, "+2");
  assert.equal(weight, trace.weights[at].toFixed(3));
  assert.equal(Number(plain(content)), Number(trace.contentScores[at].toFixed(2)));
  assert.equal(relation, "none");
  const band = page.locator("#profile-marks-slot .lit-band");
  assert.equal(await band.getAttribute("data-distance"), "2");
  const bar = await page.locator('.bar[data-distance="2"]').boundingBox();
  const lit = await band.boundingBox();
  assert.ok(lit.x <= bar.x && lit.x + lit.width >= bar.x + bar.width);
});

test("pointing at a distance lights its diagonal in the map", async () => {
  await choose(page, "kind", "encoder_self");
  await choose(page, "layer", 0);
  const map = page.locator(".stack:has(#map-slot)");
  await page.mouse.move(2, 2);
  const before = await map.screenshot();
  await page.locator('.bar[data-distance="-2"]').hover({ force: true });
  await page.locator("#map-marks-slot .veil").waitFor({ state: "attached" });
  const lit = await page
    .locator("#map-marks-slot .lit")
    .evaluateAll((all) => all.map(({ dataset }) => [Number(dataset.query), Number(dataset.key)]));
  const size = expectedTrace("encoder_self", 0, 0).queryTokens.length;
  assert.deepEqual(
    lit,
    Array.from({ length: size - 2 }, (_, key) => [key + 2, key]),
  );
  assert.notDeepEqual(await map.screenshot(), before);
  assert.equal((await facts("profile-readout"))[0], "\u22122");
  await page.mouse.move(2, 2);
  await page.locator("#map-marks-slot .lit").first().waitFor({ state: "detached" });
});

test("the keyboard alone: type, translate, choose a head, read a cell and a distance", async () => {
  const focused = () => page.evaluate(() => document.activeElement.id);
  const tabTo = async (id) => {
    for (let presses = 0; presses < 12; presses += 1) {
      if ((await focused()) === id) return;
      await page.keyboard.press("Tab");
    }
    assert.fail(`Tab does not reach ${id}`);
  };
  await page.locator("#model").focus();
  await tabTo("source");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("Two dogs are playing in the snow.");
  await page.keyboard.press("Enter");
  await page.locator("#output-slot", { hasText: "Hunde" }).waitFor();
  assert.equal(await focused(), "source");
  await tabTo("kind-encoder_self");
  await page.keyboard.press("ArrowRight");
  await page.locator("#kind-decoder_self:checked").waitFor({ state: "attached" });
  assert.equal(await focused(), "kind-decoder_self");
  await tabTo("layer-0");
  await tabTo("head-0");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.locator("#head-2:checked").waitFor({ state: "attached" });
  await tabTo("map-picture");
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"])
    await page.keyboard.press(key);
  await page.locator("#map-readout dd").first().waitFor();
  await page.waitForFunction(
    () => document.querySelectorAll("#map-readout dd")[2]?.textContent === "\u22121",
  );
  await tabTo("profile-picture");
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(
    () => document.querySelector("#profile-readout dd")?.textContent === "\u22122",
  );
  await page.keyboard.press("Escape");
  await page.locator("#profile-readout .hint").waitFor();
  await tabTo("profile-table-button");
  await page.keyboard.press("Enter");
  await page.locator("#profile-table-slot table").waitFor();
  await page.keyboard.press("Enter");
});

test("an empty text is told to be empty", async () => {
  for (const text of ["", "  \n "]) {
    await translate(text);
    assert.match(await page.locator("#output-slot").textContent(), /nothing to translate/);
  }
  await translate(kSentence);
  assert.equal((await output()).trim(), expected.text);
});

test("Esc stops a translation, and the next one is whole", async () => {
  await page.locator("#source").fill(kLong);
  await page.evaluate(() => {
    const slot = document.getElementById("output-slot");
    const press = () =>
      document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    // At the first readable words, before the page has drawn again.
    const observer = new MutationObserver(() => {
      if (slot.querySelector(".output")?.textContent === "") return;
      observer.disconnect();
      press();
    });
    observer.observe(slot, { childList: true, subtree: true });
  });
  await page.locator("#source").press("Enter");
  await page.locator(".stats", { hasText: "stopped" }).waitFor();
  assert.notEqual(await output(), "");
  await translate(kSentence);
  assert.equal((await output()).trim(), expected.text);
});

test("a translation given up for a newer one leaves no trace of itself", async () => {
  await page.evaluate(() => {
    const buttons = document.querySelectorAll("#examples button");
    buttons[3].click();
    buttons[1].click();
  });
  await drawn(page);
  await page.locator("#output-slot", { hasText: "Hunde" }).waitFor();
  await page.locator("#run", { hasText: "Translate" }).waitFor();
  assert.match(await output(), /^\s*Zwei Hunde/);
});

test("nothing was said on the console, and nothing asked of another host", () => {
  assert.deepEqual(complaints, []);
});
