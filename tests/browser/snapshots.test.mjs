// Every view against its committed snapshot. Where a change is meant: `npm run snapshots`, and look at what differs.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { after, before, test } from "node:test";
import { launch } from "./browser.mjs";
import { openCases, snapshotFolder, snapshotNames, snapshotOf } from "./snapshots.mjs";

let browser;
let page;
before(async () => {
  browser = await launch();
  page = await openCases(browser);
});
after(() => browser?.close());

for (const name of snapshotNames) {
  test(`${name} is drawn as its snapshot says`, async () => {
    const expected = readFileSync(new URL(`${name}.txt`, snapshotFolder), "utf8");
    const actual = await snapshotOf(page, name);
    assert.deepEqual(actual.split("\n"), expected.split("\n"), "if it is meant: npm run snapshots");
  });
}

test("the snapshots are those of the views, and compact", () => {
  const files = readdirSync(snapshotFolder);
  assert.deepEqual(files.sort(), snapshotNames.map((name) => `${name}.txt`).sort());
  const bytes = files.reduce((sum, file) => sum + statSync(new URL(file, snapshotFolder)).size, 0);
  assert.ok(bytes < 200_000, `${bytes} bytes`);
});
