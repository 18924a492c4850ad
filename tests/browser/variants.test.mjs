// All four builds of the core in a real browser, in a page that may have threads: int8 gives the same bits in each, f32
// nearly the same numbers.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { serve } from "../../tools/serve.mjs";
import { launch } from "./browser.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const kScript = `import { Model } from "/package/index.js";
window.scored = async (options) => {
  const model = await Model.load("/models/captions-en-de", { worker: true, ...options });
  try {
    const { text, tokens } = await model.run("A man is riding a bicycle down the street.");
    return { text, scores: tokens.map(({ logProbability }) => logProbability) };
  } finally {
    model.dispose();
  }
};
document.documentElement.dataset.ready = "";`;

const folder = mkdtempSync(join(tmpdir(), "relata-variants-"));
let browser;
let page;
let server;

before(async () => {
  writeFileSync(
    join(folder, "index.html"),
    `<!doctype html><script type="module" src="page.js"></script>`,
  );
  writeFileSync(join(folder, "page.js"), kScript);
  const folders = { "/package/": join(root, "dist/package"), "/models/": join(root, "models") };
  server = await serve(0, { ...folders, "/": folder }, { isolated: true });
  browser = await launch();
  page = await browser.newPage();
  await page.goto(server.url);
  await page.locator("html[data-ready]").waitFor({ state: "attached" });
  assert.equal(await page.evaluate(() => crossOriginIsolated), true);
});
after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true });
});

const kBuilds = ["baseline", "relaxed"].flatMap((variant) =>
  [1, 2].map((threads) => ({ variant, threads })),
);
const scored = (options) => page.evaluate((given) => window.scored(given), options);

test("int8: the same text and the same bits in all four builds", async () => {
  const results = [];
  for (const build of kBuilds) results.push(await scored({ ...build, dtype: "int8" }));
  for (const result of results) assert.deepEqual(result, results[0]);
  assert.match(results[0].text, /Fahrrad/);
});

test("f32: threads change no bit, relaxed SIMD next to nothing", async () => {
  const results = [];
  for (const build of kBuilds) results.push(await scored({ ...build, dtype: "f32" }));
  const [baseline, baselineThreads, relaxed, relaxedThreads] = results;
  assert.deepEqual(baselineThreads, baseline);
  assert.deepEqual(relaxedThreads, relaxed);
  assert.equal(relaxed.text, baseline.text);
  relaxed.scores.forEach((score, i) => {
    assert.ok(Math.abs(score - baseline.scores[i]) < 1e-4, `token ${i}`);
  });
});
