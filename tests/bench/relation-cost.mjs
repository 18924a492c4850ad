// `npm run bench:relation`: builds tests/bench/relation_cost.cpp as WebAssembly and runs it in this Node.

import { join } from "node:path";
import { buildPreset } from "../../tools/build.mjs";
import { main, run } from "../../tools/process.mjs";

await main(async () => {
  const folder = await buildPreset("wasm", "relata_relation_cost");
  process.exitCode = await run([process.execPath, join(folder, "relation_cost.cjs")]);
});
