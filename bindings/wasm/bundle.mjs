// Puts the compiled package into few files:  node bindings/wasm/bundle.mjs FROM TO
// Every entry keeps its name, and what several of them need becomes a file of its own beside them. The glue of the WebAssembly
// modules stays in the folder wasm, under the addresses it is found by.

import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { rolldown } from "rolldown";

const [from, to] = process.argv.slice(2);
/** For browsers index.js and the workers it starts, the same for Node, and the command line with its threads. */
const kEntries = {
  index: "index.js",
  worker: "worker.js",
  "web-thread": "web-thread.js",
  node: "node.js",
  "node-thread": "node-thread.js",
  cli: "cli.js",
  "line-worker": "cli/line-worker.js",
};

/** What a file of several modules is about: the first of these that is in it. */
const kNames = ["engine", "model", "node-platform", "hugging-face", "tokenizers", "source"];

const bundle = await rolldown({
  input: Object.fromEntries(
    Object.entries(kEntries).map(([name, file]) => [name, join(from, file)]),
  ),
  external: (id) => id.startsWith("node:") || id.startsWith("./wasm/"),
  platform: "neutral",
  onLog: (_, { message }) => {
    throw new Error(message);
  },
});
const { output } = await bundle.generate({
  format: "esm",
  // Classes keep the names that stack traces show.
  minify: {
    compress: true,
    mangle: { keepNames: { class: true, function: false } },
    codegen: true,
  },
  entryFileNames: "[name].js",
  chunkFileNames: ({ name, moduleIds }) => {
    const isIn = (about) => moduleIds.some((id) => basename(id) === `${about}.js`);
    return `${kNames.find(isIn) ?? name}.js`;
  },
});
await bundle.close();
mkdirSync(to, { recursive: true });
for (const { fileName, code } of output) {
  // Bundlers find workers and modules by addresses in plain quotes.
  const quoted = code.replace(/\b(new URL|import)\(`([^`"$\\]+)`/g, '$1("$2"');
  writeFileSync(join(to, fileName), quoted);
}
