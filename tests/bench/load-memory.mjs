// Peak memory while a model loads, from the disk and over HTTP, against weights + largest tensor + 64 MB:
//   node tests/bench/load-memory.mjs [FOLDER_OR_FILE ...]
//   node tests/bench/load-memory.mjs --real [--python COMMAND]
// Without a name, a folder of t5-small's shape (random weights, 242 MB) is made for the run. With --real, Hugging Face makes random folders
// of t5-small's and of flan-t5-base's shape (once, kept in the cache folder) and says which 64 ids it writes; each is then loaded in Node and
// in Chromium, and has to write the same ids in f32. COMMAND is a Python that has torch and transformers; a box is made without it.
// Needs the built package. Each load runs in a process of its own; its memory is the process's peak less what it had before the load.

import { spawn } from "node:child_process";
import {
  createReadStream,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { chromiumPages } from "./hosts.mjs";
import { load as loadOnce } from "./one-load.mjs";
import { prepareReal } from "./prepare.mjs";
import { lettersOf, letterTokenizer, shapes, t5Small } from "./t5-small.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const kPackage = join(root, "dist/package");
const kAllowance = 64e6;

/** What runs in the process that is measured. */
async function measure(call) {
  const peak = () => process.resourceUsage().maxRSS * 1024;
  await import(call.module);
  const before = peak();
  const { write, ...loaded } = await loadOnce(call);
  const added = peak() - before;
  console.log(JSON.stringify({ ...loaded, added, peak: peak(), ids: await write() }));
}

/** Serves what lies below a folder, with ranges. */
async function serving(folder, use) {
  const server = createServer((request, response) => {
    const path = join(folder, decodeURIComponent(request.url));
    if (!existsSync(path) || !statSync(path).isFile()) return response.writeHead(404).end();
    const { size } = statSync(path);
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [null, "0", ""];
    const [start, end] = [Number(from), to === "" ? size - 1 : Number(to)];
    const range =
      request.headers.range === undefined
        ? {}
        : { "content-range": `bytes ${start}-${end}/${size}` };
    response.writeHead(request.headers.range === undefined ? 200 : 206, {
      "content-length": end - start + 1,
      ...range,
    });
    return createReadStream(path, { start, end }).pipe(response);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  try {
    return await use(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function inNode(call) {
  const module = pathToFileURL(join(kPackage, "node.js")).href;
  const argv = [fileURLToPath(import.meta.url), "--measure", JSON.stringify({ ...call, module })];
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (text) => {
    output += text;
  });
  return new Promise((done, fail) => {
    child.on("close", (status) =>
      status === 0 ? done(JSON.parse(output)) : fail(new Error(`${call.source}: status ${status}`)),
    );
  });
}

/** A page of its own; its memory is the renderer's. */
async function inChromium(folder, call) {
  const pages = await chromiumPages({ "/package/": kPackage, "/model/": folder });
  try {
    const { page, peak, close } = await pages.open();
    const before = (await peak()) * 2 ** 20;
    const places = { module: `${pages.url}package/index.js`, source: `${pages.url}model/` };
    const loaded = await page.evaluate(
      async (given) => {
        const { load } = await import("./one-load.mjs");
        const { write, ...rest } = await load(given);
        globalThis.write = write;
        return rest;
      },
      { ...call, ...places },
    );
    const loadedPeak = (await peak()) * 2 ** 20;
    const ids = await page.evaluate(() => globalThis.write());
    await close();
    return { ...loaded, added: loadedPeak - before, peak: loadedPeak, ids };
  } finally {
    await pages.close();
  }
}

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** Whether it stayed within what is allowed, where that is asked, and wrote what it should. */
function report(title, loaded, expected, isBounded = true) {
  const { format, ms, added, largest, weightBytes, peak, ids } = loaded;
  const allowed = weightBytes + largest + kAllowance;
  console.log(
    `${title.padEnd(36)} ${format.padEnd(14)} ${(ms / 1000).toFixed(2).padStart(7)} s, load adds ${megabytes(added)} of ${megabytes(allowed)} allowed (weights ${megabytes(weightBytes)}, largest tensor ${megabytes(largest)}); the process's peak is ${megabytes(peak)}`,
  );
  const within = !isBounded || added <= allowed;
  if (expected === null) return within;
  const { greedy_ids, clearance } = expected;
  const same = greedy_ids.filter((id, i) => ids[i] === id).length;
  console.log(
    `${"".padEnd(36)} ${same} of Hugging Face's ${greedy_ids.length} greedy ids; their logits are clear of the second by ${clearance} times what float32 is off, or more`,
  );
  return within && same === greedy_ids.length && ids.length === same;
}

/** expected: { source_ids, greedy_ids }, or null. */
async function load(source, name, expected) {
  const call =
    expected === null
      ? {}
      : { text: lettersOf(expected.source_ids), count: expected.greedy_ids.length };
  const isFolder = statSync(source).isDirectory();
  const path = isFolder ? `${basename(source)}/` : basename(source);
  const results = [
    report(`${name} from disk`, await inNode({ ...call, source }), expected),
    await serving(join(source, ".."), async (address) =>
      report(
        `${name} over HTTP`,
        await inNode({ ...call, source: `${address}/${path}` }),
        expected,
      ),
    ),
  ];
  if (expected !== null)
    results.push(report(`${name} in Chromium`, await inChromium(source, call), expected, false));
  return results.every((right) => right);
}

async function main() {
  const { values, positionals } = parseArgs({
    options: { real: { type: "boolean" }, python: { type: "string" }, measure: { type: "string" } },
    allowPositionals: true,
  });
  if (values.measure !== undefined) return measure(JSON.parse(values.measure));
  let right = true;
  if (values.real) {
    const python = values.python?.split(" ") ?? null;
    for (const [shape, { vocab_size }] of Object.entries(shapes)) {
      const folder = await prepareReal(shape, python, letterTokenizer(vocab_size));
      const expected = JSON.parse(readFileSync(join(folder, "expected.json"), "utf8"));
      right = (await load(folder, shape, expected)) && right;
    }
  } else {
    const made = positionals.length > 0 ? null : mkdtempSync(join(tmpdir(), "relata-load-"));
    try {
      if (made !== null)
        for (const [name, bytes] of Object.entries(t5Small()))
          writeFileSync(join(made, name), bytes);
      for (const name of made === null ? positionals : [made]) {
        const source = resolve(name);
        right = (await load(source, basename(source), null)) && right;
      }
    } finally {
      if (made !== null) rmSync(made, { recursive: true });
    }
  }
  process.exitCode = right ? 0 : 1;
}

await main();
