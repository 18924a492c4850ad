// Attention by distance, on numbers worked by hand.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { importModules } from "./modules.mjs";

let page;
before(async () => {
  page = await importModules();
});

const tokens = (count) => Array.from({ length: count }, (_, id) => ({ id, piece: `t${id}` }));

function trace(kind, numQueries, numKeys, weights, relationScores = null) {
  return {
    kind,
    layer: 0,
    head: 0,
    queryTokens: tokens(numQueries),
    keyTokens: tokens(numKeys),
    weights: Float32Array.from(weights),
    contentScores: new Float32Array(numQueries * numKeys),
    relationScores: relationScores && Float32Array.from(relationScores),
  };
}

test("unequal lengths: every diagonal of a 2 x 3 map", () => {
  // 0.5 0.25 0.25
  // 0.125 0.75 0.125
  const rows = page.distanceProfile(trace("cross", 2, 3, [0.5, 0.25, 0.25, 0.125, 0.75, 0.125]));
  assert.deepEqual(rows, [
    { distance: -1, count: 1, meanWeight: 0.125, relation: null },
    { distance: 0, count: 2, meanWeight: 0.625, relation: null },
    { distance: 1, count: 2, meanWeight: 0.1875, relation: null },
    { distance: 2, count: 1, meanWeight: 0.25, relation: null },
  ]);
});

test("mean and spread of the relation along a diagonal", () => {
  //  1  5  0
  // -2  3  7
  //  4 -6  2
  const relation = [1, 5, 0, -2, 3, 7, 4, -6, 2];
  const rows = page.distanceProfile(
    trace("encoder_self", 3, 3, new Array(9).fill(1 / 3), relation),
  );
  const spreads = rows.map((row) => [row.distance, row.relation.mean, row.relation.spread]);
  assert.deepEqual(spreads.slice(0, 2), [
    [-2, 4, 0],
    [-1, -4, 2],
  ]);
  assert.deepEqual(spreads.slice(3), [
    [1, 6, 1],
    [2, 0, 0],
  ]);
  // 1, 3, 2: mean 2, squares 1 + 1 + 0 over 3.
  assert.equal(rows[2].relation.mean, 2);
  assert.ok(Math.abs(rows[2].relation.spread - Math.sqrt(2 / 3)) < 1e-12);
});

test("a decoder has no later keys, whatever the array holds there", () => {
  const rows = page.distanceProfile(
    trace("decoder_self", 3, 3, [1, 9, 9, 0.5, 0.5, 9, 0.25, 0.25, 0.5]),
  );
  assert.deepEqual(
    rows.map(({ distance, count }) => [distance, count]),
    [
      [-2, 1],
      [-1, 2],
      [0, 3],
    ],
  );
  assert.equal(rows[1].meanWeight, 0.375);
  assert.ok(Math.abs(rows[2].meanWeight - 2 / 3) < 1e-12);
});

test("one token has one distance", () => {
  assert.deepEqual(page.distanceProfile(trace("encoder_self", 1, 1, [1], [0.5])), [
    { distance: 0, count: 1, meanWeight: 1, relation: { mean: 0.5, spread: 0 } },
  ]);
});

test("arrays that do not fit the tokens are refused by name", () => {
  const short = trace("cross", 2, 3, [1, 0, 0, 1, 0]);
  assert.throws(() => page.distanceProfile(short), /weights has 5 values for 6 pairs/);
  const long = trace("encoder_self", 1, 1, [1], [0, 0]);
  assert.throws(() => page.checkTrace(long), /relationScores has 2 values for 1 pairs/);
});

test("clipped distances: everything beyond the clip is one range", () => {
  // clip 2: ids 0..4 for distances -2..2
  const info = { index: "clipped_distance", firstDistance: -2, ids: Int32Array.of(0, 1, 2, 3, 4) };
  assert.deepEqual(page.relationRanges(info, -4, 3), [
    { id: 0, from: -4, to: -2 },
    { id: 1, from: -1, to: -1 },
    { id: 2, from: 0, to: 0 },
    { id: 3, from: 1, to: 1 },
    { id: 4, from: 2, to: 3 },
  ]);
});

test("buckets: neighbours with one id are one range", () => {
  const info = {
    index: "bucketed_distance",
    firstDistance: -5,
    ids: Int32Array.of(3, 2, 2, 2, 1, 0),
  };
  assert.deepEqual(page.relationRanges(info, -7, 0), [
    { id: 3, from: -7, to: -5 },
    { id: 2, from: -4, to: -2 },
    { id: 1, from: -1, to: -1 },
    { id: 0, from: 0, to: 0 },
  ]);
});

test("labels are no distances", () => {
  const info = { index: "labels", firstDistance: 0, ids: new Int32Array() };
  assert.deepEqual(page.relationRanges(info, -3, 3), []);
});
