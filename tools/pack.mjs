// The package as its users get it: packed, then installed from the archive into an empty folder, without a network.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { capture, root, SetupError } from "./process.mjs";

function npm(argv, cwd) {
  const { ok, output, errors } = capture(["npm", ...argv], { cwd });
  if (!ok) throw new SetupError(`npm ${argv[0]} failed: ${errors}`);
  return output;
}

/** Packs a package folder into `into` and returns the archive's path. */
function pack(folder, into) {
  const [{ filename }] = JSON.parse(
    npm(["pack", "--json", "--ignore-scripts", "--pack-destination", into], folder),
  );
  return join(into, filename.replace("@", "").replace("/", "-"));
}

/**
 * Installs the packed package into a fresh folder and copies tests/package beside it, so that its tests import
 * `relata` as any user does. Returns both folders and a function that removes them.
 */
export async function installPacked() {
  const folder = mkdtempSync(join(tmpdir(), "relata-packed-"));
  const { dependencies = {} } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  // The dependencies come packed out of node_modules, which satisfies their versions without asking a registry.
  const installed = Object.keys(dependencies).map((name) => join(root, "node_modules", name));
  const archives = [root, ...installed].map((source) => pack(source, folder));
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "relata-user", private: true, type: "module" }),
  );
  npm(["install", "--offline", "--no-audit", "--no-fund", ...archives], folder);
  const tests = join(folder, "tests");
  cpSync(join(root, "tests/package"), tests, { recursive: true });
  return { folder, tests, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
