// The relation changed by hand: what the page shows is what the package gives.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Model } from "relata";
import { choose, drawn, launch, modelFolder, newPage, open } from "./browser.mjs";
import { importModules } from "./modules.mjs";

const kSentence = "A man is riding a bicycle down the street.";

let browser;
let model;
let modules;
before(async () => {
  [browser, model, modules] = await Promise.all([
    launch(),
    Model.load(modelFolder),
    importModules(),
  ]);
});
after(async () => {
  model?.dispose();
  await browser?.close();
});

test("words outside the longest common order are marked", () => {
  const plain = (marked) =>
    marked.map(({ text, isSame }) => (isSame ? text : `*${text}`)).join(" ");
  const [before, after] = modules.compareWords("a b c d e", "b x c e e");
  assert.equal(plain(before), "*a b c *d e");
  assert.ok(["b *x c e *e", "b *x c *e e"].includes(plain(after)), plain(after));
  assert.deepEqual(modules.compareWords("", "a").map(plain), ["", "*a"]);
});

test("what a change asks of the package", () => {
  const change = (name, scope) => modules.relationInput({ name, clip: 2, scope }, 3, 1);
  assert.equal(change("trained", "head"), null);
  assert.deepEqual(change("off", "everywhere"), { switch: "off" });
  assert.deepEqual(change("clip", "layer"), { switch: { clip: 2 }, layers: [3] });
  assert.deepEqual(change("mirrored", "head"), { switch: "mirrored", layers: [3], heads: [1] });
  assert.deepEqual(modules.offeredSwitches(model.info), [
    ...["trained", "off", "keys", "values", "mirrored", "clip"],
  ]);
  assert.equal(modules.farthest(model.info), 15);
});

test("before and after side by side, for every switch and place", async () => {
  const { page, complaints } = await newPage(browser);
  await open(page);
  await choose(page, "layer", 1);
  const text = (id) => page.locator(`#${id}`).textContent();
  const trained = (await model.run(kSentence)).text.trim();
  const bare = (shown) => shown.replace(/\s+/g, " ").trim();
  assert.equal(await page.locator("#text-after").count(), 0);
  let marked = 0;
  for (const [name, scope, relation] of [
    ["off", "everywhere", { switch: "off" }],
    ["keys", "everywhere", { switch: "keys" }],
    ["values", "layer", { switch: "values", layers: [1] }],
    ["mirrored", "everywhere", { switch: "mirrored" }],
    ["clip", "everywhere", { switch: { clip: 1 } }],
    ["off", "head", { switch: "off", layers: [1], heads: [0] }],
  ]) {
    await choose(page, "change", name);
    await choose(page, "scope", scope);
    if (name === "clip") {
      await page.locator("#clip-distance").fill("1");
      await page.locator("#clip-distance").press("Tab");
      await drawn(page);
    }
    await page.locator('#altered-slot [aria-busy="false"]').waitFor();
    const expected = (await model.run(kSentence, { relation })).text.trim();
    assert.equal(bare(await text("text-before")), trained, name);
    assert.equal(bare(await text("text-after")), expected, `${name} ${scope}`);
    const marks = await page.locator("#altered-slot mark").count();
    assert.equal(marks > 0, expected !== trained, name);
    marked += marks;
  }
  assert.ok(marked > 0, "no switch changed anything");
  // With the relation off everywhere the text is another one: word order is gone.
  assert.notEqual(
    (await model.run(kSentence, { relation: { switch: "off" } })).text.trim(),
    trained,
  );
  await choose(page, "change", "trained");
  assert.equal(await page.locator("#text-after").count(), 0);
  assert.deepEqual(complaints, []);
  await page.context().close();
});
