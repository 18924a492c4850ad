// The page with the headers that allow threads and without: it takes what it may have, says so, and translates the same.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { serve } from "../../tools/serve.mjs";
import { launch, modelFolder, newPage, open } from "./browser.mjs";

const kCommandLine = fileURLToPath(new URL("../../dist/package/cli.js", import.meta.url));
const threaded = ["relata-relaxed", "relata"].map((name) => {
  const file = new URL(`../../dist/package/wasm/threads/${name}.wasm`, import.meta.url);
  return readFileSync(file).toString("base64");
});

let browser;
let plain;
let isolated;
let folder;
/** The shipped model in int8. */
let files;
before(async () => {
  browser = await launch();
  plain = await serve();
  isolated = await serve(0, undefined, { isolated: true });
  folder = mkdtempSync(join(tmpdir(), "relata-threads-"));
  const small = join(folder, "int8");
  const argv = [kCommandLine, "convert", modelFolder, small, "--dtype", "int8"];
  const { status, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  files = readdirSync(small).map((name) => join(small, name));
});
after(async () => {
  await browser?.close();
  await Promise.all([plain?.stop(), isolated?.stop()]);
  rmSync(folder, { recursive: true });
});

const kBuilds = /\/relata(-relaxed)?-[^/]+\.wasm$/;
const stats = (page) => page.locator(".stats").textContent();

/** A visit on a machine of so many cores: its page, what it complained of, and which builds of the core were fetched. */
async function visit({ url }, cores, prepare = async () => {}) {
  const { page, complaints } = await newPage(browser, { url });
  await prepare(page);
  await page.addInitScript((count) => {
    Object.defineProperty(Navigator.prototype, "hardwareConcurrency", { get: () => count });
  }, cores);
  const builds = [];
  page.context().on("response", async (response) => {
    if (kBuilds.test(response.url())) builds.push(response.body().catch(() => null));
  });
  await open(page, url);
  return { page, complaints, builds: async () => Promise.all(builds) };
}

async function json(page) {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator("#save-json").click(),
  ]);
  return readFileSync(await download.path(), "utf8");
}

for (const [name, cores, expected] of [
  ["isolated, two cores", 2, 2],
  ["isolated, sixteen cores", 16, 4],
  ["isolated, one core", 1, 1],
  ["not isolated", 2, 1],
]) {
  test(`${name}: ${expected} of threads`, async () => {
    const server = name === "not isolated" ? plain : isolated;
    const { page, complaints, builds } = await visit(server, cores);
    assert.equal(await page.evaluate(() => crossOriginIsolated), server === isolated);
    assert.match(await stats(page), new RegExp(`, ${expected} threads?$`));
    const fetched = await builds();
    assert.equal(fetched.length, 1);
    assert.equal(threaded.includes(fetched[0].toString("base64")), expected > 1);
    assert.deepEqual(complaints, []);
    await page.context().close();
  });
}

test("where the build with threads cannot start, the one without them does", async () => {
  const { page } = await visit(isolated, 2, (fresh) =>
    fresh.context().route(kBuilds, async (route) => {
      const response = await route.fetch();
      const body = await response.body();
      const isThreaded = threaded.includes(body.toString("base64"));
      await route.fulfill(isThreaded ? { response, body: "no module" } : { response, body });
    }),
  );
  assert.equal(await page.evaluate(() => crossOriginIsolated), true);
  assert.match(await stats(page), /, 1 thread$/);
  await page.context().close();
});

test("int8: the same text and the same bits with threads and without", async () => {
  const told = [];
  for (const server of [plain, isolated]) {
    const { page, complaints } = await visit(server, 4);
    await page.locator("#bring").click();
    await page.locator("#model-files").setInputFiles(files);
    await page.locator("#model-slot select", { hasText: "model" }).waitFor();
    await page.locator("#map-picture").waitFor();
    assert.match(await stats(page), server === plain ? /, 1 thread$/ : /, 4 threads$/);
    told.push(await json(page));
    assert.deepEqual(complaints, []);
    await page.context().close();
  }
  const [one, four] = told;
  assert.match(one, /Fahrrad/);
  assert.ok(JSON.parse(one).sequences[0].tokens.length > 5);
  assert.equal(four, one);
});
