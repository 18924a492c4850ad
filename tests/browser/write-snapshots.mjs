// Writes the views' snapshots anew:  npm run snapshots  (then look at `git diff tests/browser/snapshots`)

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { chromium, chromiumFlags } from "../../tools/chromium.mjs";

process.env.RELATA_CHROMIUM ??= await chromium();
process.env.RELATA_CHROMIUM_FLAGS ??= chromiumFlags().join(" ");
const { launch } = await import("./browser.mjs");
const { openCases, snapshotFolder, snapshotNames, snapshotOf } = await import("./snapshots.mjs");

const browser = await launch();
try {
  const page = await openCases(browser);
  rmSync(snapshotFolder, { recursive: true, force: true });
  mkdirSync(snapshotFolder);
  for (const name of snapshotNames)
    writeFileSync(new URL(`${name}.txt`, snapshotFolder), await snapshotOf(page, name));
} finally {
  await browser.close();
}
