// The page's own modules, compiled by the page's own compiler, for tests of single functions and views.

import { fileURLToPath } from "node:url";
import { build } from "vite";

const kModules = "modules-under-test.ts";

/** Everything but main and the translator, as one script that imports nothing. */
export async function compileModules() {
  const [{ output }] = await build({
    configFile: false,
    root: fileURLToPath(new URL("../../web", import.meta.url)),
    logLevel: "error",
    build: {
      write: false,
      minify: false,
      lib: { entry: fileURLToPath(new URL(kModules, import.meta.url)), formats: ["es"] },
    },
  });
  return output[0].code;
}

/** The modules, in this process; what draws needs a document and runs in the browser only. */
export async function importModules() {
  const code = Buffer.from(await compileModules()).toString("base64");
  return import(`data:text/javascript;base64,${code}`);
}
