// Sizes of what a page downloads, raw and after gzip -9, against their budgets:  node tools/size.mjs

import { readFileSync } from "node:fs";
import { extname, join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { filesBelow } from "./build.mjs";
import { isMain, main, root, SetupError } from "./process.mjs";

/**
 * In kB of 1,000 bytes, raw and gzip: what is aimed at, and the limit that holds what has been reached until then.
 * Above a limit the sizes fail; between aim and limit they say so.
 */
const kBudgets = {
  wasm: { aim: [300, 110], limit: [300, 110] },
  threads: { aim: [300, 110], limit: [300, 110] },
  package: { aim: [Number.POSITIVE_INFINITY, 60], limit: [Number.POSITIVE_INFINITY, 60] },
};

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

/** Prints the table; returns whether everything is within its limit. */
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
        [file, file.replace(/(-relaxed)?\.wasm$/, ".js")],
        relative(root, file).includes("threads") ? kBudgets.threads : kBudgets.wasm,
      ),
    ),
    measure(
      "package JavaScript",
      files("dist/package", ".js").filter((file) => !isCore(file)),
      kBudgets.package,
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
    const isAbove = ([mostRaw, mostGzip]) => raw > mostRaw * 1000 || gzip > mostGzip * 1000;
    const over = budget !== undefined && isAbove(budget.limit);
    let note = "";
    if (budget !== undefined) {
      const words = over
        ? "ABOVE THE LIMIT"
        : isAbove(budget.aim)
          ? "above the aim, within the limit"
          : "as aimed at";
      const both = (pair) => pair.filter(Number.isFinite).join(" / ");
      note = `   ${words} (aim ${both(budget.aim)} kB, limit ${both(budget.limit)} kB)`;
    }
    console.log(`${kilobytes(raw)} ${kilobytes(gzip)} gzip   ${title}${note}`);
    if (over) within = false;
  }
  return within;
}

if (isMain(import.meta.url)) await main(() => (reportSizes() ? 0 : 1));
