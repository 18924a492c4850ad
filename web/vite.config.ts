import { defineConfig } from "vite";

export default defineConfig({
  // Relative addresses, so that the page works in any folder of any host.
  base: "./",
  build: {
    target: "es2022",
    // Small files stay files: a policy that allows only 'self' allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  worker: { format: "es" },
});
