// A Chromium that notices what a page should never do, and a host as strict as the page promises to bear.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

/** Where the test driver serves the page. */
export const pageUrl = process.env.RELATA_PAGE;

/** The shipped model, for what the package says of it in this process. */
export const modelFolder = fileURLToPath(new URL("../../models/captions-en-de", import.meta.url));

/** Milliseconds after which a wait is given up: far beyond what any machine needs. */
export const kPatience = 180_000;

const kPolicy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  ...["style-src", "img-src", "connect-src", "worker-src"].map((name) => `${name} 'self'`),
].join("; ");

export function launch() {
  const executablePath = process.env.RELATA_CHROMIUM ?? "/usr/bin/chromium";
  if (!existsSync(executablePath)) throw new Error(`no Chromium at ${executablePath}`);
  const flags = process.env.RELATA_CHROMIUM_FLAGS ?? "";
  return chromium.launch({ executablePath, args: flags.split(" ").filter(Boolean) });
}

/** The folder for screenshots; a fresh one where the driver names none. */
export async function screenshotFolder() {
  return process.env.RELATA_SCREENSHOTS ?? (await mkdtemp(join(tmpdir(), "relata-screenshots-")));
}

/**
 * A fresh page for the page at `url`, not yet opened, with every answer under the strict policy. `complaints`
 * collects console errors and warnings, uncaught errors, and requests to other origins.
 */
export async function newPage(browser, options = {}) {
  const { width = 1280, height = 1000, scheme = "light", locale = "en-US" } = options;
  const { policy = kPolicy, url = pageUrl } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    locale,
    // Or requests would go round the policy.
    serviceWorkers: "block",
  });
  // However slow the machine.
  context.setDefaultTimeout(kPatience);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => {
    const isOurs = message.text() === "Service Worker registration blocked by Playwright";
    if (["error", "warning"].includes(message.type()) && !isOurs) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  context.on("request", (request) => {
    if (!request.url().startsWith(url)) complaints.push(`request to ${request.url()}`);
  });
  await context.route("**/*", async (route) => {
    try {
      const response = await route.fetch();
      const headers = { ...response.headers(), "content-security-policy": policy };
      await route.fulfill({ response, headers });
    } catch (error) {
      // A test may end while something is on its way.
      if (!/closed|disposed|ECONN/.test(String(error))) throw error;
    }
  });
  return { page, complaints };
}

/** Opens the page and waits for its first translation. */
export async function open(page, url = pageUrl) {
  await page.goto(url);
  await page.locator("#map-picture").waitFor();
}

/** Waits until what was done is drawn: the page draws in the frame after an event. */
export function drawn(page) {
  return page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );
}

/** Chooses a radio button the way a pointer does. */
export async function choose(page, name, value) {
  await page.locator(`label:has(#${name}-${value})`).click();
  await drawn(page);
  assert.ok(await page.locator(`#${name}-${value}`).isChecked(), `${name} is ${value}`);
}

/** The colour of a pixel of the map's canvas: [red, green, blue, alpha], at a share of its width and height. */
export function mapPixel(page, across, down) {
  return page.evaluate(
    ([x, y]) => {
      const canvas = document.querySelector("#map-picture canvas");
      const at = [Math.floor(canvas.width * x), Math.floor(canvas.height * y)];
      return [...canvas.getContext("2d").getImageData(...at, 1, 1).data];
    },
    [across, down],
  );
}

/** Records the tasks of main threads, until `stopTasks`. */
export function startTasks(browser, page) {
  return browser.startTracing(page, { categories: ["toplevel"] });
}

/** Milliseconds that each took, the longest first: of the processor, so that what else the machine does does not count. */
export async function stopTasks(browser) {
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const main = new Set(
    traceEvents
      .filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  // Newer Chromiums tell a task twice, once within itself.
  return traceEvents
    .filter(({ name, ph, pid, tid }) => {
      return name === "ThreadControllerImpl::RunTask" && ph === "X" && main.has(`${pid} ${tid}`);
    })
    .map(({ tdur }) => tdur / 1000)
    .sort((a, b) => b - a);
}
