// Each view from stored attentions, in a real browser, without a model: what is drawn is what the numbers say.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "./browser.mjs";
import { openViews, storedTraces } from "./views-page.mjs";

const byKind = Object.fromEntries(storedTraces.map((trace) => [trace.kind, trace]));

let browser;
let page;
before(async () => {
  browser = await launch();
  page = await openViews(browser);
});
after(() => browser?.close());

/** [count][4]: the colour at the middle of every cell, row by row. */
function cellColors(kind, options) {
  return page.evaluate(
    ([name, more]) => {
      const trace = traces[name];
      const canvas = showMap(trace, more).querySelector("canvas");
      const context = canvas.getContext("2d");
      const [columns, rows] = [trace.keyTokens.length, trace.queryTokens.length];
      return Array.from({ length: columns * rows }, (_, at) => {
        const x = Math.floor((canvas.width * ((at % columns) + 0.5)) / columns);
        const y = Math.floor((canvas.height * (Math.floor(at / columns) + 0.5)) / rows);
        return [...context.getImageData(x, y, 1, 1).data];
      });
    },
    [kind, options],
  );
}

const grey = ([red, green, blue]) => 0.2126 * red + 0.7152 * green + 0.0722 * blue;

const exists = ({ kind, keyTokens }, at) =>
  kind !== "decoder_self" || at % keyTokens.length <= Math.floor(at / keyTokens.length);

for (const kind of ["encoder_self", "decoder_self", "cross"]) {
  test(`${kind}: a larger weight is a darker cell, and the other way round in the dark`, async () => {
    const trace = byKind[kind];
    for (const [scheme, sign] of [
      ["light", 1],
      ["dark", -1],
    ]) {
      const colors = await cellColors(kind, { scheme });
      const cells = trace.weights
        .map((weight, at) => ({ weight, at, shade: grey(colors[at]) }))
        .filter(({ at }) => exists(trace, at))
        .sort((a, b) => a.weight - b.weight);
      for (let i = 1; i < cells.length; i += 1) {
        assert.ok(sign * (cells[i - 1].shade - cells[i].shade) > -0.75, `cells ${i - 1}, ${i}`);
      }
      const [first, last] = [cells[0], cells.at(-1)];
      assert.ok(sign * (first.shade - last.shade) > 60, `${first.shade} to ${last.shade}`);
    }
  });
}

test("cells that do not exist are not painted", async () => {
  const trace = byKind.decoder_self;
  const colors = await cellColors("decoder_self");
  colors.forEach((color, at) => {
    assert.equal(color[3], exists(trace, at) ? 255 : 0, `cell ${at}`);
  });
});

test("relation scores have their own colours, ordered like the scores", async () => {
  const trace = byKind.encoder_self;
  const colors = await cellColors("encoder_self", { quantity: "relationScores" });
  const shades = trace.relationScores.map((score, at) => ({ score, shade: grey(colors[at]) }));
  shades.sort((a, b) => a.score - b.score);
  assert.ok(shades[0].shade - shades.at(-1).shade > 40);
  assert.notDeepEqual(colors, await cellColors("encoder_self"));
});

test("every token labels its row and its column", async () => {
  for (const [kind, trace] of Object.entries(byKind)) {
    const labels = await page.evaluate((name) => {
      const map = showMap(traces[name]);
      const texts = (side) =>
        [...map.querySelectorAll(`text.${side}`)].map((text) => text.textContent);
      return { queries: texts("query"), keys: texts("key") };
    }, kind);
    const read = ({ piece }) => piece.replace(/^\u2581/, "");
    assert.equal(labels.queries.length, trace.queryTokens.length);
    assert.equal(labels.keys.length, trace.keyTokens.length);
    labels.keys.forEach((label, key) => {
      assert.equal(label.replace("\u00b7", ""), read(trace.keyTokens[key]));
    });
    labels.queries.forEach((label, query) => {
      assert.equal(label.replace("\u00b7", ""), read(trace.queryTokens[query]));
    });
  }
});

test("the map tells the cell under the pointer, and nothing where there is none", async () => {
  await page.evaluate(() => {
    showMap(traces.decoder_self);
    calls.length = 0;
  });
  const box = await page.locator("canvas").boundingBox();
  const cell = box.width / byKind.decoder_self.keyTokens.length;
  const point = (query, key) =>
    page.mouse.move(box.x + cell * (key + 0.5), box.y + cell * (query + 0.5));
  await point(3, 1);
  await point(1, 3);
  await page.locator("#map-picture").press("ArrowDown");
  await page.locator("#map-picture").press("ArrowLeft");
  assert.deepEqual(await page.evaluate(() => calls), [{ query: 3, key: 1 }, null, [1, 0], [0, -1]]);
});

test("a lit distance marks exactly its diagonal, over the cells of the map", async () => {
  for (const [kind, distance] of [
    ["encoder_self", 2],
    ["cross", -1],
    ["decoder_self", -3],
  ]) {
    const { queryTokens, keyTokens } = byKind[kind];
    const expected = queryTokens
      .map((_, query) => [query, query + distance])
      .filter(([, key]) => key >= 0 && key < keyTokens.length);
    const { marked, worst, veiled } = await page.evaluate(
      ([name, lit]) => {
        const trace = traces[name];
        const map = showMap(trace);
        const box = map.querySelector("canvas").getBoundingClientRect();
        const marks = views.mapMarks({
          trace,
          view: views.wholeMap,
          width: 480,
          point: { distance: lit },
        });
        map.append(marks);
        marks.style.cssText = "position:absolute;left:0;top:0";
        map.style.position = "relative";
        map.style.display = "flow-root";
        const size = box.width / trace.keyTokens.length;
        const frame = map.getBoundingClientRect();
        const canvas = map.querySelector("canvas").getBoundingClientRect();
        const rects = [...marks.querySelectorAll(".lit")];
        const offsets = rects.flatMap((rect) => [
          Number(rect.getAttribute("x")) -
            (canvas.left - frame.left + size * Number(rect.dataset.key)),
          Number(rect.getAttribute("y")) -
            (canvas.top - frame.top + size * Number(rect.dataset.query)),
        ]);
        return {
          marked: rects.map((rect) => [Number(rect.dataset.query), Number(rect.dataset.key)]),
          worst: Math.max(...offsets.map(Math.abs)),
          veiled: marks.querySelectorAll(".veil").length,
        };
      },
      [kind, distance],
    );
    assert.deepEqual(marked, expected);
    assert.ok(worst < 0.51, `${kind}: ${worst} pixels off`);
    assert.equal(veiled, 1);
  }
});

test("the picker tells bytes while a model loads, and a failure in words", async () => {
  const [loading, failed] = await page.evaluate(() => {
    const data = { models: views.catalogue, entry: views.catalogue[0], words, onPick: () => {} };
    const progress = { file: "model.safetensors", loaded: 2_340_000, total: 9_360_000 };
    const failure = { code: "file_damaged", where: "model.safetensors" };
    const bar = views.modelPicker({
      ...data,
      load: { status: "loading", phase: "download", progress },
    });
    const told = views.modelPicker({ ...data, load: { status: "failed", failure } });
    return [
      [bar.textContent, bar.querySelector("progress").value],
      [told.querySelector("[role=alert]").textContent, told.querySelector("button").textContent],
    ];
  });
  assert.match(loading[0], /2\.3 of 9\.4\u2009MB/);
  assert.equal(loading[1], 0.25);
  assert.match(failed[0], /damaged \(model\.safetensors\)/);
  assert.equal(failed[1], "Try again");
});

test("a slot draws again only for new data, and focus stays where it was", async () => {
  const { drawn, focused } = await page.evaluate(() => {
    document.body.innerHTML = '<div id="slot"></div>';
    const mount = views.createSlots(document);
    let count = 0;
    const view = ({ words }) => {
      count += 1;
      const button = document.createElement("button");
      button.id = "button";
      button.textContent = words;
      return button;
    };
    mount("slot", view, { words: "one" });
    document.getElementById("button").focus();
    mount("slot", view, { words: "one" });
    mount("slot", view, { words: "two" });
    return { drawn: count, focused: document.activeElement.textContent };
  });
  assert.equal(drawn, 2);
  assert.equal(focused, "two");
});
