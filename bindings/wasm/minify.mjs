// Emscripten leaves its glue readable; Vite's own minifier halves it:  node bindings/wasm/minify.mjs FROM TO

import { readFileSync, writeFileSync } from "node:fs";
import { minify } from "rolldown/experimental";

const [from, to] = process.argv.slice(2);
const { code, errors } = await minify(from, readFileSync(from, "utf8"), { module: true });
if (errors?.length) throw new Error(`${from} cannot be minified: ${errors[0].message}`);
writeFileSync(to, code);
