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

/** Mean over a diagonal, by a plain loop over the stored numbers. */
function diagonalMean({ kind, queryTokens, keyTokens }, values, distance) {
  let [sum, count] = [0, 0];
  for (let query = 0; query < queryTokens.length; query += 1) {
    const key = query + distance;
    if (key < 0 || key >= keyTokens.length || (kind === "decoder_self" && key > query)) continue;
    sum += values[query * keyTokens.length + key];
    count += 1;
  }
  return sum / count;
}

for (const kind of ["encoder_self", "decoder_self", "cross"]) {
  test(`${kind}: bars are as high as the mean weights`, async () => {
    const trace = byKind[kind];
    const bars = await page.evaluate(
      (name) =>
        [...showProfile(traces[name]).querySelectorAll(".bar")].map((bar) => ({
          distance: Number(bar.dataset.distance),
          height: Number(bar.getAttribute("height")),
          isThin: bar.classList.contains("thin"),
        })),
      kind,
    );
    const last = kind === "decoder_self" ? 0 : trace.keyTokens.length - 1;
    assert.deepEqual(
      bars.map(({ distance }) => distance),
      Array.from(
        { length: last + trace.queryTokens.length },
        (_, i) => i + 1 - trace.queryTokens.length,
      ),
    );
    // The last two diagonals at an open end hold one pair and two.
    const thin = bars.filter((bar) => bar.isThin).map(({ distance }) => distance);
    const first = 1 - trace.queryTokens.length;
    assert.deepEqual(
      thin,
      kind === "decoder_self" ? [first, first + 1] : [first, first + 1, last - 1, last],
    );
    const means = bars.map(({ distance }) => diagonalMean(trace, trace.weights, distance));
    const top = means.indexOf(Math.max(...means));
    const scale = bars[top].height / means[top];
    assert.ok(bars[top].height > 80);
    bars.forEach(({ height, distance }, at) => {
      assert.ok(Math.abs(height - scale * means[at]) < 0.05, `distance ${distance}`);
    });
  });
}

test("the line goes through the relation's means; cross attention has none and says so", async () => {
  const trace = byKind.encoder_self;
  const dots = await page.evaluate(() =>
    [...showProfile(traces.encoder_self).querySelectorAll(".relation-dot")].map((dot) => ({
      distance: Number(dot.dataset.distance),
      y: Number(dot.getAttribute("cy")),
    })),
  );
  const means = dots.map(({ distance }) => diagonalMean(trace, trace.relationScores, distance));
  const [low, high] = [means.indexOf(Math.min(...means)), means.indexOf(Math.max(...means))];
  const slope = (dots[high].y - dots[low].y) / (means[high] - means[low]);
  assert.ok(slope < 0);
  dots.forEach(({ y }, at) => {
    assert.ok(Math.abs(y - dots[low].y - slope * (means[at] - means[low])) < 0.05);
  });
  const cross = await page.evaluate(() => {
    const picture = showProfile(traces.cross);
    return { lines: picture.querySelectorAll(".relation").length, text: picture.textContent };
  });
  assert.equal(cross.lines, 0);
  assert.match(cross.text, /No relation between two different sentences/);
});

test("clip edges are bracketed where the sentence reaches them", async () => {
  const labels = await page.evaluate(() => {
    const relation = {
      index: "clipped_distance",
      firstDistance: -2,
      ids: Int32Array.of(0, 1, 2, 3, 4),
    };
    const picture = showProfile(traces.encoder_self, { relation });
    return [...picture.querySelectorAll(".range-label")].map((label) => label.textContent);
  });
  assert.deepEqual(labels, ["\u2264\u2009\u22122", "\u2265\u2009+2"]);
});

test("the profile tells the distance under the pointer and moves by keys", async () => {
  await page.evaluate(() => {
    showProfile(traces.encoder_self);
    calls.length = 0;
  });
  await page.locator('.bar[data-distance="-2"]').hover();
  await page.locator("#profile-picture").press("ArrowLeft");
  assert.deepEqual(await page.evaluate(() => calls), [{ distance: -2 }, -1]);
});

test("tables and readouts hold the numbers of the trace", async () => {
  const trace = byKind.decoder_self;
  const keys = trace.keyTokens.length;
  const seen = await page.evaluate(() => {
    const cells = (table) =>
      [...table.querySelectorAll("tbody tr")].map((row) =>
        [...row.cells].map((cell) => cell.textContent),
      );
    const { decoder_self: head } = traces;
    const facts = (element) => [...element.querySelectorAll("dd")].map((fact) => fact.textContent);
    return {
      map: cells(views.mapTable({ trace: head, quantity: "weights", words })),
      distances: cells(views.distanceTable({ trace: head, words })),
      cell: facts(views.mapReadout({ trace: head, point: { query: 3, key: 2 }, words })),
      distance: facts(views.distanceReadout({ trace: head, point: { distance: -1 }, words })),
    };
  });
  const plain = (text) => text.replace("\u2212", "-").replace("+", "");
  seen.map.forEach(([, ...row], query) => {
    row.forEach((text, key) => {
      assert.equal(text, key <= query ? trace.weights[query * keys + key].toFixed(3) : "");
    });
  });
  const rows = trace.queryTokens.length;
  assert.deepEqual(
    seen.distances.map(([distance, pairs]) => [Number(plain(distance)), Number(pairs)]),
    Array.from({ length: rows }, (_, i) => [i + 1 - rows, i + 1]),
  );
  const [, , distance, weight, content, relation] = seen.cell;
  const at = 3 * keys + 2;
  assert.equal(plain(distance), "-1");
  assert.equal(weight, trace.weights[at].toFixed(3));
  assert.equal(Number(plain(content)), Number(trace.contentScores[at].toFixed(2)));
  assert.equal(Number(plain(relation)), Number(trace.relationScores[at].toFixed(2)));
  assert.equal(seen.distance[2], diagonalMean(trace, trace.weights, -1).toFixed(3));
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
