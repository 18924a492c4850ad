// Emscripten leaves its glue readable; Vite's own minifier halves it:
//
//   node bindings/wasm/minify.mjs FROM TO [FROM TO …]

import { readFileSync, writeFileSync } from "node:fs";
import { minify } from "rolldown/experimental";

/** How the glue goes about a module nobody hands it. Whoever asks for one of ours instantiates it, so that this and what it calls go. */
const kFetching =
  /wasmBinaryFile\?\?=findWasmBinary\(\);var result=await instantiateAsync\([^)]*\);var exports=receiveInstantiationResult\(result\);return exports(?=\})/;

const files = process.argv.slice(2);
for (let i = 0; i < files.length; i += 2) {
  const [from, to] = files.slice(i, i + 2);
  const text = readFileSync(from, "utf8").replace(kFetching, "");
  const { code, errors } = await minify(from, text, { module: true });
  if (errors?.length) throw new Error(`${from} cannot be minified: ${errors[0].message}`);
  // Bundlers find the worker and the module by addresses in plain quotes.
  writeFileSync(to, code.replace(/\bnew URL\(`([^`"$\\]+)`/g, 'new URL("$1"'));
}
