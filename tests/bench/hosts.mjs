// Where engines run: a process of a given Node, or a page of its own Chromium. Both are opened with an engine, have
// let it write its first token, and then answer one command at a time.

import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, chromiumFlags } from "../../tools/chromium.mjs";
import { capture, root } from "../../tools/process.mjs";
import { serve } from "../../tools/serve.mjs";

const here = join(root, "tests/bench");
const kPackage = join(root, "dist/package");

/** A Node program as a host; `made` is what prepare.mjs made. */
export function nodeHost(program, made) {
  const module = (...path) => pathToFileURL(join(made.peers, "node_modules", ...path)).href;
  const places = {
    package: pathToFileURL(join(kPackage, "node.js")).href,
    model: made.model,
    int8: made.int8,
    onnx: join(made.model, "onnx"),
    onnxruntimeWeb: module("onnxruntime-web/dist/ort.node.min.mjs"),
    onnxruntimeNode: module("onnxruntime-node/dist/index.js"),
    limits: made.limits.baseline,
    limitsRelaxed: made.limits.relaxed,
  };
  return {
    async open(engine, options) {
      const config = JSON.stringify({ engine, options, places });
      const child = fork(join(here, "node-child.mjs"), [config], { execPath: program });
      const ended = once(child, "exit").then(([status, signal]) => {
        throw new Error(`${engine} ended with ${signal ?? `status ${status}`}`);
      });
      ended.catch(() => {});
      const answer = async () => (await Promise.race([once(child, "message"), ended]))[0];
      const start = await answer();
      return {
        start,
        ask: (message) => {
          child.send(message);
          return answer();
        },
        async close() {
          child.kill();
          await ended.catch(() => {});
        },
      };
    },
    version: async () => `Node ${capture([program, "--version"]).output}`,
    close: async () => {},
  };
}

/** Pages in Chromium, each in a browser of its own, beside which the folders are served; peaks are in MB. */
export async function chromiumPages(folders) {
  const executablePath = await chromium();
  // Not before the packages are installed.
  const { chromium: playwright } = await import("playwright-core");
  const launch = () => playwright.launch({ executablePath, args: chromiumFlags() });
  const { url, stop } = await serve(0, { ...folders, "/": here });
  return {
    url,
    async open() {
      const browser = await launch();
      const page = await browser.newPage();
      page.setDefaultTimeout(0);
      await page.goto(`${url}page.html`);
      return { page, peak: () => rendererPeak(browser), close: () => browser.close() };
    },
    async version() {
      const browser = await launch();
      const version = `Chromium ${browser.version()}`;
      await browser.close();
      return version;
    },
    close: stop,
  };
}

/** Chromium as a host. */
export async function chromiumHost(made) {
  const pages = await chromiumPages({
    "/package/": kPackage,
    "/models/": join(made.model, ".."),
    "/int8/": made.int8,
    "/peers/": join(made.peers, "node_modules"),
    "/limits/": made.limits.folder,
  });
  const { url } = pages;
  const name = made.model.split("/").at(-1);
  const transformers = `${url}peers/@huggingface/transformers/`;
  const places = {
    package: `${url}package/index.js`,
    model: `${url}models/${name}/`,
    int8: `${url}int8/`,
    models: `${url}models/`,
    modelName: name,
    onnx: `${url}models/${name}/onnx`,
    onnxruntimeWeb: `${url}peers/onnxruntime-web/dist/ort.wasm.min.mjs`,
    onnxruntimeFiles: `${url}peers/onnxruntime-web/dist/`,
    transformers: `${transformers}dist/transformers.min.js`,
    transformersFiles: `${transformers}node_modules/onnxruntime-web/dist/`,
    limits: `${url}limits/baseline.wasm`,
    limitsRelaxed: `${url}limits/relaxed.wasm`,
  };
  return {
    async open(engine, options) {
      const { page, peak, close } = await pages.open();
      const start = await page.evaluate(
        async (config) => {
          globalThis.bench = await import("./page.mjs");
          return globalThis.bench.start(config);
        },
        { engine, options, places },
      );
      start.firstTokenMb = await peak();
      return {
        start,
        ask: (message) =>
          message.command === "peak"
            ? peak()
            : page.evaluate((given) => globalThis.bench.ask(given), message),
        close,
      };
    },
    close: pages.close,
    version: pages.version,
  };
}

/** The peak memory in MB of the browser's largest renderer, which is the page with its workers. */
async function rendererPeak(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const peaks = processInfo
    .filter(({ type }) => type === "renderer")
    .map(({ id }) => /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, "utf8")));
  return Math.max(...peaks.map((match) => Number(match?.[1] ?? 0))) / 1024;
}
