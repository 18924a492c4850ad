// The set-up every command starts with: checks Node, installs the npm packages of the lock file, and makes the
// toolchain ready. By hand: `node tools/setup.mjs`.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  compareVersions,
  isMain,
  main,
  mustRun,
  root,
  SetupError,
  say,
  which,
} from "./process.mjs";
import { toolchain } from "./toolchain.mjs";

/** The oldest Node versions that Vite runs on, by major version. */
function requireNode() {
  const version = process.versions.node;
  const major = Number.parseInt(version, 10);
  const enough =
    major === 20 ? compareVersions(version, "20.19") >= 0 : compareVersions(version, "22.12") >= 0;
  if (!enough)
    throw new SetupError(`Node ${version} is too old: install Node 20.19, 22.12 or newer`);
}

/** Installs what package-lock.json names, unless node_modules was made from this very lock file. */
export async function ensurePackages() {
  requireNode();
  const lock = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  const stamp = join(root, "node_modules", ".relata-lock");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  if (!which("npm"))
    throw new SetupError("npm is not on PATH: install the npm that belongs to Node");
  say("installing npm packages");
  await mustRun(["npm", "ci", "--no-audit", "--no-fund"]);
  writeFileSync(stamp, lock);
}

/** A program of an installed npm package, as the start of a command line. */
export function npmProgram(packageName, binName = packageName) {
  const folder = join(root, "node_modules", packageName);
  const { bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return [process.execPath, join(folder, typeof bin === "string" ? bin : bin[binName])];
}

if (isMain(import.meta.url)) {
  await main(async () => {
    await ensurePackages();
    say((await toolchain()).description);
  });
}
