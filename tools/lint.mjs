// Formatting, lint and types:  node tools/lint.mjs [--write]   (--write formats what it can)

import { join } from "node:path";
import { buildPackage, filesBelow } from "./build.mjs";
import { isMain, main, root, run, say } from "./process.mjs";
import { ensurePackages, npmProgram } from "./setup.mjs";
import { toolchain } from "./toolchain.mjs";

function clangFormat(write) {
  const files = filesBelow(
    ...["src", "bindings/wasm", "tests"].map((folder) => join(root, folder)),
  );
  const sources = files.filter((file) => /\.[ch]pp$/.test(file));
  return ["clang-format", ...(write ? ["-i"] : ["--dry-run", "-Werror"]), ...sources];
}

/** The checks by name; each resolves to an exit status. */
export function lintChecks({ write = false } = {}) {
  const biome = [
    ...npmProgram("@biomejs/biome", "biome"),
    "check",
    "--error-on-warnings",
    ...(write ? ["--write"] : []),
  ];
  const types = (project) => run([...npmProgram("typescript", "tsc"), "--noEmit", "-p", project]);
  const checks = {
    "clang-format": async () => {
      const tools = await toolchain();
      if (tools.has("clang-format")) return tools.run(clangFormat(write));
      say("clang-format is not on PATH: install it (LLVM 21 formats as the project does)");
      return 1;
    },
    biome: () => run(biome),
  };
  if (write) return checks;
  checks["tsc bindings/js"] = () => types("bindings/js");
  checks["tsc web"] = async () => {
    // The page sees the package's built types.
    await buildPackage();
    return types("web");
  };
  return checks;
}

if (isMain(import.meta.url)) {
  await main(async (argv) => {
    await ensurePackages();
    let failed = 0;
    for (const [name, check] of Object.entries(lintChecks({ write: argv.includes("--write") }))) {
      const status = await check();
      say(`${name}: ${status === 0 ? "ok" : "failed"}`);
      if (status !== 0) failed++;
    }
    return failed > 0 ? 1 : 0;
  });
}
