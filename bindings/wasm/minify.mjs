// Emscripten leaves its glue readable, and TypeScript its comments; Vite's own minifier halves both:
//
//   node bindings/wasm/minify.mjs FROM TO [FROM TO …]

import { readFileSync, writeFileSync } from "node:fs";
import { minify } from "rolldown/experimental";

const files = process.argv.slice(2);
for (let i = 0; i < files.length; i += 2) {
  const [from, to] = files.slice(i, i + 2);
  // The threads' workers import the glue they come from under whatever name a bundler gave it.
  const text = readFileSync(from, "utf8").replace(
    /new Worker\(new URL\("relata\.js",\s*import\.meta\.url\)/,
    "new Worker(new URL(import.meta.url)",
  );
  const { code, errors } = await minify(from, text, { module: true });
  if (errors?.length) throw new Error(`${from} cannot be minified: ${errors[0].message}`);
  // Bundlers find the worker and the module by addresses in plain quotes.
  writeFileSync(to, code.replace(/\bnew URL\(`([^`"$\\]+)`/g, 'new URL("$1"'));
}
