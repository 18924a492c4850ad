// The profile of a head by distance, and the tables and readouts, from stored attentions: what is drawn is what the numbers say.

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
