import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

const at = (path: string) => new URL(path, import.meta.url);

/** Adds service-worker.js with the names of all the page's files, and a digest that changes when one of them does. */
function serviceWorker(): Plugin {
  return {
    name: "relata-service-worker",
    enforce: "post",
    generateBundle(_, bundle) {
      const digest = createHash("sha256");
      for (const file of Object.values(bundle))
        digest.update(file.type === "chunk" ? file.code : file.source);
      // The page takes one thread: the package's builds with threads are for others.
      const isThreads = (name: string) => name.includes("wasm/threads/");
      const built = Object.values(bundle)
        .filter((file) => file.type === "chunk" || !file.originalFileNames.some(isThreads))
        .map((file) => file.fileName)
        .filter((name) => name !== "index.html");
      const files = ["./", ...built.sort(), ...readdirSync(at("public"))];
      const source = readFileSync(at("service-worker.js"), "utf8")
        .replace("FILES;", `${JSON.stringify(files)};`)
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
