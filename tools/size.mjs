// Sizes of what a page downloads, raw and after gzip -9, against their budgets:  node tools/size.mjs

import { readFileSync } from "node:fs";
import { dirname, extname, join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { filesBelow } from "./build.mjs";
import { isMain, main, root, SetupError } from "./process.mjs";

/** Budgets in kB of 1,000 bytes. */
const kBudgets = { wasm: { raw: 300, gzip: 110 } };

/** One row: the files of a group, their bytes, and their bytes after gzip, each file on its own as a server sends it. */
function measure(title, files, budget) {
  if (files.length === 0)
    throw new SetupError(`no files for "${title}" in dist/: run \`npm run build\``);
  const sum = { title, raw: 0, gzip: 0, budget };
  for (const file of files) {
    const bytes = readFileSync(file);
    sum.raw += bytes.length;
    sum.gzip += gzipSync(bytes, { level: 9 }).length;
  }
  return sum;
}

/** Prints the table; returns whether everything is within its budget. */
export function reportSizes() {
  const files = (folder, ...types) =>
    filesBelow(join(root, folder)).filter((file) => types.includes(extname(file)));
  const variants = files("dist/package/wasm", ".wasm");
  const isCore = (file) => relative(join(root, "dist/package/wasm"), file)[0] !== ".";
  const rows = [
    // A page loads one of them.
    ...variants.map((file) =>
      measure(
        `${relative(join(root, "dist/package"), file)} + glue`,
        [file, join(dirname(file), "relata.js")],
        kBudgets.wasm,
      ),
    ),
    measure(
      "package JavaScript",
      files("dist/package", ".js").filter((file) => !isCore(file)),
    ),
    measure(
      "page JavaScript and CSS (bundled with the package)",
      files("dist/page", ".js", ".css"),
    ),
    measure("page WebAssembly", files("dist/page", ".wasm")),
  ];
  const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`.padStart(10);
  let within = true;
  for (const { title, raw, gzip, budget } of rows) {
    const over = budget && (raw > budget.raw * 1000 || gzip > budget.gzip * 1000);
    const note = budget
      ? `   budget ${budget.raw} kB, ${budget.gzip} kB gzip${over ? ": EXCEEDED" : ""}`
      : "";
    console.log(`${kilobytes(raw)} ${kilobytes(gzip)} gzip   ${title}${note}`);
    if (over) within = false;
  }
  return within;
}

if (isMain(import.meta.url)) await main(() => (reportSizes() ? 0 : 1));
