import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { defineConfig, type Plugin, type Rollup } from "vite";

const at = (path: string) => new URL(path, import.meta.url);

type Kept = Record<"files" | "single" | "threads", string[]>;

function kindOf(file: Rollup.OutputAsset | Rollup.OutputChunk): keyof Kept {
  const isOf = (pattern: RegExp) =>
    file.type === "asset" && file.originalFileNames.some((name) => pattern.test(name));
  if (isOf(/wasm\/threads\//)) return "threads";
  return isOf(/wasm\/relata[^/]*\.wasm$/) ? "single" : "files";
}

/** Adds service-worker.js with the names of all the page's files, and a digest that changes when one of them does. */
function serviceWorker(): Plugin {
  return {
    name: "relata-service-worker",
    enforce: "post",
    generateBundle(_, bundle) {
      const digest = createHash("sha256");
      for (const file of Object.values(bundle))
        digest.update(file.type === "chunk" ? file.code : file.source);
      // Of the builds of the core a page uses those with threads, or those without.
      const kinds = { files: readdirSync(at("public")), single: [], threads: [] } as Kept;
      for (const file of Object.values(bundle)) {
        if (file.fileName !== "index.html") kinds[kindOf(file)].push(file.fileName);
      }
      const list = (kind: keyof Kept) => `${JSON.stringify(kinds[kind].sort())};`;
      const source = readFileSync(at("service-worker.js"), "utf8")
        .replace("FILES;", list("files"))
        .replace("SINGLE;", list("single"))
        .replace("THREADS;", list("threads"))
        .replace("VERSION;", `${JSON.stringify(digest.digest("hex").slice(0, 16))};`);
      this.emitFile({ type: "asset", fileName: "service-worker.js", source });
    },
  };
}

export default defineConfig({
  // Relative addresses, so that the page works in any folder of any host.
  base: "./",
  plugins: [serviceWorker()],
  build: {
    target: "es2022",
    // Small files stay files: a policy that allows only 'self' allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  worker: { format: "es" },
});
