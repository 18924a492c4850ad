// Models a visitor brings to the page, of every kind of file: it translates with them, draws their heads, and walks through
// their first layer.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Model } from "relata";
import { choose, drawn, launch, newPage, open } from "./browser.mjs";

process.env.RELATA_ROOT ??= fileURLToPath(new URL("../..", import.meta.url));
const { lettersOf, letterFilesOf } = await import("../package/fixtures.mjs");
const { argosFiles, ctranslate2, gguf, ggufCases, zip } = await import(
  "../package/format-fixtures.mjs"
);

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

const sinusoidal = ctranslate2("sinusoidal");
const shaw = ctranslate2("shaw-float16");
const someLetters = lettersOf([5, 9, 12, 5, 30, 17, 8]);

const longer = (cases) => cases.find(({ text }) => text.length > 8).text;

const kRelation = "If the relation is switched off";
const kPositions = "If the positions are taken away";

/** What is brought, how, a text it can read, and what the page says of it. */
const kModels = {
  "a GGUF file, chosen": {
    files: { "t5.gguf": gguf },
    ...{ how: choosing, text: longer(ggufCases), name: "t5.gguf" },
    ...{ off: kRelation, formula: /bucket/, hasSwitches: true },
  },
  "an Argos package, dropped": {
    files: { "en_de.argosmodel": zip(argosFiles(sinusoidal)) },
    ...{ how: dropping, text: longer(sinusoidal.cases), name: "en_de.argosmodel" },
    ...{ off: kPositions, formula: /p/, hasSwitches: false },
  },
  "the files of a CTranslate2 folder, chosen": {
    files: shaw.files,
    ...{ how: choosing, text: longer(shaw.cases), name: "model" },
    ...{ off: kRelation, formula: /aj/, hasSwitches: true },
  },
  "the files of a T5 v1.1 folder of Hugging Face, dropped": {
    files: letterFilesOf("t5-gated-untied"),
    ...{ how: dropping, text: someLetters, name: "model" },
    ...{ off: kRelation, formula: /bucket/, hasSwitches: true },
  },
  "the files of a model with ALiBi, chosen": {
    files: letterFilesOf("fixed-slope"),
    ...{ how: choosing, text: someLetters, name: "model" },
    ...{ off: kRelation, formula: /mh/, hasSwitches: true },
  },
};

async function choosing(page, files) {
  await page.locator("#bring").click();
  await page.locator("#model-files").setInputFiles(
    Object.entries(files).map(([name, bytes]) => ({
      name,
      mimeType: "application/octet-stream",
      buffer: Buffer.from(bytes),
    })),
  );
}

async function dropping(page, files) {
  const encoded = Object.entries(files).map(([name, bytes]) => [
    name,
    Buffer.from(bytes).toString("base64"),
  ]);
  await page.evaluate((given) => {
    const data = new DataTransfer();
    for (const [name, text] of given) {
      const raw = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      data.items.add(new File([raw], name));
    }
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
  }, encoded);
}

const bare = (text) => text.replace(/\s+/g, " ").trim();

for (const [what, { files, how, text, name, off, formula, hasSwitches }] of Object.entries(
  kModels,
)) {
  test(`${what}: translation, heads, guide`, async () => {
    const model = await Model.load(
      Object.keys(files).length === 1 ? Object.values(files)[0] : files,
    );
    const { page, complaints } = await newPage(browser);
    await open(page);
    await how(page, files);
    await page.locator("#figures").waitFor({ state: "hidden" });
    await page.locator("#run:not([disabled])", { hasText: "Translate" }).waitFor();
    assert.equal(await page.locator("#model").inputValue(), name);
    // What is said of the shipped model is not said of this one.
    assert.match(await page.locator(".lede").textContent(), /^Your model/);
    await page.locator("#source").fill(text);
    await page.locator("#source").press("Enter");
    await drawn(page);
    await page.locator("#run", { hasText: "Translate" }).waitFor();
    const result = await model.run(text, {
      trace: { kinds: ["encoder_self", "cross"], layers: [0], heads: [1] },
    });
    assert.equal(bare(await page.locator("#output-slot .output").textContent()), bare(result.text));

    // The head on show is the package's.
    await choose(page, "head", 1);
    if ((await page.locator("#map-table-slot table").count()) === 0)
      await page.locator("#map-table-button").click();
    for (const kind of ["encoder_self", "cross"]) {
      await choose(page, "kind", kind);
      await page.locator("#map-picture canvas").waitFor();
      const [head] = result.trace.filter((one) => one.kind === kind);
      const cells = await page.locator("#map-table-slot td:not(:empty)").allTextContents();
      assert.equal(cells.length, head.weights.length);
      cells.forEach((cell, at) => {
        assert.ok(Math.abs(Number(cell) - head.weights[at]) < 1e-3, `${kind} ${at}: ${cell}`);
      });
    }
    const heads = await page.locator(".head-button").count();
    assert.equal(heads, model.info.numHeads * model.info.numDecoderLayers);

    // The guide's first layer is the model's own.
    await page.locator("#guide-button").click();
    await page.locator("#step-5").waitFor();
    const first = await page.locator("#step-1").textContent();
    assert.ok(first.includes(off), first);
    const formulas = await page.locator(".formula").allTextContents();
    assert.match(formulas.join(" "), formula);
    const shown = await page.locator("#step-3 .paired text:not(.query)").allTextContents();
    const [encoder] = result.trace;
    const row = [...encoder.weights.subarray(0, encoder.keyTokens.length)];
    assert.equal(shown.length, row.length);
    shown.forEach((number, at) => {
      assert.ok(Math.abs(Number(number) - row[at]) < 0.006, `${at}: ${number}, ${row[at]}`);
    });
    assert.equal((await page.locator("#change-off").count()) > 0, hasSwitches);
    if (!hasSwitches)
      assert.match(await page.locator("#change-slot").textContent(), /no relation to change/);
    assert.deepEqual(complaints, []);
    model.dispose();
    await page.context().close();
  });
}
